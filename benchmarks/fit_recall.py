"""Fits the weights of recall's signals to the development data, with cross-validation, and prints an ablation.

python benchmarks/fit_recall.py --stores FOLDER --locomo FILE --beam FILE --notes FOLDER-OR-AUTHOR…

One set of weights serves conversations (LoCoMo), chats with an assistant (BEAM) and notes; each kind counts the same,
and whole conversations, chats and worlds are left out in turn. NOTES are as for `nacre bench recall --suite notes`, and
must not have been trained on: an embedder knows the questions of its training by heart, and meaning would weigh too
much. The printed numbers are copied by hand into `src/nacre/recall` and `models/calibration.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nacre.bench.datasets import Suite
from nacre.bench.metrics import means, score
from nacre.bench.notes import load_notes
from nacre.bench.run import CachingEmbedder, fields, load
from nacre.factory import make_embedder, open_backend
from nacre.memory_store import MemoryStore
from nacre.model import Filter, Query
from nacre.models.calibration import CALIBRATIONS
from nacre.protocols import Backend, Embedder
from nacre.recall import sessions
from nacre.recall.gather import POOL, POOL_PER_WANTED, REACH, PlacedCandidates, gather, understand
from nacre.recall.signals import WEIGHTS, signals
from nacre.settings import Settings

FOLDS = 5
STEPS, RATE = 200, 0.1
DECAY = 0.3  # how strongly the weights are held at the present ones; less was worse out of fold on BEAM
WANTED = 20
RIVALS = 70  # the best candidates by the present weights: a right one has to be ahead of these
SHOWN = ("any@1", "any@5", "any@10", "recall@10", "all@5", "ndcg@5", "mrr")
SETTINGS = replace(Settings(), on_conflict="ignore", rerank_ms=0.0)
SPACE = "default"
Matrix = NDArray[np.float64]
Rows = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, where it is asked, and what is right; `fold` is the same for all questions about one corpus."""

    text: str
    asked_at: float
    gold: frozenset[str]
    space: str
    fold: int


@dataclass(frozen=True, slots=True)
class Case:
    """One question: a row of signals for each candidate, and which candidates are right."""

    fold: int
    keys: tuple[str, ...]
    rows: Matrix
    right: NDArray[np.int64]
    gold: frozenset[str]


def asked_of_suite(suite: Suite, folder: Path, embedder: Embedder) -> Iterator[tuple[Backend, list[Asked]]]:
    """A store for each corpus, with its questions that have an answer."""
    for number, corpus in enumerate(suite.corpora):
        file = folder / f"{suite.name}-{number}.db"
        if not file.exists():
            with MemoryStore(file, embedder=embedder, settings=SETTINGS) as store:
                store.remember_many([fields(turn) for turn in corpus.turns])
        questions = [question for question in corpus.questions if question.gold]
        yield (
            open_backend(file),
            [
                Asked(
                    question.text,
                    corpus.ended_at if question.asked_at is None else question.asked_at,
                    question.gold,
                    SPACE,
                    (number if len(suite.corpora) >= FOLDS else place) % FOLDS,
                )
                for place, question in enumerate(questions)
            ],
        )


def asked_of_notes(paths: Sequence[Path], folder: Path, embedder: Embedder) -> Iterator[tuple[Backend, list[Asked]]]:
    """A store for each path, with a space for each world; the questions without an answer, too."""
    earlier = 0
    for path in paths:
        notes = load_notes(path)
        worlds = list(dict.fromkeys(note.project for note in notes.memories))
        file = folder / f"notes-{path.name}.db"
        if not file.exists():
            with MemoryStore(file, embedder=embedder, settings=SETTINGS) as store:
                for name in worlds:
                    own = [note for note in notes.memories if note.project == name]
                    store.in_space(name).remember_many(
                        [{"id": note.id, "text": note.text, "created_at": note.created_at} for note in own]
                    )
        yield (
            open_backend(file),
            [
                Asked(
                    question.text,
                    question.asked_at or notes.last(),
                    question.answers,
                    question.project,
                    (earlier + worlds.index(question.project)) % FOLDS,
                )
                for question in notes.questions
            ],
        )
        earlier += len(worlds)


