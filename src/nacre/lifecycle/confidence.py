"""Lets certainty fade that nobody renews, and finds what is held more firmly than its evidence bears."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nacre.memory_store import MemoryStore
from nacre.model import Filter, Memory
from nacre.model.instants import DAY
from nacre.model.memory import LESSON

ACTOR = "confidence"
HALF_LIFE_DAYS = 365.0
FLOOR = 0.1  # doubt is not disproof
NOTICEABLE = 0.05  # a smaller loss is not worth an act
# Events do not become less certain; what is held to be true does.
HELD = ("semantic", "procedural", "feedback", LESSON)


@dataclass(frozen=True, slots=True)
class Fading:
    memory: Memory
    confidence: float


@dataclass(frozen=True, slots=True)
class ConfidenceDecay:
    """Halves the confidence of what is held to be true every `half_life_days` since it was last validated."""

    store: MemoryStore
    half_life_days: float = HALF_LIFE_DAYS
    floor: float = FLOOR

    def now_worth(self, memory: Memory, now: float) -> float:
        """From the confidence at its last validation, or at its last change of confidence."""
        since = max(memory.last_validated_at or 0.0, faded_at(memory), memory.created_at)
        worth = self._faded(memory.confidence, now - since)
        if not noticeable(memory, worth):
            return worth
        return self._faded(memory.confidence, now - max(since, self._said_at(memory)))

    def _faded(self, confidence: float, seconds: float) -> float:
        faded = confidence * float(0.5 ** (max(0.0, seconds) / DAY / self.half_life_days))
        return max(min(self.floor, confidence), faded)

    def _said_at(self, memory: Memory) -> float:
        """When an act last changed how firmly it is held; 0 when the journal knows of none."""
        acts = self.store.journal(memory.id, limit=None)
        said = (entry.act.at for entry in acts if entry.before and "confidence" in (entry.after or {}))
        return next(said, 0.0)

    def plan(self, now: float | None = None) -> tuple[Fading, ...]:
        at = self.store.now() if now is None else now
        held = self.store.iterate(where=Filter.where(pinned=False, type__in=HELD))
        fading = (Fading(memory, self.now_worth(memory, at)) for memory in held)
        return tuple(each for each in fading if noticeable(each.memory, each.confidence))

    def apply(self, plan: Sequence[Fading], now: float | None = None, *, why: str = "") -> int:
        """One act; what was validated or changed since it was planned keeps its confidence."""
        at = self.store.now() if now is None else now
        planned = {each.memory.id: each for each in plan}
        if not planned:
            return 0

        def edit(memory: Memory) -> Memory:
            each = planned[memory.id]
            if memory.pinned or not same(memory, each.memory):
                return memory
            kept = {**memory.metadata, "confidence_faded_at": at}
            return replace(memory, confidence=round(each.confidence, 4), metadata=kept)

        return len(self.store.acting_as(ACTOR).change_present(self.store.space, list(planned), "fade", edit, why=why))


def noticeable(memory: Memory, worth: float) -> bool:
    return memory.confidence - worth >= NOTICEABLE


def same(memory: Memory, planned: Memory) -> bool:
    return (memory.confidence, memory.last_validated_at, memory.status, memory.updated_at) == (
        planned.confidence, planned.last_validated_at, planned.status, planned.updated_at,
    )  # fmt: skip


def faded_at(memory: Memory) -> float:
    at = memory.metadata.get("confidence_faded_at")
    return float(at) if isinstance(at, int | float) else 0.0


def audit(
    store: MemoryStore, *, min_confidence: float = 0.0, max_confidence: float = 1.0, source: str | None = None,
    validated: bool | None = None,
) -> Iterator[Memory]:  # fmt: skip
    """Memories held so firmly, on such evidence: `audit(store, min_confidence=0.8, source="inferred")`."""
    where = Filter.where(
        confidence__le=max_confidence, last_validated_at__unset=None if validated is None else not validated
    )
    return store.iterate(min_confidence=min_confidence, source=source, where=where)
