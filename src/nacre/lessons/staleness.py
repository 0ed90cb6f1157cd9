"""Which lessons need a check: contradicted ones, old ones, and ranges of confidence."""

from __future__ import annotations

from collections.abc import Iterator

from nacre.errors import InvalidInput
from nacre.lessons.vocabulary import CONTRADICTS, LESSONS
from nacre.memory_store import MemoryStore
from nacre.model import Filter, Memory
from nacre.model.instants import DAY
from nacre.model.levels import LEVELS, level_named, level_of
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


def confidence_range(text: str | None) -> tuple[float, float]:
    """The least and the greatest confidence. Raises `InvalidInput`."""
    wanted = (text or "").strip().lower()
    if not wanted:
        return 0.0, 1.0
    if (one := extent(wanted)) is not None:
        return one
    for at in (place for place, sign in enumerate(wanted) if sign == "-"):
        low, high = wanted[:at], wanted[at + 1 :]
        least, most = extent(low) if low else (0.0, 0.0), extent(high) if high else (1.0, 1.0)
        if least is not None and most is not None:
            if least[0] > most[1]:
                raise InvalidInput(f"The confidence {text!r} ends below where it begins; swap the two ends.")
            return least[0], most[1]
    level_named(wanted)
    return 0.0, 1.0


def extent(name: str) -> tuple[float, float] | None:
    """The range of a level; a number is its own range."""
    level = LEVELS.get(name.replace("_", "-").replace(" ", "-"))
    if level is not None:
        return level.least, level.most
    try:
        number = float(name)
    except ValueError:
        return None
    return (number, number) if 0 <= number <= 1 else None
