"""Weighs a hit by what the memory is like: how new, how important, how much used, how long, and who said it."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from nacre.model import Hit, Memory, Query, Reason
from nacre.model.instants import DAY
from nacre.recall.understand import Question
from nacre.text.dates import when_weight
from nacre.text.tokens import stems

HOUR = 3600.0
MOST = 2.0  # what length, type, role and use may multiply to
# Small beside the published factors of type and role; what was never used keeps the published figure.
QUALITY_USE_SPAN, MANY_USES = 0.1, 10


@dataclass(frozen=True, slots=True)
class QualityWeights:
    """Mnemosyne's: three shares that are added, a decay an hour, and factors for length, type and role."""

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
    whole = w.relevance + w.recency + w.importance
    return min(1.0, max(0.0, added / whole * min(MOST, factors(memory, w)))) if whole else 0.0


def last_used(memory: Memory) -> float:
    """What nobody has used yet is as old as it is."""
    return memory.last_accessed if memory.access_count else memory.created_at


def factors(memory: Memory, weights: QualityWeights) -> float:
    length = min(len(memory.text), weights.full_length) / weights.full_length
    kind = weights.semantic if memory.type == "semantic" else 1.0
    said = {memory.role, *memory.tags}
    role = weights.assistant if "assistant" in said else weights.user if "user" in said else 1.0
    return length * kind * role * (1 + QUALITY_USE_SPAN * min(1.0, memory.access_count / MANY_USES))


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


def weigh(hits: Sequence[Hit], asked: Question, query: Query) -> list[Hit]:
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


def fitted(hit: Hit, asked: Question, query: Query) -> Hit:
    factors = {name: factor(hit.memory, asked, query) for name, factor in FACTORS.items()}
    whole = math.prod(factors.values())
    told = tuple(Reason(name, hit.score * (value - 1)) for name, value in factors.items() if value != 1)
    # A score below zero is already the last; multiplying would turn it round.
    return hit if hit.score <= 0 else replace(hit, score=hit.score * whole, why=hit.why + told)


def importance(memory: Memory, asked: Question, query: Query) -> float:  # noqa: ARG001
    return 1 + IMPORTANCE_SPAN * (memory.importance - 0.5)


def recency(memory: Memory, asked: Question, query: Query) -> float:
    since = memory.last_accessed if query.recency_basis == "accessed" else memory.happened_at
    age = max(0.0, asked.asked_at - since) / DAY
    return 1 + RECENCY_SPAN * math.exp(-age / RECENCY_DAYS)


def use(memory: Memory, asked: Question, query: Query) -> float:  # noqa: ARG001
    """Only where uses are to count: a recall that reinforces itself answers otherwise the second time."""
    if query.recency_basis != "accessed":
        return 1.0
    return 1 + USE_SPAN * min(1.0, math.log1p(memory.access_count) / math.log1p(USES))


def belief(memory: Memory, asked: Question, query: Query) -> float:  # noqa: ARG001
    confidence = CONFIDENCE_FLOOR + (1 - CONFIDENCE_FLOOR) * memory.confidence
    return confidence * (TRUST_FLOOR + (1 - TRUST_FLOOR) * memory.trust)


def standing(memory: Memory, asked: Question, query: Query) -> float:  # noqa: ARG001
    return SUPERSEDED if memory.superseded_by else 1.0


def context(memory: Memory, asked: Question, query: Query) -> float:  # noqa: ARG001
    return CONTEXT_BONUS if set(memory.contexts) & set(query.contexts) else 1.0


def time(memory: Memory, asked: Question, query: Query) -> float:  # noqa: ARG001
    if not asked.windows:
        return 1.0
    return OUT_OF_TIME + (1 - OUT_OF_TIME) * when_weight(memory.happened_at, asked.windows)


Factor = Callable[[Memory, Question, Query], float]
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


WORD = re.compile(r"\w+")


def choose(hits: Sequence[Hit], query: Query) -> list[Hit]:
    kept = [hit for hit in hits if hit.relevance >= query.min_relevance]
    kept = capped(collapsed(kept) if query.collapse else kept, query.per_session)
    return diverse(kept, query.k, query.diversity) if query.diversity else kept[: query.k]


def collapsed(hits: Sequence[Hit]) -> list[Hit]:
    """Notes of the same words stand once, with the ids of the others; numbers are words, so 9 is not 10.

    Turns of a conversation are events: "yes" said twice was said twice.
    """
    first: dict[tuple[str, ...], int] = {}
    kept: list[Hit] = []
    for hit in hits:
        words = (hit.memory.id,) if hit.memory.session else wording(hit.memory)
        if words in first:
            heir = kept[first[words]]
            kept[first[words]] = replace(heir, collapsed=(*heir.collapsed, hit.memory.id))
        else:
            first[words] = len(kept)
            kept.append(hit)
    return kept


def wording(memory: Memory) -> tuple[str, ...]:
    # Not the stems: to take sixteen texts apart costs as much as finding them.
    return tuple(WORD.findall(f"{memory.title}\n{memory.text}".casefold())) or (memory.title, memory.text)


def capped(hits: Sequence[Hit], most: int) -> list[Hit]:
    """At most so many of one session first; the others follow, so that nobody gets fewer hits than there are."""
    if most <= 0:
        return list(hits)
    seen: Counter[str] = Counter()
    first: list[Hit] = []
    rest: list[Hit] = []
    for hit in hits:
        seen[hit.memory.session] += 1
        (first if not hit.memory.session or seen[hit.memory.session] <= most else rest).append(hit)
    return first + rest


def diverse(hits: Sequence[Hit], k: int, share: float) -> list[Hit]:
    """Maximal marginal relevance: each next one is relevant and unlike those before it, by the words they share."""
    words = {hit.memory.id: frozenset(stems(hit.memory.text)) for hit in hits}
    best = max([0.0, *(hit.score for hit in hits)]) or 1.0
    likest: dict[str, float] = defaultdict(float)
    left = list(hits)
    chosen: list[Hit] = []
    while left and len(chosen) < k:
        pick = max(left, key=lambda hit: (1 - share) * hit.score / best - share * likest[hit.memory.id])
        left.remove(pick)
        chosen.append(pick)
        for hit in left:
            likest[hit.memory.id] = max(likest[hit.memory.id], overlap(words[hit.memory.id], words[pick.memory.id]))
    return chosen


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0
