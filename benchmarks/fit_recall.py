"""Fits the weights of recall's signals to the development data, with cross-validation, and prints an ablation.

The printed numbers are copied by hand into `src/nacre/recall`, where each has its name.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nacre.bench.datasets import Corpus, Question, Suite
from nacre.bench.metrics import means, score
from nacre.bench.run import CachingEmbedder, fields, load
from nacre.factory import make_embedder, open_backend
from nacre.memory_store import MemoryStore
from nacre.model import Filter, Query
from nacre.protocols import Backend, Embedder
from nacre.recall import sessions
from nacre.recall.gather import POOL, POOL_PER_WANTED, REACH, PlacedCandidates, gather, understand
from nacre.recall.signals import signals
from nacre.settings import Settings

FOLDS = 5
STEPS, RATE, DECAY = 250, 0.05, 1e-3
WANTED = 20
SHOWN = ("any@5", "any@10", "recall@10", "all@5", "ndcg@5", "mrr")
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Case:
    """One question: a row of signals for each candidate, and which candidates are right."""

    fold: int
    keys: tuple[str, ...]
    rows: Matrix
    right: NDArray[np.int64]
    gold: frozenset[str]
    relevance: Matrix  # cosine and coverage, unscaled


def cases(suite: Suite, folder: Path, embedder: Embedder) -> tuple[list[str], list[Case]]:
    names: list[str] = []
    found: list[Case] = []
    for number, corpus in enumerate(suite.corpora):
        store = filled(corpus, folder / f"{suite.name}-{number}.db", embedder)
        for place, question in enumerate(question for question in corpus.questions if question.gold):
            fold = (number if len(suite.corpora) >= FOLDS else place) % FOLDS
            names, case = read(question, suite.unit, store, embedder, fold, corpus)
            found.append(case)
        store.close()
    return names, found


def filled(corpus: Corpus, file: Path, embedder: Embedder) -> Backend:
    if not file.exists():
        with MemoryStore(file, embedder=embedder) as store:
            store.remember_many([fields(turn) for turn in corpus.turns])
    return open_backend(file)


def read(
    question: Question, unit: str, store: Backend, embedder: Embedder, fold: int, corpus: Corpus
) -> tuple[list[str], Case]:
    asked_at = corpus.ended_at if question.asked_at is None else question.asked_at
    asked = understand(Query(question.text, WANTED, Filter(), asked_at=asked_at))
    vector = embedder.embed([asked.text])[0]
    whole = unit == "session"
    pool, reach = (sessions.POOL, 0) if whole else (max(POOL, POOL_PER_WANTED * WANTED), REACH)
    evidence = gather(asked, vector, space="default", store=store, pool=pool, reach=reach)
    told = sessions.session_signals(evidence, asked) if whole else signals(evidence, asked)
    keys = session_names(evidence) if whole else tuple(place.id for place in evidence.places)
    right = np.array([place for place, key in enumerate(keys) if key in question.gold], np.int64)
    certain = [evidence.cosines, told["coverage nearby"]] if not whole else [evidence.cosines] * 2
    return list(told), Case(
        fold,
        keys,
        np.stack(list(told.values()), 1).astype(float),
        right,
        question.gold,
        np.stack(certain, 1).astype(float),
    )


def session_names(evidence: PlacedCandidates) -> tuple[str, ...]:
    names = {int(code): place.session for code, place in zip(evidence.session, evidence.places, strict=True)}
    return tuple(names[code] for code in range(len(names)))


def fit(sets: Sequence[Sequence[Case]], columns: Sequence[int]) -> Matrix:
    """Listwise: the right candidates' share of the softmax over all; each set of cases counts the same."""
    usable = [[case for case in some if len(case.right)] for some in sets]
    rows = [(1 / len(some) / len(sets), case.rows[:, columns], case.right) for some in usable for case in some]
    scale = np.mean([part.std(0) for _, part, _ in rows], axis=0) + 1e-6
    rows = [(share, (part - part.mean(0)) / scale, right) for share, part, right in rows]
    weights, first, second = (np.zeros(len(columns)) for _ in range(3))
    for step in range(1, STEPS + 1):  # Adam
        slope = DECAY * weights
        for share, part, right in rows:
            likely = softmax(part @ weights)
            slope -= share * (part[right].T @ (likely[right] / likely[right].sum()) - part.T @ likely)
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        weights -= RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    found: Matrix = weights / scale
    return found


