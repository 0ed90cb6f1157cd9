"""Chooses the two points of the relation head: from which probability of a conflict on a verdict is noted, and from
which on it is sure.

python training/fit_points.py WEIGHTS_FOLDER PAIRS.jsonl …    # then python training/digests.py WEIGHTS_FOLDER

The pairs must not have been trained on. The figures are out of fold: each tenth is judged by points that were chosen on
the other nine. The points that are written are chosen on all.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nacre.bench.conflicts import CONFLICTS, read_pairs
from nacre.conflicts.judge import by_rules
from nacre.model import Memory
from nacre.models.cross_encoder import ShippedConflictModel

SEED, FOLDS = 20261116, 10
NOTED, SURE = 0.956, 0.985  # precision to choose by: wanted are 0.90 and 0.97, and new pairs are harder
LEAST = 0.5


@dataclass(frozen=True, slots=True)
class Scored:
    conflict: bool
    score: float


def scored(files: Sequence[Path]) -> list[Scored]:
    """Without what exact rules decide."""
    model, rows = ShippedConflictModel(), []
    for pair in (pair for file in files for pair in read_pairs(file)):
        if by_rules(Memory("new", pair.new), Memory("old", pair.old), 0.0) is None:
            (found,) = model.relations([(pair.old, pair.new)])
            rows.append(Scored(pair.label in CONFLICTS, found.conflict))
    return rows


def point(rows: Sequence[Scored], precision: float) -> float:
    """The lowest score from which at least this share are conflicts."""
    right, best = 0, 1.0
    for count, row in enumerate(sorted(rows, key=lambda row: -row.score), 1):
        right += row.conflict
        if right >= precision * count and row.score >= LEAST:
            best = row.score
    return best


def out_of_fold(rows: Sequence[Scored], precision: float, wanted: int) -> str:
    order = random.Random(SEED).sample(list(rows), len(rows))
    seen = [
        row.conflict
        for fold in range(FOLDS)
        for row in order[fold::FOLDS]
        if row.score >= point([each for at, each in enumerate(order) if at % FOLDS != fold], precision)
    ]
    return f"precision {sum(seen) / max(1, len(seen)):.3f}, recall {sum(seen) / wanted:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path)
    parser.add_argument("pairs", type=Path, nargs="+")
    given = parser.parse_args()
    rows = scored(given.pairs)
    wanted = sum(row.conflict for row in rows)
    points = {}
    for name, precision in (("noted", NOTED), ("sure", SURE)):
        points[name] = round(point(rows, precision), 3)
        print(f"{name} from {points[name]}; out of fold: {out_of_fold(rows, precision, wanted)}")
    file = given.weights / "cross_encoder.json"
    others = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps(others | {"relation": points}, indent=1) + "\n")


if __name__ == "__main__":
    main()
