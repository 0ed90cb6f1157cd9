"""Several changes that belong together, in one act: new memories, edits of standing ones, successions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from nacre.engine.change import AnyChange, Change, WordChange
from nacre.engine.engine import Engine, Prepared, fits
from nacre.engine.remembering import new_only
from nacre.engine.superseding import superseded
from nacre.model import Memory
from nacre.model.memory import Json
from nacre.ports import Derived, Transaction

Edit: TypeAlias = Callable[[Memory], Memory]
Word: TypeAlias = Mapping[str, Json] | None
WordEdit: TypeAlias = Callable[[Word], Word]


@dataclass(frozen=True, slots=True)
class Composed:
    """`edits` are by id; `heirs` names for each memory that is replaced the one that takes its place; `words` are
    edits of the vocabulary by kind and name, None where there is no such word."""

    new: Sequence[Memory] = ()
    edits: Mapping[str, Edit] = field(default_factory=dict)
    heirs: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[tuple[str, str], WordEdit] = field(default_factory=dict)


def compose(engine: Engine, space: str, act: str, composed: Composed, *, why: str = "") -> list[Memory]:
    """All or nothing; returns what is new or has changed, as it stands then. Raises `MemoryNotFound`."""
    derived, _ = engine.derived(composed.new) if composed.new else ([], ())
    while True:
        standing = engine.existing(space, list(composed.edits))
        planned = engine.prepared([(memory, composed.edits[memory.id](memory)) for memory in standing])
        found: dict[str, Change] = {}

        def plan(
            transaction: Transaction, found: dict[str, Change] = found, planned: Mapping[str, Prepared] = planned
        ) -> list[AnyChange] | None:
            whole = changes(engine, space, composed, derived, planned, transaction)
            found |= whole or {}
            return None if whole is None else [*whole.values(), *word_changes(space, composed, transaction)]

        if engine.commit(act, plan, why) is not None:
            return [change.subject for change in found.values()]


def changes(
    engine: Engine,
    space: str,
    composed: Composed,
    derived: Sequence[Derived],
    planned: Mapping[str, Prepared],
    transaction: Transaction,
) -> dict[str, Change] | None:
    """None when somebody wrote between the reading and the transaction, so that it must be prepared again."""
    now = engine.clock()
    found = {change.subject.id: change for change in new_only(composed.new, derived, transaction)}
    for id, edit in composed.edits.items():
        before = engine.found(transaction, space, id)
        after = edit(before)
        if not fits(planned.get(id), before, after):
            return None
        if after != before:
            searched = planned[id].derived if id in planned else None
            found[id] = Change(before, replace(after, updated_at=now), searched)

    def latest(id: str) -> Memory:
        return found[id].subject if id in found else engine.found(transaction, space, id)

    for old, heir in composed.heirs.items():
        for change in superseded(transaction, latest(old), latest(heir), now):
            id = change.subject.id
            found[id] = replace(found[id], after=change.after) if id in found else change
    return found


def word_changes(space: str, composed: Composed, transaction: Transaction) -> list[WordChange]:
    found = []
    for (kind, name), edit in composed.words.items():
        before = transaction.word(kind, name)
        after = edit(before)
        if after != before:
            found.append(WordChange(space, kind, name, before, after))
    return found
