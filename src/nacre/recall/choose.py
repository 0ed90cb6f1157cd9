"""Chooses among the ranked: nothing below the threshold, nothing twice, not everything from one conversation."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from nacre.model import Hit, Memory, Query
from nacre.text.stems import stems

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
