"""One act of any size: its changes are carried out and journaled as they come, and never held all together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from nacre.engine.change import AnyChange
from nacre.engine.engine import Engine
from nacre.engine.learning import learned
from nacre.model import Act, JournalEntry, Told
from nacre.ports import Transaction

Flow: TypeAlias = Callable[[Transaction], Iterator[AnyChange]]

STEP = 256  # entries that the journal gets at once
PAGE = 1_000  # entries that the sink is told at once


def carry_out(engine: Engine, space: str, name: str, flow: Flow, *, why: str = "") -> str:
    """One transaction and one act, as `Engine.commit`, in memory that does not grow with the number of changes.

    `flow` is asked for its changes one after the other; each finds those before it carried out, and an error that it
    raises takes all of them back. Returns the batch that the journal knows the act by, empty when nothing changed.
    """
    act = engine.act(name, why)
    changed = claimed = False
    entries: list[JournalEntry] = []
    with engine.store.transaction() as transaction:
        for change in flow(transaction):
            for each in (change, *learned([change], transaction)):
                if each.embeds and not claimed:
                    transaction.claim_embedder(engine.embedder.identity, engine.embedder.dimensions)
                    claimed = True
                each.carry_out(transaction)
                entries.append(each.told(act))
            changed = True
            if len(entries) >= STEP:
                transaction.append(entries)
                entries = []
        transaction.append(entries)
    if changed:
        tell(engine, space, act)
    return act.batch if changed else ""


def tell(engine: Engine, space: str, act: Act) -> None:
    """The sink hears of it after the act, as of every other, and a page at a time: from the journal itself."""
    if engine.sink is None:
        return
    told = Told(batch=act.batch)
    while page := engine.store.journal(space, told, newest_first=False, limit=PAGE):
        engine.sink(page)
        told = replace(told, after=page[-1].seq)