def cases(
    stores: Iterator[tuple[Backend, list[Asked]]], unit: str, embedder: Embedder
) -> tuple[tuple[str, ...], list[Case]]:
    names: tuple[str, ...] = ()
    found: list[Case] = []
    for store, questions in stores:
        for question in questions:
            names, case = read_case(question, unit, store, embedder)
            found.append(case)
        store.close()
    return names, found


def read_case(question: Asked, unit: str, store: Backend, embedder: Embedder) -> tuple[tuple[str, ...], Case]:
    asked = understand(Query(question.text, WANTED, Filter(), asked_at=question.asked_at))
    vector = embedder.embed([asked.text])[0]
    whole = unit == "session"
    pool, reach = (sessions.SESSION_POOL, 0) if whole else (max(POOL, POOL_PER_WANTED * WANTED), REACH)
    candidates = gather(asked, vector, space=question.space, reader=store, pool=pool, reach=reach)
    by_name = sessions.session_signals(candidates, asked) if whole else signals(candidates, asked)
    keys = session_names(candidates) if whole else tuple(place.id for place in candidates.places)
    return tuple(by_name), Case(
        question.fold,
        keys,
        np.stack(list(by_name.values()), 1).astype(float),
        np.array([place for place, key in enumerate(keys) if key in question.gold], np.int64),
        question.gold,
    )


def session_names(candidates: PlacedCandidates) -> tuple[str, ...]:
    names = {int(code): place.session for code, place in zip(candidates.session, candidates.places, strict=True)}
    return tuple(names[code] for code in range(len(names)))


def with_rivals(case: Case, present: Matrix) -> Case:
    """Without the candidates that are far behind."""
    best = np.argsort(-(case.rows @ present))[:RIVALS]
    kept = np.union1d(best, case.right)
    return replace(case, rows=case.rows[kept], right=np.flatnonzero(np.isin(kept, case.right)))


class Padded:
    """The cases of one kind that have a right candidate, as arrays of one shape."""

    def __init__(self, kind: Sequence[Case], columns: Sequence[int], scale: Matrix) -> None:
        usable = [case for case in kind if len(case.right)]
        shape = len(usable), max(len(case.rows) for case in usable)
        self.rows: Rows = np.zeros((*shape, len(columns)), np.float32)
        self.right, self.there = np.zeros(shape, bool), np.zeros(shape, bool)
        for place, case in enumerate(usable):
            self.rows[place, : len(case.rows)] = case.rows[:, columns] / scale
            self.right[place, case.right] = True
            self.there[place, : len(case.rows)] = True

    def slope(self, weights: Matrix) -> Matrix:
        """Of the mean log of the share that the right candidates have of the softmax over all."""
        scores = np.where(self.there, self.rows @ weights.astype(np.float32), -np.inf)
        raised = np.exp(scores - scores.max(1, keepdims=True))
        likely = raised / raised.sum(1, keepdims=True)
        right = np.where(self.right, likely, 0)
        error = likely - right / np.maximum(right.sum(1, keepdims=True), 1e-12)
        found: Matrix = -np.einsum("qc,qcs->s", error, self.rows) / len(error)
        return found


