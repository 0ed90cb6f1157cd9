"""Fits the weights by which the judge weighs evidence, with cross-validation over the pairs.

The printed numbers are copied by hand into `src/nacre/remember/weighing.py`, where each has its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conflicts import CONFLICTS, PAIRS, Alike, Pair, phrase_similarity, read
from nacre.conflicts.evidence import SPEAKING_FOR, evidence
from nacre.conflicts.frames import frame
from nacre.conflicts.judge import APART, SAME_TEXT, Case, by_labels, by_rules, comparable
from nacre.conflicts.statements import statement
from nacre.model.memory import Memory
from nacre.models.shipped_embedder import ShippedEmbedder
from texts import memories

SETS = ("development", "training_1", "training_2")  # never the held-out one
FOLDS, SHUFFLES = 10, 5
DECAY = 30.0  # on weights of evidence brought to one spread; 10 to 60 give the same within a point
BYSTANDERS = 150  # pairs; more would make the judge one for their seven sentences
OPENING = 12  # letters that tell one form from another
STEPS = 25  # of Newton's method; ten suffice
NOTED_PRECISION = 0.90
MARGIN = 0.5  # above the paraphrase that most looks like a conflict; there are others that these sets do not have
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    told: dict[str, float]
    label: str
    ruled: bool  # whether a rule saw a conflict
    weighed: bool  # whether the judge comes to weigh the pair at all


def rows(pairs: Sequence[Pair], alike: Alike) -> list[Row]:
    found = []
    for pair in pairs:
        case = case_of(pair, alike)
        verdict = by_rules(case)
        rule = verdict.reason if verdict and verdict.kind in CONFLICTS else ""
        told = evidence(case.frame, pair.similarity, rule)
        unruled = comparable(case) and any(told[name] for name in SPEAKING_FOR)
        weighed = verdict is not APART and not by_labels(case) and (bool(rule) or unruled)
        found.append(Row(told, pair.label, bool(rule), weighed))
    return found


def bystanders() -> list[Pair]:
    """Made-up memories beside their nearest of another form: a store is full of them, the sets have hardly any."""
    given = memories(BYSTANDERS, seed=1)
    vectors = ShippedEmbedder().embed(given)
    cosines = vectors @ vectors.T
    opening = [" ".join(word for word in text.split() if word[0].islower())[:OPENING] for text in given]
    found = []
    for place, text in enumerate(given):
        nearest = next(int(n) for n in np.argsort(-cosines[place]) if opening[n] != opening[place])
        similarity = float(cosines[place, nearest])
        found.append(Pair(Memory("old", given[nearest]), Memory("new", text), "unrelated", similarity))
    return found


def case_of(pair: Pair, alike: Alike | None) -> Case:
    seen = frame(statement(pair.new.text), statement(pair.old.text))
    return Case(pair.new, pair.old, pair.similarity, SAME_TEXT, alike, seen)


def fitted(table: Matrix, truth: Matrix) -> tuple[float, Matrix]:
    """Logistic regression: the intercept, and a weight for each kind of evidence on its own scale."""
    middle, spread = table.mean(0), table.std(0) + 1e-6
    scaled = np.column_stack([np.ones(len(table)), (table - middle) / spread])
    decay = DECAY * np.eye(scaled.shape[1])
    decay[0, 0] = 1e-6
    found = np.zeros(scaled.shape[1])
    for _ in range(STEPS):
        likely = 1 / (1 + np.exp(-scaled @ found))
        curve = (scaled * (likely * (1 - likely))[:, None]).T @ scaled + decay
        found += np.linalg.solve(curve, scaled.T @ (truth - likely) - decay @ found)
    weights: Matrix = found[1:] / spread
    return float(found[0] - weights @ middle), weights


def out_of_fold(table: Matrix, truth: Matrix, seed: int, beside: Matrix) -> Matrix:
    """The score of each pair by weights that never saw it; `beside` holds the bystanders, which are not judged."""
    fold = np.random.default_rng(seed).permutation(len(truth)) % FOLDS
    scores = np.zeros(len(truth))
    for each in range(FOLDS):
        seen = np.vstack([table[fold != each], beside])
        intercept, weights = fitted(seen, np.append(truth[fold != each], np.zeros(len(beside))))
        scores[fold == each] = intercept + table[fold == each] @ weights
    return scores


def lowest_point(scores: Matrix, truth: Matrix) -> float:
    """The score above which precision is as wanted, and recall the highest."""
    order = np.argsort(-scores)
    precision = np.cumsum(truth[order]) / np.arange(1, len(order) + 1)
    return float(scores[order][np.flatnonzero(precision >= NOTED_PRECISION)[-1]])


def main() -> None:
    embedder = ShippedEmbedder()
    alike = phrase_similarity(embedder)
    whole = rows([pair for name in SETS for pair in read(PAIRS / f"{name}.jsonl", embedder)], alike)
    found = [row for row in whole if row.weighed]
    names = list(found[0].told)
    table, beside = tabled(found, names), tabled([row for row in rows(bystanders(), alike) if row.weighed], names)
    truth = np.array([row.label in CONFLICTS for row in found], float)
    scores = np.mean([out_of_fold(table, truth, seed, beside) for seed in range(SHUFFLES)], axis=0)
    noted, sure = report(found, scores, truth, sum(row.label in CONFLICTS for row in whole))
    intercept, weights = fitted(np.vstack([table, beside]), np.append(truth, np.zeros(len(beside))))
    print(f"NOTED = {noted:.2f}\nSURE = {sure:.2f}\nINTERCEPT = {intercept:.2f}\nWEIGHTS = {{")
    for name, weight in zip(names, weights, strict=True):
        print(f'    "{name}": {weight:.2f},')
    print("}")


def tabled(found: Sequence[Row], names: Sequence[str]) -> Matrix:
    return np.array([[row.told[name] for name in names] for row in found])


def report(found: Sequence[Row], scores: Matrix, truth: Matrix, wanted: int) -> tuple[float, float]:
    """Prints what the two points give out of fold; returns them. `wanted` counts the conflicts never weighed too."""
    ruled = np.array([row.ruled for row in found])
    repeated = np.array([row.label == "paraphrase" for row in found])
    noted, sure = lowest_point(scores, truth), float(scores[repeated & ruled].max()) + MARGIN
    for name, above in (("noted", scores >= noted), ("sure", ruled & (scores > sure))):
        precision, recall = float(truth[above].mean()), float(truth[above].sum() / wanted)
        paraphrases = int(repeated[above].sum())
        print(f"{name}: out of fold precision {precision:.3f}, recall {recall:.3f}, paraphrases {paraphrases}")
    return noted, sure


if __name__ == "__main__":
    main()
