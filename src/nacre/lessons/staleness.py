"""Which lessons need a check: contradicted ones and old ones."""

from __future__ import annotations

from collections.abc import Iterator

from nacre.lessons.vocabulary import CONTRADICTS, LESSONS
from nacre.memory_store import MemoryStore
from nacre.model import Filter, Memory
from nacre.model.instants import DAY
from nacre.model.levels import level_of
from nacre.model.memory import LESSON

STALE_DAYS = 365.0
FADE = "fade"
CHECKED_FIELDS = ("title", "text", "confidence")  # a change of one of these means that somebody has read the lesson


def stale_lessons(store: MemoryStore, days: float) -> Iterator[tuple[Memory, str]]:
    """Lessons that nobody wrote or validated for so many days, oldest first, each with a question."""
    now = store.now()
    before = now - days * DAY
    where = LESSONS & Filter.where(created_at__le=before, last_validated_at__le_or_unset=before)
    checked = [(last_checked(store, memory, before), memory) for memory in store.iterate(where=where)]
    for at, memory in sorted(checked, key=lambda each: (each[0], each[1].id)):
        if at <= before:
            level, age = level_of(memory.confidence).name, int((now - at) / DAY)
            yield memory, f"Held with {level} confidence, and {age} days old: is it still so?"


def last_checked(store: MemoryStore, memory: Memory, before: float) -> float:
    """When somebody last wrote or validated the lesson; renaming a tag does not count."""
    at = max(memory.created_at, memory.last_validated_at or 0.0)
    if memory.updated_at <= before:  # no change at all since then
        return at
    entries = (entry for entry in store.journal(memory.id, limit=None) if entry.operation.name != FADE)
    edits = (entry for entry in entries if entry.before and not {*CHECKED_FIELDS}.isdisjoint(entry.after or {}))
    return max(at, next((entry.operation.at for entry in edits), 0.0))


def contradicted_lessons(store: MemoryStore) -> Iterator[tuple[Memory, str]]:
    """Lessons that another one contradicts and nobody has validated since, each with a question."""
    edges = store.edges(rel=[CONTRADICTS])
    ids = list(dict.fromkeys(id for edge in edges for id in (edge.source, edge.target)))
    current = {
        memory.id: memory
        for memory in store.get_many(ids)
        if memory.type == LESSON and memory.status not in ("trashed", "archived") and not memory.superseded_by
    }
    for edge in edges:
        target, against = current.get(edge.target), current.get(edge.source)
        if target and against and (target.last_validated_at or 0.0) <= against.created_at:
            yield target, f"{store.clean(against).title!r} ({against.id}) contradicts it: is it still so?"