def fit(kinds: Sequence[Sequence[Case]], columns: Sequence[int], present: Matrix) -> Matrix:
    """Listwise, among rivals; each kind counts the same, and the weights are held near the present ones."""
    kinds = [[with_rivals(case, present) for case in kind] for kind in kinds]
    spreads = [[case.rows[:, columns].var(0) for case in kind] for kind in kinds]
    scale = np.sqrt(np.mean([np.mean(each, axis=0) for each in spreads], axis=0)) + 1e-6
    padded = [Padded(kind, columns, scale) for kind in kinds]
    start = present[list(columns)] * scale
    weights, first, second = start.copy(), np.zeros(len(columns)), np.zeros(len(columns))
    for step in range(1, STEPS + 1):  # Adam, with steps that become smaller
        slope = DECAY * (weights - start) - np.mean([each.slope(weights) for each in padded], axis=0)
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        rate = RATE * min(1.0, 2 * (1 - step / STEPS) + 0.02)
        weights -= rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    found: Matrix = weights / scale
    return found


def validated(kinds: Sequence[Sequence[Case]], columns: Sequence[int], present: Matrix) -> list[dict[str, float]]:
    """For each kind, the mean metrics over its folds, each judged by weights that never saw it."""
    judgements: list[list[dict[str, float]]] = [[] for _ in kinds]
    for fold in range(FOLDS):
        weights = fit([[case for case in kind if case.fold != fold] for kind in kinds], columns, present)
        for place, kind in enumerate(kinds):
            judgements[place] += [judge(case, columns, weights) for case in kind if case.fold == fold and case.gold]
    return [means(each) for each in judgements]


def judge(case: Case, columns: Sequence[int], weights: Matrix) -> dict[str, float]:
    best = np.argsort(-(case.rows[:, columns] @ weights), kind="stable")[:WANTED]
    return score([case.keys[i] for i in best], case.gold)


def line(label: str, kind: str, metrics: Mapping[str, float]) -> str:
    return f"{label:28} {kind:12} " + "  ".join(f"{name} {metrics[name]:5.1f}" for name in SHOWN)


def ablation(names: Sequence[str], kinds: Mapping[str, Sequence[Case]], present: Matrix) -> Iterator[str]:
    every = list(range(len(names)))
    for kind, found in kinds.items():
        yield line("present weights", kind, means([judge(case, every, present) for case in found if case.gold]))
    for label, columns in [
        ("all", every),
        *((f"without {name}", [c for c in every if c != i]) for i, name in enumerate(names)),
    ]:
        for kind, metrics in zip(kinds, validated(list(kinds.values()), columns, present), strict=True):
            yield line(label, kind, metrics)


def report(names: Sequence[str], kinds: Mapping[str, Sequence[Case]], present: Matrix) -> None:
    for each in ablation(names, kinds, present):
        print(each, flush=True)
    weights = fit(list(kinds.values()), range(len(names)), present)
    print({name: round(float(weight), 2) for name, weight in zip(names, weights, strict=True)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("locomo", "beam", "longmemeval"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--notes", type=Path, nargs="*", default=[])
    parser.add_argument("--stores", type=Path, required=True, help="a folder where the filled stores are kept")
    parser.add_argument("--embedder", default="multilingual")
    given = parser.parse_args()
    given.stores.mkdir(parents=True, exist_ok=True)
    embedder = CachingEmbedder(make_embedder(Settings(embedder=given.embedder)))
    kinds: dict[str, Sequence[Case]] = {}
    names: tuple[str, ...] = ()
    for suite in ("locomo", "beam"):
        if file := getattr(given, suite):
            names, kinds[suite] = cases(asked_of_suite(load(suite, file), given.stores, embedder), "turn", embedder)
    if given.notes:
        names, kinds["notes"] = cases(asked_of_notes(given.notes, given.stores, embedder), "turn", embedder)
    if kinds:
        present = {**WEIGHTS, "meaning": CALIBRATIONS[embedder.identity].meaning}
        report(names, kinds, np.array([present[name] for name in names]))
    if given.longmemeval:
        pooled = load("longmemeval", given.longmemeval)
        names, found = cases(asked_of_suite(pooled, given.stores, embedder), "session", embedder)
        report(names, {"longmemeval": found}, np.array([sessions.WEIGHTS[name] for name in names]))


if __name__ == "__main__":
    main()
