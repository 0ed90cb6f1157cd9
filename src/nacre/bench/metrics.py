"""Says how good a ranking is: at least one, how many, all of what was wanted, and how high."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

DEPTHS = (1, 5, 10, 20)
MAIN = ("any@5", "any@10", "recall@10", "all@5", "ndcg@5", "mrr")

Scores: TypeAlias = dict[str, float]
Summary: TypeAlias = dict[str, float | dict[str, Scores]]


def judged(ranking: Sequence[str], gold: frozenset[str]) -> Scores:
    """Percentages. The ideal of NDCG is made of all gold, not only of what was found."""
    places = [place for place, key in enumerate(ranking, start=1) if key in gold]
    scores = {"mrr": 100 / places[0] if places else 0.0}
    for depth in DEPTHS:
        found = [place for place in places if place <= depth]
        gain = sum(1 / math.log2(1 + place) for place in found)
        ideal = sum(1 / math.log2(1 + place) for place in range(1, min(len(gold), depth) + 1))
        scores |= {
            f"any@{depth}": 100.0 * bool(found),
            f"recall@{depth}": 100 * len(found) / len(gold),
            f"all@{depth}": 100.0 * (len(found) == len(gold)),
            f"ndcg@{depth}": 100 * gain / ideal,
        }
    return scores


def summed(results: Iterable[tuple[str, Scores]]) -> Summary:
    """Means over all questions, and over those of each category."""
    parts: Mapping[str, list[Scores]] = defaultdict(list)
    for category, scores in results:
        parts[category].append(scores)
    everything = [scores for some in parts.values() for scores in some]
    by_category = {name: {"n": len(some), **means(some)} for name, some in sorted(parts.items())}
    return {**means(everything), "by_category": by_category}


def means(scores: Sequence[Scores]) -> Scores:
    names = scores[0] if scores else {}
    return {name: round(sum(each[name] for each in scores) / len(scores), 2) for name in names}
