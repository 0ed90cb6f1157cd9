"""How far the figures of parts of a suite lie apart, so that a lucky split shows."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypedDict

from nacre.bench.metrics import MAIN, Scores, means

FOLDS = 5
SEED = 20260103
PERCENTILES = (5, 25, 50, 75, 95)


class Folds(TypedDict):
    """`by` is "corpus", or "question" where one corpus holds them all or each holds one."""

    by: str
    each: list[Scores]
    spread: dict[str, Scores]


def folds(judged: Sequence[tuple[int, Scores]]) -> Folds:
    """Of pairs of a corpus's number and what a question of it scored."""
    parts = by_corpus(judged)
    by = "corpus"
    if len(parts) == 1 or all(len(part) == 1 for part in parts):
        parts, by = at_random([scores for _, scores in judged]), "question"
    each: list[Scores] = [{"n": len(part), **main_only(means(part))} for part in parts]
    return {"by": by, "each": each, "spread": {name: spread([part[name] for part in each]) for name in MAIN if each}}


def by_corpus(judged: Iterable[tuple[int, Scores]]) -> list[list[Scores]]:
    parts: dict[int, list[Scores]] = defaultdict(list)
    for number, scores in judged:
        parts[number].append(scores)
    return list(parts.values())


def at_random(scores: Sequence[Scores]) -> list[list[Scores]]:
    shuffled = list(scores)
    random.Random(SEED).shuffle(shuffled)
    return [part for start in range(FOLDS) if (part := shuffled[start::FOLDS])]


def main_only(scores: Scores) -> Scores:
    return {name: scores[name] for name in MAIN}


def spread(values: Sequence[float]) -> Scores:
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / max(1, len(values) - 1)
    return {
        "mean": round(mean, 2),
        "sd": round(math.sqrt(variance), 2),
        "least": round(min(values), 2),
        "most": round(max(values), 2),
    }


def distribution(values: Sequence[float]) -> Scores:
    ranked = sorted(values)
    return {"n": len(ranked)} | {f"p{share}": percentile(ranked, share) for share in PERCENTILES if ranked}


def percentile(ranked: Sequence[float], share: int) -> float:
    """The nearest rank, of values that rise and of which there is at least one."""
    return round(ranked[max(0, math.ceil(len(ranked) * share / 100) - 1)], 3)
