"""Several memories become one: the one that stays knows what the others knew, and they are superseded by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nacre.engine.changes import AnyChange, Change
from nacre.engine.engine import Edit, Engine, Prepared, fits
from nacre.engine.review import settled, united
from nacre.engine.supersede import all_superseded
from nacre.errors import InvalidInput
from nacre.model import Memory
from nacre.protocols import Transaction


def merge(engine: Engine, space: str, keep: str, others: Sequence[str], said: Edit, *, why: str = "") -> Memory:
    """One act; `said` is what becomes of the one that stays, once it knows all.

    Raises `MemoryNotFound`, and `InvalidInput` when one of them no longer stands.
    """
    gone = [id for id in dict.fromkeys(others) if id != keep]
    if not gone:
        raise InvalidInput("A memory cannot be merged with itself alone; name at least one other.")
    while True:
        stays, *formers = engine.existing(space, [keep, *gone])
        planned = engine.prepared([(stays, said(all_united(stays, formers)))])
        done = try_merge(engine, space, [keep, *gone], said, planned, why)
        if done is not None:
            return done
        # Someone wrote between the reading and the transaction: read again.


def try_merge(
    engine: Engine, space: str, ids: Sequence[str], said: Edit, planned: dict[str, Prepared], why: str
) -> Memory | None:
    merged: list[Memory] = []

    def plan(transaction: Transaction) -> list[AnyChange] | None:
        stood = {id: engine.found(transaction, space, id) for id in ids}
        for memory in stood.values():
            refuse_fallen(memory)
        keep, *formers = apart(list(stood.values()))
        whole = said(all_united(keep, formers))
        if not fits(planned.get(keep.id), stood[keep.id], whole):
            return None
        now = engine.clock()
        heir, changes = all_superseded(transaction, formers, whole, now)
        merged.append(replace(heir, updated_at=now))
        derived = planned[keep.id].derived if keep.id in planned else None
        replaced = (change.subject for change in changes)
        return [Change(stood[keep.id], merged[-1], derived), *(Change(stood[each.id], each) for each in replaced)]

    return None if engine.commit("merge", plan, why) is None else merged[-1]


def refuse_fallen(memory: Memory) -> None:
    if memory.status == "trashed" or memory.superseded_by:
        state = "is in the trash" if memory.status == "trashed" else "was superseded"
        raise InvalidInput(f"{memory.id} {state}, and nothing was merged; `nacre restore {memory.id}` brings it back.")


def apart(memories: Sequence[Memory]) -> list[Memory]:
    """Without the conflicts that were noted between them: merging settles those."""
    found = list(memories)
    for other in memories:
        found = [settled(memory, other.id) for memory in found]
    return found


def all_united(keep: Memory, others: Sequence[Memory]) -> Memory:
    gone = {other.id for other in others}
    for other in others:
        keep = united(keep, other, "")
    # A tie to what it now stands for says nothing: only that it replaced it, which the supersession says.
    return replace(keep, links=tuple(link for link in keep.links if link.to not in gone))
