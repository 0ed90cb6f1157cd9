"""Mnemosyne's score of a memory: relevance, recency and importance, with factors for length, type, role and use."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.model.memory import Memory

HOUR = 3600.0
MOST = 2.0  # the most that length, type, role and use together may multiply by
# Small compared with the published factors of type and role; a memory never used keeps the published value.
QUALITY_USE_SPAN, MANY_USES = 0.1, 10


@dataclass(frozen=True, slots=True)
class QualityWeights:
    """Mnemosyne's formula: three shares that are added, an hourly decay, and factors for length, type and role."""

    relevance: float = 0.5
    recency: float = 0.3
    importance: float = 0.2
    decay_rate: float = 0.995
    max_hours: float = 720
    full_length: int = 500
    semantic: float = 1.2
    assistant: float = 1.1
    user: float = 0.9


def quality(memory: Memory, relevance: float, now: float, weights: QualityWeights | None = None) -> float:
    """From 0 to 1; `relevance` is from 0 to 1 too."""
    w = weights or QualityWeights()
    hours = min(max(0.0, now - last_used(memory)) / HOUR, w.max_hours)
    added = w.relevance * relevance + w.recency * w.decay_rate**hours + w.importance * memory.importance
    total = w.relevance + w.recency + w.importance
    return min(1.0, max(0.0, added / total * min(MOST, factors(memory, w)))) if total else 0.0


def last_used(memory: Memory) -> float:
    """For a memory that was never used, its creation."""
    return memory.last_accessed if memory.access_count else memory.created_at


def factors(memory: Memory, weights: QualityWeights) -> float:
    length = min(len(memory.text), weights.full_length) / weights.full_length
    kind = weights.semantic if memory.type == "semantic" else 1.0
    said = {memory.role, *memory.tags}
    role = weights.assistant if "assistant" in said else weights.user if "user" in said else 1.0
    return length * kind * role * (1 + QUALITY_USE_SPAN * min(1.0, memory.access_count / MANY_USES))
