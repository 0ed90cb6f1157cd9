"""Adjusts scores by what a memory is like: importance, age, use, confidence, context, time and mood."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from nacre.model import Hit, Memory, Query, Reason
from nacre.model.instants import DAY
from nacre.recall.understand import Question
from nacre.text.dates import when_weight

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


# Small on purpose: they may decide between two close scores, never lift an unrelated memory.
IMPORTANCE_SPAN = 0.10
RECENCY_SPAN, RECENCY_DAYS = 0.03, 30.0
USE_SPAN, USES = 0.02, 20
CONFIDENCE_FLOOR, TRUST_FLOOR = 0.75, 0.5
SUPERSEDED = 0.5  # only matters when the query includes superseded memories
CONTEXT_BONUS = 1.1
# The factor outside of the time that the question names: dates of memories are often missing or wrong.
OUT_OF_TIME = 0.7
WIDEST_MOODS = math.sqrt(8)  # the distance between the corners of valence and arousal
UNKNOWN_MOOD = 0.5
NOISE = 1e-6  # relative: equal vectors get cosines that differ this much by their place in the matrix


def adjust(hits: Sequence[Hit], question: Question, query: Query) -> list[Hit]:
    """Best first; equal scores are ordered by importance, then newest first."""
    adjusted = [apply_factors(hit, question, query) for hit in hits] if query.strategy == "auto" else list(hits)
    if query.emotion is not None:
        adjusted = blend_mood(adjusted, query.emotion, query.emotion_weight)
    places = rank_places([hit.score for hit in adjusted])
    return sorted(adjusted, key=lambda hit: (places[hit.score], -hit.memory.importance, -hit.memory.created_at))


def rank_places(scores: Sequence[float]) -> dict[float, int]:
    """The place of each score, best first; scores that differ only by rounding share a place."""
    places: dict[float, int] = {}
    last = math.inf
    for score in sorted(scores, reverse=True):
        near = math.isclose(score, last, rel_tol=NOISE)
        places[score] = len(places) if not near else places[last]
        last = score
    return places


def apply_factors(hit: Hit, question: Question, query: Query) -> Hit:
    factors = {name: factor(hit.memory, question, query) for name, factor in FACTORS.items()}
    product = math.prod(factors.values())
    reasons = tuple(Reason(name, hit.score * (value - 1)) for name, value in factors.items() if value != 1)
    # Multiplying a negative score would reverse the effect; it is last anyway.
    return hit if hit.score <= 0 else replace(hit, score=hit.score * product, why=hit.why + reasons)


def importance(memory: Memory, question: Question, query: Query) -> float:  # noqa: ARG001
    return 1 + IMPORTANCE_SPAN * (memory.importance - 0.5)


def recency(memory: Memory, question: Question, query: Query) -> float:
    since = memory.last_accessed if query.recency_basis == "accessed" else memory.happened_at
    age = max(0.0, question.asked_at - since) / DAY
    return 1 + RECENCY_SPAN * math.exp(-age / RECENCY_DAYS)


def use(memory: Memory, question: Question, query: Query) -> float:  # noqa: ARG001
    """Counts only when the query asks for it; otherwise a recall would change the next one."""
    if query.recency_basis != "accessed":
        return 1.0
    return 1 + USE_SPAN * min(1.0, math.log1p(memory.access_count) / math.log1p(USES))


def belief(memory: Memory, question: Question, query: Query) -> float:  # noqa: ARG001
    confidence = CONFIDENCE_FLOOR + (1 - CONFIDENCE_FLOOR) * memory.confidence
    return confidence * (TRUST_FLOOR + (1 - TRUST_FLOOR) * memory.trust)


def superseded(memory: Memory, question: Question, query: Query) -> float:  # noqa: ARG001
    return SUPERSEDED if memory.superseded_by else 1.0


def context(memory: Memory, question: Question, query: Query) -> float:  # noqa: ARG001
    return CONTEXT_BONUS if set(memory.contexts) & set(query.contexts) else 1.0


def time(memory: Memory, question: Question, query: Query) -> float:  # noqa: ARG001
    if not question.windows:
        return 1.0
    return OUT_OF_TIME + (1 - OUT_OF_TIME) * when_weight(memory.happened_at, question.windows)


Factor = Callable[[Memory, Question, Query], float]
FACTORS: Mapping[str, Factor] = {
    "importance": importance,
    "recency": recency,
    "use": use,
    "belief": belief,
    "superseded": superseded,
    "context": context,
    "time": time,
}


def blend_mood(hits: Sequence[Hit], emotion: tuple[float, float], weight: float) -> list[Hit]:
    """(1 - w) x score relative to the best + w x similarity of mood."""
    best = max([0.0, *(hit.score for hit in hits)]) or 1.0
    moods = [(hit, mood_similarity(hit.memory, emotion)) for hit in hits]
    return [
        replace(
            hit, score=(1 - weight) * hit.score / best + weight * mood, why=(*hit.why, Reason("mood", weight * mood))
        )
        for hit, mood in moods
    ]


def mood_similarity(memory: Memory, emotion: tuple[float, float]) -> float:
    if memory.valence is None or memory.arousal is None:
        return UNKNOWN_MOOD
    return 1 - math.dist((memory.valence, memory.arousal), emotion) / WIDEST_MOODS
