"""Retention: archives or trashes memories beyond age, count and size limits, and empties the trash."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import chain

from nacre.engine.history import brought_back_at
from nacre.engine.removal import purge
from nacre.engine.review import trashed
from nacre.engine.supersede import is_redacted
from nacre.errors import InvalidInput, UnknownName
from nacre.lifecycle.decay import strength, with_handling
from nacre.memory_store import MemoryStore
from nacre.model import Filter, Memory
from nacre.model.instants import DAY
from nacre.model.journal import RETAIN
from nacre.model.memory import ARCHIVED, TRASHED, size
from nacre.protocols import Compressed

TRASH_ACTOR = "trash"
GRACE_DAYS = 30.0


@dataclass(frozen=True, slots=True)
class Trash:
    """Until the grace period ends, `restore` and `undo` bring a memory back; after it, nothing does."""

    store: MemoryStore
    grace_days: float = GRACE_DAYS

    def plan(self, now: float | None = None) -> tuple[Memory, ...]:
        at = self.store.now() if now is None else now
        edge = at - self.grace_days * DAY
        lain = Filter.where(status=TRASHED, updated_at__le=edge)
        memories = self.store.iterate(where=lain, include_trashed=True, include_superseded=True, include_expired=True)
        return tuple(memory for memory in memories if not is_redacted(memory) and not self._moved_since(memory, edge))

    def _moved_since(self, memory: Memory, edge: float) -> bool:
        """Redoing a `forget` restores its first `updated_at`; the journal has the real time."""
        entries = self.store.journal(memory.id, limit=1)
        return bool(entries) and entries[0].operation.at > edge

    def apply(self, plan: Sequence[Memory], *, why: str = "") -> int:
        """Deletes permanently what did not change since the plan; returns how many."""
        planned = {memory.id: memory.updated_at for memory in plan}
        if not planned:
            return 0

        def still(memory: Memory) -> bool:
            return memory.status == TRASHED and memory.updated_at == planned[memory.id]

        reason = why or f"{self.grace_days:g} days in the trash"
        return purge(self.store.acting_as(TRASH_ACTOR), self.store.space, list(planned), only=still, why=reason)


ACTOR = "retention"
BATCH = 256
COMPRESSED_AFTER_DAYS = 90.0
OUTCOMES = ("archive", "trash")
# Archived memories do not count.
ACTIVE = Filter.where(status__in=("short_term", "consolidating", "long_term"))
GENTLE_RATE = 0.02  # a half-life of a month; the least used memories leave first


@dataclass(frozen=True, slots=True)
class Bounds:
    """None means no limit. `outcome` says where memories beyond a limit go: archive or trash."""

    max_age_days: float | None = None
    max_count: int | None = None
    max_megabytes: float | None = None
    outcome: str = "archive"

    def __post_init__(self) -> None:
        UnknownName.check("outcome", self.outcome, OUTCOMES)
        if any(bound is not None and bound < 0 for bound in (self.max_age_days, self.max_count, self.max_megabytes)):
            raise InvalidInput("A limit is below 0; use 0 or more, or leave it out.")


@dataclass(frozen=True, slots=True)
class Leaving:
    memory: Memory
    outcome: str
    why: str


@dataclass(frozen=True, slots=True)
class Retention:
    """The bounds hold for the space or, with `types`, for each of these types. Expired memories are always trashed;
    pinned memories, protected types and those `excluded` count, but are never removed. What somebody took out of the
    trash or the archive counts as new then."""

    store: MemoryStore
    bounds: Bounds = Bounds()
    protect_types: tuple[str, ...] = ("procedural",)
    types: tuple[str, ...] = ()
    excluded: Collection[str] = ()

    def plan(self, now: float | None = None) -> tuple[Leaving, ...]:
        """What would leave, each once, and no more than necessary. Changes nothing."""
        at = self.store.now() if now is None else now
        types = self.types or (None,)
        leaving_by_id: dict[str, Leaving] = {}
        for leaving in chain(self._expired(at), *(self._too_old(type, at) for type in types)):
            leaving_by_id.setdefault(leaving.memory.id, leaving)
        for type in types:
            leaving_by_id |= {leaving.memory.id: leaving for leaving in self._too_many(type, at, leaving_by_id)}
        return tuple(leaving_by_id.values())

    def apply(self, plan: Sequence[Leaving], *, why: str = "") -> list[Memory]:
        """Carries out the plan in one operation; memories used, pinned or changed since then stay."""
        planned = {each.memory.id: each for each in plan}
        if not planned:
            return []

        def edit(memory: Memory) -> Memory:
            each = planned[memory.id]
            if memory != each.memory:
                return memory
            return trashed(memory) if each.outcome == "trash" else replace(memory, status=ARCHIVED)

        engine = self.store.acting_as(ACTOR)
        return engine.change(self.store.space, list(planned), RETAIN, edit, why=why, missing_ok=True)

    def _expired(self, now: float) -> Iterator[Leaving]:
        where = Filter.where(expires_at__le=now)
        everywhere = self.store.iterate(
            where=where, include_expired=True, include_superseded=True, include_archived=True
        )
        for memory in everywhere:
            if memory.expires_at is not None and self._brought_back_at(memory) <= memory.expires_at:
                yield Leaving(memory, "trash", "expired")

    def _is_protected(self, memory: Memory) -> bool:
        return memory.type in self.protect_types or memory.id in self.excluded

    def _brought_back_at(self, memory: Memory) -> float:
        reader = self.store.backend
        return 0.0 if memory.version == 1 else brought_back_at(reader, self.store.space, memory.id)

    def _too_old(self, type: str | None, now: float) -> Iterator[Leaving]:
        bounds = self.bounds
        if bounds.max_age_days is None:
            return
        edge = now - bounds.max_age_days * DAY
        old = Filter.where(created_at__lt=edge, pinned=False)
        for memory in self.store.iterate(type=type, where=ACTIVE & old):
            if not self._is_protected(memory) and self._brought_back_at(memory) < edge:
                yield Leaving(memory, bounds.outcome, f"older than {bounds.max_age_days:g} days")

    def _too_many(self, type: str | None, now: float, gone: Mapping[str, Leaving]) -> Iterator[Leaving]:
        """The weakest first, until the rest is within the limits."""
        bounds = self.bounds
        if bounds.max_count is None and bounds.max_megabytes is None:
            return
        memories = [m for m in self.store.iterate(type=type, where=ACTIVE) if m.id not in gone]
        free = [m for m in memories if not m.pinned and not self._is_protected(m)]
        over = 0 if bounds.max_count is None else len(memories) - bounds.max_count
        heavy = 0.0 if bounds.max_megabytes is None else sum(map(size, memories)) - bounds.max_megabytes * 1e6
        for memory in self._weakest(free, now):
            if over <= 0 and heavy <= 0:
                return
            why = f"more than {bounds.max_count:,}" if over > 0 else f"more than {bounds.max_megabytes:g} MB"
            yield Leaving(memory, bounds.outcome, why)
            over, heavy = over - 1, heavy - size(memory)

    def _weakest(self, memories: Sequence[Memory], now: float) -> Iterator[Memory]:
        """The journal is only asked about those that come next: what somebody changed or brought back comes later."""
        heap = [(strength(memory, now, GENTLE_RATE), at, memory.version == 1) for at, memory in enumerate(memories)]
        heapify(heap)
        while heap:
            _, at, known = heappop(heap)
            if known:
                yield memories[at]
            else:
                handled = with_handling(self.store, memories[at])
                heappush(heap, (strength(handled, now, GENTLE_RATE), at, True))


def compress_old(store: MemoryStore, older_than_days: float = COMPRESSED_AFTER_DAYS, now: float | None = None) -> int:
    """Compresses long texts that were not used for so long; they read as before. Returns how many."""
    at = store.now() if now is None else now
    engine = store.acting_as(ACTOR)
    old = Filter.where(last_accessed__lt=at - older_than_days * DAY)
    ids = [id for (id,) in engine.store.values(store.space, old, ("id",))]
    packed = 0
    for start in range(0, len(ids), BATCH):
        part = Compressed(store.space, tuple(ids[start : start + BATCH]))
        packed += engine.write(None, lambda _, part=part: [part]).dropped  # type: ignore[misc]
    return packed
