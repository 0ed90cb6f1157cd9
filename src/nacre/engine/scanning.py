"""Looks through a whole space for pairs that conflict, candidates from the indexes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from nacre.engine.change import AnyChange, Change
from nacre.engine.engine import Engine
from nacre.engine.remembering import noted, states
from nacre.model import Conflict, Memory
from nacre.ports import Progress, Transaction
from nacre.remember.compare import Comparison, gravity

PAGE = 256


def scan(comparison: Comparison, space: str, progress: Progress | None = None) -> list[Conflict]:
    """Each memory with what stood before it, as it would have been compared when it was written; worst first."""
    store, where = comparison.store, comparison.where
    total = store.count(space, where)
    found: list[Conflict] = []
    done = 0
    for page in pages(store.iterate(space, where)):
        vectors = store.vectors(space, [memory.id for memory in page])
        for memory in filter(states, page):
            own = vectors.get(memory.id)
            found += comparison.conflicts(memory, None if own is None else own[0], partial(stood_before, memory))
        done += len(page)
        if progress is not None:
            progress(min(done, total), total, "comparing memories")
    return sorted(found, key=gravity)


def pages(memories: Iterator[Memory]) -> Iterator[list[Memory]]:
    while page := list(islice(memories, PAGE)):
        yield page


def stood_before(memory: Memory, other: Memory) -> bool:
    return states(other) and (other.created_at, other.id) < (memory.created_at, memory.id)


def noted_conflicts(engine: Engine, space: str, conflicts: Sequence[Conflict], *, why: str = "") -> int:
    noted_now = 0

    def plan(transaction: Transaction) -> list[AnyChange]:
        nonlocal noted_now
        by_newer: dict[str, list[Conflict]] = {}
        for conflict in conflicts:
            by_newer.setdefault(conflict.a.id, []).append(conflict)
        changes: list[AnyChange] = []
        for id, found in by_newer.items():
            memory = engine.found(transaction, space, id)
            tied = {link.to for link in memory.links if link.rel == "conflicts"}
            new = [each for each in found if each.b.id not in tied and transaction.get(space, each.b.id) is not None]
            if new:
                noted_now += len(new)
                changes.append(Change(memory, replace(noted(memory, new), updated_at=engine.clock())))
        return changes

    engine.commit("note_conflicts", plan, why)
    return noted_now
