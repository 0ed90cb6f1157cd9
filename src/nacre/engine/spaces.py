"""Spaces: counts and descriptions, and copying, renaming, emptying and purging one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from nacre.engine.engine import DELETE_SPACE, PURGE, SPACE, Engine
from nacre.engine.history import lineage, newest_version
from nacre.engine.removal import left_behind, remove
from nacre.engine.review import trashed
from nacre.engine.space_names import renamed, why_name_is_taken, why_others_would_enter
from nacre.engine.supersede import REDACTED, is_redacted, refuse_redacted
from nacre.engine.undo import moved_with, named_in_both
from nacre.errors import InvalidInput
from nacre.model import Filter, Memory
from nacre.model.instants import WEEK
from nacre.model.journal import MOVE
from nacre.model.memory import ARCHIVED, TRASHED, week_of
from nacre.protocols import AnyChange, Backend, Change, Reader, Scrubbed, SpacePurged, TermChange

DESCRIPTION = "description"
TOP_TAGS = 15
GROWTH_WEEKS = 26  # half a year: as many columns as a line of text has room for


@dataclass(frozen=True, slots=True)
class SpaceNote:
    """`memories` counts all, those in the trash too."""

    name: str
    memories: int
    description: str = ""


@dataclass(frozen=True, slots=True)
class Stats:
    """`active` is what a recall can return; `by_type`, `top_tags` and `growth` count those. `growth` is by the Monday
    (UTC) of the week in which they were created, for the last half year. `trashed` counts what can be restored, and
    `redacted` the marks of what was removed for good."""

    space: str
    total: int
    active: int
    superseded: int
    archived: int
    trashed: int
    by_type: Mapping[str, int]
    top_tags: Mapping[str, int]
    waiting_for_model: int
    embedder: str
    bytes_on_disk: int
    growth: Mapping[str, int] = field(default_factory=dict)
    redacted: int = 0


def space_notes(store: Backend) -> list[SpaceNote]:
    """Every space that holds a memory or was created, by name."""
    counts, terms = store.spaces(), store.terms(SPACE)
    names = sorted({*counts, *terms})
    return [SpaceNote(name, counts.get(name, 0), str(terms.get(name, {}).get(DESCRIPTION, ""))) for name in names]


def gather_stats(store: Backend, space: str, now: float) -> Stats:
    live, health = Filter.live(now), store.health()
    tags = store.tally(space, "tags", live)
    trash = Filter.where(status=TRASHED)
    redacted = store.count(space, trash & Filter.where(text=REDACTED, metadata__redacted=True))
    return Stats(
        space=space,
        total=store.count(space, Filter()),
        active=store.count(space, live),
        superseded=store.count(space, Filter.where(superseded_by__ne="", status__ne=TRASHED)),
        archived=store.count(space, Filter.where(status=ARCHIVED)),
        trashed=store.count(space, trash) - redacted,
        by_type=store.tally(space, "type", live),
        top_tags=dict(list(tags.items())[:TOP_TAGS]),
        waiting_for_model=health.pending,
        embedder=health.embedder,
        bytes_on_disk=health.bytes_on_disk,
        growth=growth(store, space, live, now),
        redacted=redacted,
    )


def growth(store: Backend, space: str, live: Filter, now: float) -> dict[str, int]:
    """Every week from the first that has some, the empty ones too: a gap is part of the picture."""
    created = store.tally(space, "week", live)
    weeks = (week_of(now - back * WEEK) for back in reversed(range(GROWTH_WEEKS)))
    counts = {week: created.get(week, 0) for week in weeks}
    first = next((at for at, count in enumerate(counts.values()) if count), len(counts))
    return dict(list(counts.items())[first:])


def create(engine: Engine, space: str, description: str, *, why: str = "") -> bool:
    """Lists the space before anything is remembered in it; False when it has this description already."""

    def plan(reader: Reader) -> list[AnyChange]:
        before = reader.term(SPACE, space)
        after = {**(before or {}), **({DESCRIPTION: description} if description else {})}
        return [] if before == after else [TermChange(space, SPACE, space, before, after)]

    return bool(engine.write_named("create_space", plan, why))


def to_copy(engine: Engine, space: str, target: str) -> list[Memory]:
    """What a copy would bring: all that is not in the trash and whose id is free in the target."""
    if target == space:
        raise InvalidInput(f"The space {space!r} cannot be copied into itself; name another.")
    taken = {memory.id for memory in engine.store.iterate(target, Filter())}
    wanted = engine.store.iterate(space, Filter.where(status__ne=TRASHED))
    return [replace(memory, space=target) for memory in wanted if memory.id not in taken]


def copy(engine: Engine, space: str, target: str, *, why: str = "") -> list[Memory]:
    """One operation of the target. Stored vectors are used again; ids stay, so that links hold there too."""
    memories = to_copy(engine, space, target)
    derived, _ = engine.derive(memories) if memories else ([], ())

    def plan(reader: Reader) -> list[AnyChange]:
        taken = {memory.id for memory in reader.get_many(target, [memory.id for memory in memories])}
        pairs = zip(memories, derived, strict=True)
        return [Change(None, memory, each) for memory, each in pairs if memory.id not in taken]

    engine.write_named("copy_space", plan, why)
    return memories


def move(engine: Engine, space: str, ids: Sequence[str], target: str, *, why: str = "") -> list[Memory]:
    """One operation of both spaces. What a memory has replaced, and what has replaced it, goes along. Returns all that
    was moved, as it is now. Raises `MemoryNotFound`, and `InvalidInput` where an id is taken in the target."""
    if target == space:
        raise InvalidInput(f"These memories are in the space {space!r} already; name another.")
    moved: list[Memory] = []

    def plan(reader: Reader) -> list[AnyChange]:
        chains = (lineage(reader, newest_version(reader, space, id)) for id in ids)
        memories = {memory.id: memory for chain in chains for memory in chain}
        for id in ids:
            refuse_redacted(memories[id])
            if memories[id].status == TRASHED:
                raise InvalidInput(f"{id} is in the trash; restore it first.")
        if taken := reader.get_many(target, list(memories)):
            raise InvalidInput(f"The space {target!r} has a memory {taken[0].id!r} already; purge or rename that one.")
        if not memories:
            return []
        moved[:] = [replace(memory, space=target, version=1) for memory in memories.values()]
        derived, _ = engine.derive(moved)
        return [
            *(Change(memory, None) for memory in memories.values()),
            *(Change(None, memory, each) for memory, each in zip(moved, derived, strict=True)),
            *named_in_both(space, target),
        ]

    engine.write_named(MOVE, plan, why)
    return moved


def rename(engine: Engine, space: str, new: str, *, why: str = "") -> None:
    def plan(reader: Reader) -> list[AnyChange]:
        filled = reader.spaces()
        if space not in filled and reader.term(SPACE, space) is None:
            raise InvalidInput(f"There is no space {space!r}; `nacre space list` has them all.")
        if new in filled:
            raise InvalidInput(f"There is a space {new!r} already; `nacre space copy` brings one into another.")
        if reason := why_name_is_taken(reader, new) or why_others_would_enter(reader, space, new):
            raise InvalidInput(reason)
        return renamed(reader, space, new)

    engine.write_named("rename_space", plan, why)


def empty(engine: Engine, space: str, *, why: str = "") -> int:
    """Moves all its memories to the trash; returns how many."""
    memories = engine.store.iterate(space, Filter.where(status__ne=TRASHED))
    ids = [memory.id for memory in memories if not is_redacted(memory)]
    return len(engine.change(space, ids, DELETE_SPACE, trashed, why=why, missing_ok=True)) if ids else 0


def purge(engine: Engine, space: str, *, why: str = "") -> int:
    """Removes all its memories, its trash, terms and journal, for good, in one operation, and what is said of these
    memories in the journal of a space from which they were moved; returns how many memories."""

    def plan(reader: Reader) -> list[AnyChange]:
        ids = [id for (id,) in reader.values(space, Filter(), ("id",))] if moved_with(reader, space) else []
        past = left_behind(reader, space, ids)
        return [*(Scrubbed(*each) for each in past), SpacePurged(space)]

    return remove(engine, PURGE, space, plan, why, everything=True)
