"""Merges memories: one stays with what the others knew, and replaces them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nacre.engine.engine import Edit, Engine
from nacre.engine.remember import without_notes
from nacre.engine.supersede import all_superseded
from nacre.errors import InvalidInput
from nacre.model import Memory
from nacre.model.memory import SUPERSEDES
from nacre.protocols import AnyChange, Change, Reader


def merge(engine: Engine, space: str, keep: str, others: Sequence[str], edit: Edit, *, why: str = "") -> Memory:
    """One operation; `edit` is applied to the memory that stays, once it has everything.

    Raises `MemoryNotFound`, and `InvalidInput` when one of them is in the trash or was superseded.
    """
    gone = [id for id in dict.fromkeys(others) if id != keep]
    if not gone:
        raise InvalidInput("A memory cannot be merged with itself alone; name at least one other.")
    ids = [keep, *gone]
    merged: list[Memory] = []

    def plan(reader: Reader) -> list[AnyChange]:
        current = {memory.id: memory for memory in engine.get_existing(reader, space, ids)}
        for memory in current.values():
            refuse_unmergeable(memory)
        stays, *rest = without_conflicts_between(list(current.values()))
        united_memory = edit(all_united(stays, rest))
        derived = engine.prepare([(current[keep], united_memory)]).get(keep)
        now = engine.clock()
        successor, changes = all_superseded(reader, rest, united_memory, now)
        merged[:] = [replace(successor, updated_at=now)]
        replaced = (change.subject for change in changes)
        return [Change(current[keep], merged[0], derived), *(Change(current[each.id], each) for each in replaced)]

    engine.commit("merge", plan, why)
    return merged[0]


def refuse_unmergeable(memory: Memory) -> None:
    if memory.status == "trashed" or memory.superseded_by:
        state = "is in the trash" if memory.status == "trashed" else "was superseded"
        raise InvalidInput(
            f"{memory.id} {state}, and nothing was merged; `nacre trash restore {memory.id}` brings it back."
        )


def without_conflicts_between(memories: Sequence[Memory]) -> list[Memory]:
    """Merging settles the conflicts that were noted between them."""
    return [without_notes(memory, [other.id for other in memories]) for memory in memories]


def all_united(keep: Memory, others: Sequence[Memory]) -> Memory:
    replaced = {other.id for other in others}
    for other in others:
        keep = united(keep, other)
    # A link to what it replaces says nothing that the succession does not say.
    return replace(keep, links=tuple(link for link in keep.links if link.to not in replaced))


def united(newer: Memory, older: Memory) -> Memory:
    """The newer one with what only the older one had, and trusted no more than either."""
    # What the older one had replaced stays linked to it: a chain has one direction.
    inherited = (link for link in older.links if link.rel != SUPERSEDES)
    links = {(link.to, link.rel): link for link in (*inherited, *newer.links) if link.to != newer.id}
    return replace(
        newer,
        title=newer.title or older.title,
        tags=tuple(dict.fromkeys((*newer.tags, *older.tags))),
        contexts=tuple(dict.fromkeys((*newer.contexts, *older.contexts))),
        entities=tuple(dict.fromkeys((*newer.entities, *older.entities))),
        importance=max(newer.importance, older.importance),
        confidence=max(newer.confidence, older.confidence),
        trust=min(newer.trust, older.trust),
        pinned=newer.pinned or older.pinned,
        metadata={**older.metadata, **newer.metadata},
        links=tuple(links.values()),
    )
