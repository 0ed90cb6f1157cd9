"""Fits how likely a memory is a newer version of the older one that it resembles most (`conflicts/judge.py`).

    python benchmarks/fit_versions.py training/notes/author12 training/notes/author19 --measure NOTES…

Learns from notes whose chains are complete, and which the relation head has not learned from: each note beside the most
alike older one of its project, and whether both are versions of one fact. Prints the weights, and for each author, by
weights that learned from the others, and for each folder to measure, the average precision and how many of the linked
pairs are versions.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nacre.bench.notes import Notes, load_notes
from nacre.conflicts.candidates import LEAST_ALIKE, POSSIBLE
from nacre.conflicts.judge import log_odds
from nacre.factory import make_embedder
from nacre.models.cross_encoder import ShippedConflictModel
from nacre.protocols import Embedder
from nacre.settings import settings

Rows = NDArray[np.float64]
NAMES = ("constant", "head", "cosine")
STEPS = 50  # of Newton's method; it stands still after ten
RIDGE = 1.0  # keeps weights small where they decide nothing


class Pairs(NamedTuple):
    """A row for each pair, as NAMES says, and 1 for those that are versions of one fact."""

    rows: Rows
    versions: Rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("authors", nargs="+", type=Path)
    parser.add_argument("--measure", nargs="*", type=Path, default=[])
    given = parser.parse_args()
    embedder = make_embedder(settings())
    pairs = {folder: pairs_of(load_notes(folder), embedder) for folder in (*given.authors, *given.measure)}
    for folder, own in pairs.items():
        others = [pairs[each] for each in given.authors if each != folder]
        print(f"{folder.name}: {described(own, fitted(others))}")
    weights = fitted([pairs[each] for each in given.authors])
    print(", ".join(f"{name} {weight:.3f}" for name, weight in zip(NAMES, weights, strict=True)))


def pairs_of(notes: Notes, embedder: Embedder) -> Pairs:
    model, rows, versions = ShippedConflictModel(), [], []
    chains = notes.versions()
    for project in sorted({note.project for note in notes.memories}):
        own = [note for note in notes.memories if note.project == project]
        vectors = np.asarray(embedder.embed([note.text for note in own]))
        cosines = vectors @ vectors.T
        for at in range(1, len(own)):
            nearest = int(np.argmax(cosines[at, :at]))
            cosine = float(cosines[at, nearest])
            if cosine >= LEAST_ALIKE:
                (relation,) = model.relations([(own[nearest].text, own[at].text)])
                rows.append([1.0, log_odds(relation.version or 0.0), cosine])
                versions.append(float(own[nearest].id in chains.get((project, own[at].id), ())))
    return Pairs(np.array(rows), np.array(versions))


def fitted(learned_from: list[Pairs]) -> Rows:
    """The weights of a logistic regression, by Newton's method."""
    rows = np.concatenate([each.rows for each in learned_from])
    versions = np.concatenate([each.versions for each in learned_from])
    weights = np.zeros(len(NAMES))
    ridge = RIDGE * np.diag([0.0, *np.ones(len(NAMES) - 1)])
    for _ in range(STEPS):
        likely = probabilities(rows, weights)
        slope = rows.T @ (likely - versions) + ridge @ weights
        bend = (rows * (likely * (1 - likely))[:, None]).T @ rows + ridge
        weights -= np.linalg.solve(bend, slope)
    return weights


def probabilities(rows: Rows, weights: Rows) -> Rows:
    return np.asarray(1 / (1 + np.exp(-(rows @ weights))))


def described(pairs: Pairs, weights: Rows) -> str:
    likely = probabilities(pairs.rows, weights)
    linked, right = likely >= POSSIBLE, pairs.versions > 0
    return (
        f"{len(likely)} pairs, {int(right.sum())} versions, average precision {average_precision(right, likely):.3f};"
        f" {int(linked.sum())} linked, {int((linked & right).sum())} of them versions"
    )


def average_precision(right: NDArray[np.bool_], likely: Rows) -> float:
    ordered = right[np.argsort(-likely)]
    precision = np.cumsum(ordered) / np.arange(1, len(ordered) + 1)
    return float(precision[ordered].mean())


if __name__ == "__main__":
    main()
