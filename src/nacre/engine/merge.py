"""Merges memories: one stays with what the others knew, and replaces them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nacre.engine.engine import Edit, Engine, Lookup, PendingChanges
from nacre.engine.remember import without_notes
from nacre.engine.supersede import all_superseded
from nacre.errors import InvalidInput
from nacre.model import Link, Memory
from nacre.model.memory import LISTS, SUPERSEDES, TRASHED
from nacre.protocols import AnyChange, Change, Reader


def merge(engine: Engine, space: str, keep: str, others: Sequence[str], edit: Edit, *, why: str = "") -> Memory:
    """One operation; `edit` is applied to the memory that stays, once it has everything.

    Raises `MemoryNotFound`, and `InvalidInput` when one of them is in the trash or was superseded, or the one that
    stays is archived.
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
        now = engine.clock()
        stays, *rest = without_conflicts_between(list(current.values()))
        united_memory = edit(with_all_periods(reader, all_united(stays, rest), rest))
        derived = engine.prepare([(current[keep], united_memory)]).get(keep)
        successor, changes = all_superseded(reader, rest, united_memory, now, same_fact=True)
        merged[:] = [replace(successor, updated_at=now)]
        replaced = (Change(current[change.subject.id], change.subject) for change in changes)
        pending = PendingChanges(reader, [Change(current[keep], merged[0], derived), *replaced])
        pending.add(redirected_links(reader, pending, space, dict.fromkeys(gone, keep), now))
        return list(pending)

    engine.write_named("merge", plan, why)
    return merged[0]


def refuse_unmergeable(memory: Memory) -> None:
    if memory.status == TRASHED or memory.superseded_by:
        state = "is in the trash" if memory.status == TRASHED else "was superseded"
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
    """The newer one with what only the older one had, as long as either is to be kept, and trusted no more than
    either."""
    # What the older one had replaced stays linked to it: a chain has one direction.
    inherited = (link for link in older.links if link.rel != SUPERSEDES)
    links = {(link.to, link.rel): link for link in (*inherited, *newer.links) if link.to != newer.id}
    lists: dict[str, Any] = {
        name: tuple(dict.fromkeys((*getattr(newer, name), *getattr(older, name)))) for name in LISTS
    }
    return replace(
        newer,
        **lists,
        title=newer.title or older.title,
        source=newer.source or older.source,
        source_notes=newer.source_notes or older.source_notes,
        importance=max(newer.importance, older.importance),
        confidence=max(newer.confidence, older.confidence),
        trust=min(newer.trust, older.trust),
        pinned=newer.pinned or older.pinned,
        expires_at=later_end(newer.expires_at, older.expires_at),
        metadata={**older.metadata, **newer.metadata},
        links=tuple(links.values()),
    )


def with_all_periods(lookup: Lookup, keep: Memory, others: Sequence[Memory]) -> Memory:
    """For memories that say the same: `keep` holds from the earliest start to the latest end of all of them. Where one
    of them replaced what held before, the fact began only then: that start counts, first that of `keep`."""
    start, end = keep.valid_from, keep.valid_until
    for other in others:
        start = None if start is None or other.valid_from is None else min(start, other.valid_from)
        end = later_end(end, other.valid_until)
    own, *known = (start_after_another(lookup, each) for each in (keep, *others))
    start = min((each for each in known if each is not None), default=start) if own is None else own
    return replace(keep, valid_from=start, valid_until=end)


def start_after_another(lookup: Lookup, memory: Memory) -> float | None:
    """Its start, where something that it replaced, also through others, held before; else None. The same fact in other
    words, which a merge lets it replace, began no earlier."""
    start = memory.valid_from
    waiting, seen = [memory], {memory.id}
    while start is not None and waiting:
        for id in {link.to for link in waiting.pop().links if link.rel == SUPERSEDES} - seen:
            seen.add(id)
            former = lookup.get(memory.space, id)
            if former is None or former.valid_from is None or former.valid_from < start:
                return start
            waiting.append(former)
    return None


def later_end(one: float | None, other: float | None) -> float | None:
    """None is without an end."""
    return None if one is None or other is None else max(one, other)


def redirected_links(
    reader: Reader, pending: PendingChanges, space: str, successors: Mapping[str, str], now: float
) -> Iterator[Change]:
    """Changes that make links to replaced memories lead to their successors, from the state that the plan gives each
    memory. Links between a memory and what it replaces stay, as do those of memories that an agent may see but not
    change, and those in the trash, whose time there must not start again."""
    edges = reader.edges(space, into=list(successors)) if successors else []
    # What the plan changes may have got a link that no stored edge shows.
    sources = dict.fromkeys([*(edge.source for edge in edges), *(change.subject.id for change in pending)])
    reader.get_many(space, list(sources))  # at once, not one by one
    for id in sources:
        memory = pending.get(space, id)
        if memory is None or memory.status == TRASHED:
            continue
        links = with_successors(memory, successors)
        if links != memory.links:
            yield Change(memory, replace(memory, links=links, updated_at=now), optional=True)


def with_successors(memory: Memory, successors: Mapping[str, str]) -> tuple[Link, ...]:
    own = successors.get(memory.id, memory.id)
    links: dict[tuple[str, str], Link] = {}
    for link in memory.links:
        target = successors.get(link.to, own)
        redirected = link if link.rel == SUPERSEDES or target == own else replace(link, to=target)
        if redirected is link or (redirected.to, redirected.rel) not in links:
            links[redirected.to, redirected.rel] = redirected  # a link that was there already stays as it is
    return tuple(links.values())
