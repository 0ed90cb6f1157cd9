"""Fits when a newer version of a fact stands above the older one: the numbers of `nacre.recall.versions`.

python benchmarks/fit_newer_first.py NOTES… [--measure NOTES…]

NOTES are as for `nacre bench recall`. Each question is asked with time to read; wherever a recall has to decide between
two versions of which exactly one answers, it is written down how likely the newer is a version of the older, how both
scored, and what the reader said of both. A logistic regression on these says how likely the newer one answers. Of each
set those where the newer answers and those where the older does count the same, so that a set about changes alone does
not teach that the newer always wins. The printed shares are of sets that the numbers have not seen: of the newer ones
that answer those that would stand above, and of the older ones that answer those that would stay above.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from math import log
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nacre import MemoryStore
from nacre.bench.notes import Asked, World, load_notes
from nacre.factory import make_embedder
from nacre.model import Hit
from nacre.models.calibration import Reading
from nacre.recall import versions
from nacre.settings import Settings

READ_ALL = 1_000_000.0  # milliseconds
HELD = 0.01  # how strongly the regression holds its numbers at 0
STEPS = 60
COLUMNS = {"not read": (0, 1, 2), "read": (0, 1, 2, 3)}
NUMBERS = ("constant", "of version", "of scores", "of readings")
Matrix = NDArray[np.float64]


class Decision(NamedTuple):
    source: str
    features: tuple[float, ...]  # 1, log odds of a version, logarithm of the scores' ratio, difference of the readings
    newer_answers: bool


def decisions(path: Path) -> list[Decision]:
    notes, settings = load_notes(path), replace(Settings(), embedder="multilingual", rerank_ms=READ_ALL)
    embedder = make_embedder(settings)
    world = World(
        notes,
        lambda clock: MemoryStore(":memory:", embedder=embedder, clock=clock, settings=settings),
        lambda *_: None,
    )
    found: list[Decision] = []
    asked: list[Asked] = []
    decide = versions.chance_of_newer

    def record(version: versions.Version, newer: Hit, older: Hit, readings: Mapping[str, Reading]) -> float:
        answers = [key in asked[-1].answers for key in world.keys(asked[-1], [(newer.memory.id,), (older.memory.id,)])]
        read = readings.get(newer.memory.id), readings.get(older.memory.id)
        if answers[0] != answers[1] and older.score > 0 and read[0] is not None and read[1] is not None:
            likely = min(versions.MOST_LIKELY, max(versions.LEAST_LIKELY, version.likely))
            scores = log(max(newer.score / older.score, versions.LEAST_SHARE))
            features = 1.0, log(likely / (1 - likely)), scores, read[0].log_odds - read[1].log_odds
            found.append(Decision(path.name, features, answers[0]))
        return decide(version, newer, older, readings)

    versions.chance_of_newer = record
    try:
        for question in notes.questions:
            asked.append(question)
            world.ask(question)
    finally:
        versions.chance_of_newer = decide
        world.store.close()
    return found


def fitted(rows: list[Decision], columns: tuple[int, ...]) -> Matrix:
    counts = Counter((row.source, row.newer_answers) for row in rows)
    weights = np.array([50 / counts[row.source, row.newer_answers] for row in rows])
    features = np.array([row.features for row in rows])[:, columns]
    answers = np.array([row.newer_answers for row in rows], float)
    numbers = np.zeros(len(columns))
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-features @ numbers))
        slope = features.T @ (weights * (chance - answers)) + HELD * numbers
        curve = (features * (weights * chance * (1 - chance))[:, None]).T @ features + HELD * np.eye(len(columns))
        numbers -= np.linalg.solve(curve, slope)
    return numbers


def shares(rows: list[Decision], numbers: Matrix, columns: tuple[int, ...]) -> tuple[float, float]:
    above = np.array([row.features for row in rows])[:, columns] @ numbers > 0
    answers = np.array([row.newer_answers for row in rows])
    return float(above[answers].mean()), float((~above[~answers]).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notes", type=Path, nargs="+")
    parser.add_argument("--measure", type=Path, nargs="*", default=[])
    given = parser.parse_args()
    os.environ["NACRE_RERANK_MS"] = str(READ_ALL)
    learned = {path.name: decisions(path) for path in given.notes}
    measured = {path.name: decisions(path) for path in given.measure}
    for name, columns in COLUMNS.items():
        everything = [row for rows in learned.values() for row in rows]
        numbers = fitted(everything, columns)
        print(name, dict(zip(NUMBERS, np.round(numbers, 2).tolist(), strict=False)))
        for source, rows in (learned | measured).items():
            unseen = fitted([row for row in everything if row.source != source], columns)
            newer, older = shares(rows, unseen, columns)
            print(f"  {source}: {len(rows)} decisions, newer above {newer:.2f}, older above {older:.2f}")


if __name__ == "__main__":
    main()
