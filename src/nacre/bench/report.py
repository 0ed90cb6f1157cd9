"""The result of a run as plain JSON values, and as rows of a table."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from nacre.bench.datasets import Question, Suite
from nacre.bench.metrics import Abstention, Folds, Scores, Summary, abstention, folds, percentile, score, summarize
from nacre.bench.rankers import DEFAULT, VECTOR, Answer


class Report(TypedDict):
    """Percentages from 0 to 100; `n` counts the questions that something answers.

    `ingest_per_s` counts turns whose texts were really embedded; `rss_mb` is the peak of the process with the dataset.
    """

    suite: str
    mode: str
    unit: str
    embedder: str
    n: int
    metrics: dict[str, Summary]
    latency_ms: Scores
    baseline_latency_ms: Scores
    ingest_per_s: float
    rss_mb: float | None
    folds: Folds
    abstention: Abstention


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the number of its corpus, and the answer of each ranker."""

    corpus: int
    question: Question
    answers: Mapping[str, Answer]

    def score(self, ranker: str) -> Scores:
        return score(self.answers[ranker].keys, self.question.gold)

    @property
    def relevance(self) -> float:
        return self.answers[DEFAULT].relevance


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: how one ranker did, over all questions or those of a category."""

    ranker: str
    questions: str
    n: int
    scores: Scores


def report(suite: Suite, embedder: str, asked: Sequence[Asked], per_second: float) -> Report:
    wanted = [each for each in asked if each.question.gold]
    silent = [each for each in asked if not each.question.gold]
    rankers = list(wanted[0].answers if wanted else ())
    return {
        "suite": suite.name,
        "mode": suite.mode,
        "unit": suite.unit,
        "embedder": embedder,
        "n": len(wanted),
        "metrics": {name: summarize((each.question.category, each.score(name)) for each in wanted) for name in rankers},
        "latency_ms": latency(asked, DEFAULT),
        "baseline_latency_ms": latency(asked, VECTOR),
        "ingest_per_s": round(per_second, 1),
        "rss_mb": peak_rss_mb(),
        "folds": folds([(each.corpus, each.score(DEFAULT)) for each in wanted]),
        "abstention": abstention([each.relevance for each in wanted], [each.relevance for each in silent]),
    }


def latency(asked: Sequence[Asked], ranker: str) -> Scores:
    taken = sorted(each.answers[ranker].milliseconds for each in asked if ranker in each.answers)
    return {f"p{share}": percentile(taken, share) for share in (50, 95) if taken}


def peak_rss_mb() -> float | None:
    """None when the system does not report it."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)


def rows(report: Report) -> list[Row]:
    """Each ranker over all questions, then the default over those of each category."""
    overall = [
        Row(name, "all", report["n"], {key: value for key, value in summary.items() if not isinstance(value, dict)})
        for name, summary in report["metrics"].items()
    ]
    parts = report["metrics"].get(DEFAULT, {}).get("by_category", {})
    if not isinstance(parts, dict):
        return overall
    return [*overall, *(Row(DEFAULT, name, int(scores["n"]), scores) for name, scores in parts.items())]
