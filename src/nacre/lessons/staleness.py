"""Lessons grow old: what is held too firmly, what nobody has looked at for long, what fades, what leaves the sight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nacre.errors import InvalidInput
from nacre.lessons.answer import Answer
from nacre.lessons.lesson import Lesson
from nacre.lessons.relating import CONTRADICTS
from nacre.lessons.shelf import Shelf, Wording
from nacre.lessons.vocabulary import LESSONS, SOURCE
from nacre.lifecycle.confidence import ConfidenceDecay
from nacre.model import Filter, Memory
from nacre.model.instants import DAY
from nacre.model.levels import LEVELS, level_named, level_of
from nacre.model.memory import LESSON

STALE_DAYS = 365.0
SAID = ("title", "text", "confidence")  # who changes one of these has looked at the lesson; who renames a tag has not
FADE = "fade"


@dataclass(frozen=True, slots=True)
class ReviewDue:
    """`why` is a question to whoever knows; `validate` answers yes, and with another confidence how sure."""

    lesson: Lesson
    why: str


@dataclass(frozen=True, slots=True)
class Faded:
    """`confidence` and `certainty` are those that the lesson has left, or would have."""

    lesson: Lesson
    confidence: str
    certainty: float


class Staleness(Shelf):
    def audit(
        self, confidence: str | None = None, source: str | None = None, validated: bool | None = None
    ) -> Answer[tuple[Lesson, ...]]:
        """Lessons held so firmly, on such evidence, the surest first. `confidence` is a level, "high-" (and above),
        "-low" (and below), or a range such as "low-high" or "0.2-0.6"; a source includes what is under it."""
        least, most = bounds(confidence)
        where = LESSONS & Filter.where(
            confidence__ge=least,
            confidence__le=most,
            last_validated_at__unset=None if validated is None else not validated,
            source__under=None if source is None else self._words(SOURCE).family(source),
        )
        found = sorted(self.store.iterate(where=where), key=lambda memory: (-memory.confidence, memory.created_at))
        return Answer(tuple(map(self._shown, found)))

    def review(self, stale_days: float = STALE_DAYS) -> Answer[tuple[ReviewDue, ...]]:
        """What somebody should look at again: first what another lesson contradicts, then what nobody has said or
        validated for so long, the oldest first."""
        if not stale_days >= 0:
            raise InvalidInput(f"Lessons cannot be stale after {stale_days} days; give 0 or more.")
        now = self.store.now()
        found = {due.lesson.id: due for due in self._under_doubt()}
        for due in self._stale(now - stale_days * DAY, now):
            found.setdefault(due.lesson.id, due)
        return Answer(tuple(found.values()))

    def validate(self, id: str, confidence: str | float | None = None, *, why: str = "") -> Answer[Lesson]:
        """It still holds, and this surely. Raises `MemoryNotFound`."""
        self._memory(id)
        sure = None if confidence is None else Wording(self.store).confidence(confidence)
        return Answer(self._shown(self.store.validate(id, confidence=sure, why=why)))

    def fade(self, now: float | None = None, *, dry_run: bool = True) -> Answer[tuple[Faded, ...]]:
        """Lets the certainty of lessons fade that nobody has validated; by default it only tells what would."""
        at = self.store.now() if now is None else now
        decay = ConfidenceDecay(self.store)
        plan = tuple(each for each in decay.plan(at) if each.memory.type == LESSON)
        if not dry_run:
            decay.apply(plan, at)
        return Answer(
            tuple(
                Faded(self._shown(each.memory), level_of(each.confidence).name, round(each.confidence, 4))
                for each in plan
            )
        )

    def archive(self, *ids: str, why: str = "") -> Answer[int]:
        """Out of sight, unless archived ones are asked for; returns how many were not. Raises `MemoryNotFound`."""
        for id in ids:
            self._memory(id)
        return Answer(len(self.store.archive(*ids, why=why)))

    def unarchive(self, *ids: str, why: str = "") -> Answer[int]:
        for id in ids:
            self._memory(id)
        return Answer(len(self.store.unarchive(*ids, why=why)))

    def _stale(self, before: float, now: float) -> Iterator[ReviewDue]:
        where = LESSONS & Filter.where(created_at__le=before, last_validated_at__le_or_unset=before)
        said = [(self._last_said(memory, before), memory) for memory in self.store.iterate(where=where)]
        for at, memory in sorted(said, key=lambda each: (each[0], each[1].id)):
            if at <= before:
                level, days = level_of(memory.confidence).name, int((now - at) / DAY)
                yield ReviewDue(
                    self._shown(memory), f"Held with {level} confidence, and {days} days old: is it still so?"
                )

    def _last_said(self, memory: Memory, before: float) -> float:
        """When somebody last said it, or that it holds."""
        at = max(memory.created_at, memory.last_validated_at or 0.0)
        if memory.updated_at <= before:  # nothing at all was done to it since
            return at
        acts = (entry for entry in self.store.journal(memory.id, limit=None) if entry.act.name != FADE)
        told = (entry.act.at for entry in acts if entry.before and any(name in (entry.after or {}) for name in SAID))
        return max(at, next(told, 0.0))

    def _under_doubt(self) -> Iterator[ReviewDue]:
        ties = self.store.edges(rel=[CONTRADICTS])
        ids = list(dict.fromkeys(id for edge in ties for id in (edge.source, edge.target)))
        there = {memory.id: memory for memory in self.store.get_many(ids) if standing(memory)}
        for edge in ties:
            one, against = there.get(edge.target), there.get(edge.source)
            if one and against and (one.last_validated_at or 0.0) <= against.created_at:
                named = self.store.shown(against).title
                yield ReviewDue(self._shown(one), f"{named!r} ({against.id}) contradicts it: is it still so?")


def standing(memory: Memory) -> bool:
    return memory.type == LESSON and memory.status not in ("trashed", "archived") and not memory.superseded_by


def bounds(given: str | None) -> tuple[float, float]:
    """The least and the greatest confidence that are meant. Raises `InvalidInput`."""
    text = (given or "").strip().lower()
    if not text:
        return 0.0, 1.0
    if (one := extent(text)) is not None:
        return one
    for at in (place for place, sign in enumerate(text) if sign == "-"):
        low, high = text[:at], text[at + 1 :]
        least, most = extent(low) if low else (0.0, 0.0), extent(high) if high else (1.0, 1.0)
        if least is not None and most is not None:
            if least[0] > most[1]:
                raise InvalidInput(f"The confidence {given!r} ends below where it begins; turn it round.")
            return least[0], most[1]
    level_named(text)
    return 0.0, 1.0


def extent(name: str) -> tuple[float, float] | None:
    """From where to where a level reaches; of a number, itself."""
    level = LEVELS.get(name.replace("_", "-").replace(" ", "-"))
    if level is not None:
        return level.least, level.most
    try:
        number = float(name)
    except ValueError:
        return None
    return (number, number) if 0 <= number <= 1 else None
