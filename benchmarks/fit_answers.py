"""Chooses how much the answers head moves a hit, and what it says about relevance.

python benchmarks/fit_answers.py WEIGHTS_FOLDER NOTES… [--locomo FILE]    # then training/digests.py WEIGHTS_FOLDER

NOTES are as in `notes_recall.py`, and must not have been trained on; of LoCoMo every third question is asked. The
installed cross-encoder reads the best hits of each question. Printed is, for each set and weight, how often an answer
is first and among the first five; the weight is the one with the best mean of these shares over the sets. The figures
of relevance are those of a logistic curve over all hits that were read. To be run again for new weights.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nacre import MemoryStore
from nacre.bench.datasets import load_locomo
from nacre.models.calibration import logistic
from nacre.models.cross_encoder import MOST_READ, graph
from nacre.settings import Settings
from notes_recall import ask, read, seconds, world

DEPTH = 10
EVERY = 3
WEIGHTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0)
STEPS, RATE = 4000, 0.05


@dataclass(frozen=True, slots=True)
class Asked:
    """The hits of one question, best first; the first of them were read."""

    scores: Sequence[float]
    relevance: Sequence[float]
    right: Sequence[bool]
    read: Sequence[float]

    def first(self, weight: float, depth: int) -> bool:
        best = max(self.scores)
        moved = [score + weight * best * logistic(each) for score, each in zip(self.scores, self.read, strict=False)]
        order = [*np.argsort([-each for each in moved], kind="stable").tolist(), *range(len(moved), len(self.scores))]
        return any(self.right[place] for place in order[:depth])


def asked(store: MemoryStore, question: str, answers: Sequence[str], at: float | None) -> Iterator[Asked]:
    hits = store.recall(question, DEPTH, asked_at=at, touch=False, rerank=False)
    model = graph()
    scores = model.scores([model.pair(question, hit.memory.text) for hit in hits[:MOST_READ]], "answers")
    if hits:
        yield Asked(
            [hit.score for hit in hits],
            [hit.relevance for hit in hits],
            [hit.memory.id in answers for hit in hits],
            [float(score[0]) for (score,) in scores],
        )


def of_notes(path: Path) -> list[Asked]:
    notes, questions = read(path)
    with MemoryStore(":memory:", settings=Settings()) as store:
        list(ask(store, notes, []))
        return [
            each
            for row in questions
            for each in asked(store.in_space(world(row)), row["q"], row["answers"], seconds(row, "asked_at"))
        ]


def of_locomo(path: Path) -> list[Asked]:
    rows: list[Asked] = []
    for corpus in load_locomo(path).corpora:
        with MemoryStore(":memory:", settings=replace(Settings(), on_conflict="ignore")) as store:
            turns: list[dict[str, Any]] = [
                {"id": turn.key, "text": turn.text, "role": turn.role, "session": turn.session,
                 "position": turn.position, "occurred_at": turn.at}
                for turn in corpus.turns
            ]  # fmt: skip
            store.remember_many([{name: value for name, value in turn.items() if value is not None} for turn in turns])
            for question in corpus.questions[::EVERY]:
                rows += asked(store, question.text, [*question.gold], question.asked_at)
    return rows


def relevance_curve(rows: Sequence[Asked]) -> tuple[float, float]:
    """What is added to the log odds of relevance: a share of the head's score, and a constant."""
    read = np.array([each for row in rows for each in row.read])
    right = np.array([each for row in rows for each in row.right[: len(row.read)]])
    given = np.clip([each for row in rows for each in row.relevance[: len(row.read)]], 1e-6, 1 - 1e-6)
    odds, slope, shift = np.log(given / (1 - given)), 0.0, 0.0
    for _ in range(STEPS):
        error = 1 / (1 + np.exp(-(odds + slope * read + shift))) - right
        slope, shift = slope - RATE * float((error * read).mean()), shift - RATE * float(error.mean())
    return slope, shift


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("notes", type=Path, nargs="+")
    parser.add_argument("--locomo", type=Path)
    given = parser.parse_args()
    sets = {path.name: of_notes(path) for path in given.notes}
    if given.locomo:
        sets["locomo"] = of_locomo(given.locomo)
    totals = dict.fromkeys(WEIGHTS, 0.0)
    for name, rows in sets.items():
        for weight in WEIGHTS:
            shares = [float(np.mean([row.first(weight, depth) for row in rows])) for depth in (1, 5)]
            totals[weight] += sum(shares)
            print(f"{name}: weight {weight}: first {shares[0]:.1%}, among five {shares[1]:.1%}")
    slope, shift = relevance_curve([row for rows in sets.values() for row in rows])
    weight = max(totals, key=totals.__getitem__)
    fitted = {"weight": weight, "by_reading": round(slope, 2), "shift": round(shift, 2)}
    file = given.folder / "cross_encoder.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"answers": fitted}, indent=1) + "\n")
    print(fitted)


if __name__ == "__main__":
    main()
