"""Scores rankings: any, recall, all, NDCG and MRR; with folds, and how well relevance predicts abstention."""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, stdev
from typing import TypeAlias, TypedDict

DEPTHS = (1, 5, 10, 20)
MAIN = ("any@5", "any@10", "recall@10", "all@5", "ndcg@5", "mrr")

Scores: TypeAlias = dict[str, float]
Summary: TypeAlias = dict[str, float | dict[str, Scores]]


def score(ranking: Sequence[str], gold: frozenset[str]) -> Scores:
    """Percentages. The ideal of NDCG uses all gold keys, not only the found ones."""
    places = [place for place, key in enumerate(ranking, start=1) if key in gold]
    scores = {"mrr": 100 / places[0] if places else 0.0}
    for depth in DEPTHS:
        hits = [place for place in places if place <= depth]
        gain = sum(1 / math.log2(1 + place) for place in hits)
        ideal = sum(1 / math.log2(1 + place) for place in range(1, min(len(gold), depth) + 1))
        scores |= {
            f"any@{depth}": 100.0 * bool(hits),
            f"recall@{depth}": 100 * len(hits) / len(gold),
            f"all@{depth}": 100.0 * (len(hits) == len(gold)),
            f"ndcg@{depth}": 100 * gain / ideal,
        }
    return scores


def summarize(results: Iterable[tuple[str, Scores]]) -> Summary:
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


FOLDS = 5
SEED = 20260103
PERCENTILES = (5, 25, 50, 75, 95)


class Folds(TypedDict):
    """`by` is "corpus", or "question" where one corpus holds them all or each holds one."""

    by: str
    each: list[Scores]
    spread: dict[str, Scores]


def folds(judged: Sequence[tuple[int, Scores]]) -> Folds:
    """From pairs of the corpus number and the scores of one question."""
    by_corpus: dict[int, list[Scores]] = defaultdict(list)
    for number, scores in judged:
        by_corpus[number].append(scores)
    parts, by = list(by_corpus.values()), "corpus"
    if len(parts) == 1 or all(len(part) == 1 for part in parts):
        shuffled = [scores for _, scores in judged]
        random.Random(SEED).shuffle(shuffled)
        parts, by = [part for start in range(FOLDS) if (part := shuffled[start::FOLDS])], "question"
    each: list[Scores] = [{"n": len(part), **{name: means(part)[name] for name in MAIN}} for part in parts]
    return {"by": by, "each": each, "spread": {name: spread([part[name] for part in each]) for name in MAIN if each}}


def spread(values: Sequence[float]) -> Scores:
    deviation = stdev(values) if len(values) > 1 else 0.0
    exact = {"mean": fmean(values), "sd": deviation, "least": min(values), "most": max(values)}
    return {name: round(value, 2) for name, value in exact.items()}


def distribution(values: Sequence[float]) -> Scores:
    ranked = sorted(values)
    return {"n": len(ranked)} | {f"p{share}": percentile(ranked, share) for share in PERCENTILES if ranked}


def percentile(ranked: Sequence[float], share: int) -> float:
    """The nearest rank, of values that rise and of which there is at least one."""
    return round(ranked[max(0, math.ceil(len(ranked) * share / 100) - 1)], 3)


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
        "thresholds": [
            {
                "min_relevance": least,
                "silenced": share([value < least for value in unanswerable]),
                "kept": share([value >= least for value in answerable]),
            }
            for least in THRESHOLDS
        ],
    }


def area(above: Sequence[float], below: Sequence[float]) -> float | None:
    """How often one from `above` exceeds one from `below`, a tie counting half."""
    if not above or not below:
        return None
    ranked = sorted(below)
    won = sum((bisect_left(ranked, value) + bisect_right(ranked, value)) / 2 for value in above)
    return round(won / (len(above) * len(below)), 3)


BINS = 10


def calibration_error(judged: Sequence[tuple[float, bool]]) -> float | None:
    """Of pairs of a probability and the truth: the mean difference between the probabilities in a bin and the share
    that is true, over ten bins of the same width, each counting by how many it holds."""
    bins: Mapping[int, list[tuple[float, bool]]] = defaultdict(list)
    for probability, truth in judged:
        bins[min(BINS - 1, int(BINS * probability))].append((probability, truth))
    errors = [abs(sum(probability - truth for probability, truth in each)) for each in bins.values()]
    return round(sum(errors) / len(judged), 4) if judged else None


def share(truths: Sequence[bool]) -> float | None:
    return round(100 * sum(truths) / len(truths), 2) if truths else None
