"""Whether relevance tells a question that something answers from one that nothing does."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TypedDict

from nacre.bench.metrics import Scores
from nacre.bench.spread import distribution

THRESHOLDS = tuple(tenth / 10 for tenth in range(1, 10))


class Threshold(TypedDict):
    """Percentages: of what nothing answers, how much `min_relevance` would silence; of the rest, how much it keeps."""

    min_relevance: float
    silenced: float | None
    kept: float | None


class Abstention(TypedDict):
    """Of the most relevant hit of each question; `auc` is 0.5 for guessing and 1 when no two are mistaken."""

    answerable: Scores
    unanswerable: Scores
    auc: float | None
    thresholds: list[Threshold]


def abstention(answerable: Sequence[float], unanswerable: Sequence[float]) -> Abstention:
    return {
        "answerable": distribution(answerable),
        "unanswerable": distribution(unanswerable),
        "auc": area(answerable, unanswerable),
        "thresholds": [threshold(least, answerable, unanswerable) for least in THRESHOLDS],
    }


def area(above: Sequence[float], below: Sequence[float]) -> float | None:
    """How often one from `above` exceeds one from `below`, a tie counting half."""
    if not above or not below:
        return None
    ranked = sorted(below)
    won = sum((bisect_left(ranked, value) + bisect_right(ranked, value)) / 2 for value in above)
    return round(won / (len(above) * len(below)), 3)


def threshold(least: float, answerable: Sequence[float], unanswerable: Sequence[float]) -> Threshold:
    return {
        "min_relevance": least,
        "silenced": share([value < least for value in unanswerable]),
        "kept": share([value >= least for value in answerable]),
    }


def share(truths: Sequence[bool]) -> float | None:
    return round(100 * sum(truths) / len(truths), 2) if truths else None