def softmax(scores: Matrix) -> Matrix:
    raised = np.exp(scores - scores.max())
    likely: Matrix = raised / raised.sum()
    return likely


def validated(sets: Sequence[Sequence[Case]], columns: Sequence[int]) -> list[dict[str, float]]:
    """For each set, the mean metrics over its folds, each judged by weights that never saw it."""
    judgements: list[list[dict[str, float]]] = [[] for _ in sets]
    for fold in range(FOLDS):
        weights = fit([[case for case in some if case.fold != fold] for some in sets], columns)
        for place, some in enumerate(sets):
            judgements[place] += [judge(case, columns, weights) for case in some if case.fold == fold]
    return [means(some) for some in judgements]


def judge(case: Case, columns: Sequence[int], weights: Matrix) -> dict[str, float]:
    best = np.argsort(-(case.rows[:, columns] @ weights), kind="stable")[:WANTED]
    return score([case.keys[i] for i in best], case.gold)


def ablation(names: Sequence[str], sets: Mapping[str, Sequence[Case]]) -> Iterator[str]:
    every = list(range(len(names)))
    for label, columns in [
        ("all", every),
        *((f"without {name}", [c for c in every if c != i]) for i, name in enumerate(names)),
    ]:
        for suite, found in zip(sets, validated(list(sets.values()), columns), strict=True):
            yield f"{label:28} {suite:12} " + "  ".join(f"{name} {found[name]:5.1f}" for name in SHOWN)


def calibrated(sets: Mapping[str, Sequence[Case]], names: Sequence[str]) -> Matrix:
    """Logistic regression: is a hit among the best ten right? Intercept, by cosine, by coverage."""
    weights = fit(list(sets.values()), range(len(names)))
    rows, truths = [], []
    for some in sets.values():
        for case in some:
            best = np.argsort(-(case.rows @ weights))[:10]
            rows.append(np.column_stack([np.ones(len(best)), case.relevance[best]]))
            truths.append(np.isin(best, case.right))
    table, truth = np.concatenate(rows), np.concatenate(truths).astype(float)
    found = np.zeros(3)
    for _ in range(50):  # Newton's method
        likely = 1 / (1 + np.exp(-table @ found))
        curve = (table * (likely * (1 - likely))[:, None]).T @ table + 1e-6 * np.eye(3)
        found += np.linalg.solve(curve, table.T @ (truth - likely))
    return found


def report(names: Sequence[str], sets: Mapping[str, Sequence[Case]], *, relevance: bool) -> None:
    for line in ablation(names, sets):
        print(line, flush=True)
    weights = fit(list(sets.values()), range(len(names)))
    print({name: round(float(weight), 2) for name, weight in zip(names, weights, strict=True)})
    if relevance:
        print("relevance: intercept, by cosine, by coverage:", np.round(calibrated(sets, names), 2).tolist())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("locomo", "beam", "longmemeval"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--stores", type=Path, required=True, help="a folder where the filled stores are kept")
    parser.add_argument("--embedder", default="multilingual")
    given = parser.parse_args()
    given.stores.mkdir(parents=True, exist_ok=True)
    embedder = CachingEmbedder(make_embedder(Settings(embedder=given.embedder)))
    turns: dict[str, Sequence[Case]] = {}
    names: list[str] = []
    for suite in ("locomo", "beam"):
        if getattr(given, suite):
            names, turns[suite] = cases(load(suite, getattr(given, suite)), given.stores, embedder)
    if turns:
        report(names, turns, relevance=True)
    if given.longmemeval:
        names, found = cases(load("longmemeval", given.longmemeval), given.stores, embedder)
        report(names, {"longmemeval": found}, relevance=False)


if __name__ == "__main__":
    main()
