"""Lets a memory's worth, time and mood speak, always by multiplying relevance: what is unrelated stays out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from nacre.model import Hit, Memory, Query, Reason
from nacre.model.instants import DAY
from nacre.recall.understand import Asked
from nacre.text.times import when_weight

# Small on purpose: worth may break a near-tie between relevant memories, never lift an unrelated one.
IMPORTANCE_SPAN = 0.10
RECENCY_SPAN, RECENCY_DAYS = 0.03, 30.0
USE_SPAN, USES = 0.02, 20
CONFIDENCE_FLOOR, TRUST_FLOOR = 0.75, 0.5
SUPERSEDED = 0.5  # only met when superseded memories were asked for
CONTEXT_BONUS = 1.1
# Outside of the time that the question names a memory keeps this much: dates in memories are often missing or wrong.
OUT_OF_TIME = 0.7
WIDEST_MOODS = math.sqrt(8)  # the distance between the corners of valence and arousal
UNKNOWN_MOOD = 0.5
NOISE = 1e-6  # of a score: the cosines of equal vectors differ so by where they lie in the matrix


def weigh(hits: Sequence[Hit], asked: Asked, query: Query) -> list[Hit]:
    """Equal scores are broken by importance, then by age, newest first."""
    weighed = [fitted(hit, asked, query) for hit in hits] if query.strategy == "auto" else list(hits)
    if query.emotion is not None:
        weighed = in_mood(weighed, query.emotion, query.emotion_weight)
    places = leveled([hit.score for hit in weighed])
    return sorted(weighed, key=lambda hit: (places[hit.score], -hit.memory.importance, -hit.memory.created_at))


def leveled(scores: Sequence[float]) -> dict[float, int]:
    """The place of each score, best first; those that only rounding tells apart share one."""
    places: dict[float, int] = {}
    last = math.inf
    for score in sorted(scores, reverse=True):
        near = math.isclose(score, last, rel_tol=NOISE)
        places[score] = len(places) if not near else places[last]
        last = score
    return places


def fitted(hit: Hit, asked: Asked, query: Query) -> Hit:
    factors = {name: factor(hit.memory, asked, query) for name, factor in FACTORS.items()}
    whole = math.prod(factors.values())
    told = tuple(Reason(name, hit.score * (value - 1)) for name, value in factors.items() if value != 1)
    # A score below zero is already the last; multiplying would turn it round.
    return hit if hit.score <= 0 else replace(hit, score=hit.score * whole, why=hit.why + told)


def importance(memory: Memory, asked: Asked, query: Query) -> float:  # noqa: ARG001
    return 1 + IMPORTANCE_SPAN * (memory.importance - 0.5)


def recency(memory: Memory, asked: Asked, query: Query) -> float:
    since = memory.last_accessed if query.recency_basis == "accessed" else memory.happened_at
    age = max(0.0, asked.asked_at - since) / DAY
    return 1 + RECENCY_SPAN * math.exp(-age / RECENCY_DAYS)


def use(memory: Memory, asked: Asked, query: Query) -> float:  # noqa: ARG001
    """Only where uses are to count: a recall that reinforces itself answers otherwise the second time."""
    if query.recency_basis != "accessed":
        return 1.0
    return 1 + USE_SPAN * min(1.0, math.log1p(memory.access_count) / math.log1p(USES))


def belief(memory: Memory, asked: Asked, query: Query) -> float:  # noqa: ARG001
    confidence = CONFIDENCE_FLOOR + (1 - CONFIDENCE_FLOOR) * memory.confidence
    return confidence * (TRUST_FLOOR + (1 - TRUST_FLOOR) * memory.trust)


def standing(memory: Memory, asked: Asked, query: Query) -> float:  # noqa: ARG001
    return SUPERSEDED if memory.superseded_by else 1.0


def context(memory: Memory, asked: Asked, query: Query) -> float:  # noqa: ARG001
    return CONTEXT_BONUS if set(memory.contexts) & set(query.contexts) else 1.0


def time(memory: Memory, asked: Asked, query: Query) -> float:  # noqa: ARG001
    if not asked.windows:
        return 1.0
    return OUT_OF_TIME + (1 - OUT_OF_TIME) * when_weight(memory.happened_at, asked.windows)


Factor = Callable[[Memory, Asked, Query], float]
FACTORS: Mapping[str, Factor] = {
    "importance": importance,
    "recency": recency,
    "use": use,
    "belief": belief,
    "superseded": standing,
    "context": context,
    "time": time,
}


def in_mood(hits: Sequence[Hit], emotion: tuple[float, float], weight: float) -> list[Hit]:
    """(1 - w) x score + w x likeness of mood, the scores being taken against the best."""
    best = max([0.0, *(hit.score for hit in hits)]) or 1.0
    moods = [(hit, likeness(hit.memory, emotion)) for hit in hits]
    return [
        replace(
            hit, score=(1 - weight) * hit.score / best + weight * mood, why=(*hit.why, Reason("mood", weight * mood))
        )
        for hit, mood in moods
    ]


def likeness(memory: Memory, emotion: tuple[float, float]) -> float:
    if memory.valence is None or memory.arousal is None:
        return UNKNOWN_MOOD
    return 1 - math.dist((memory.valence, memory.arousal), emotion) / WIDEST_MOODS
