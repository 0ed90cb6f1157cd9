"""Measures how well the judge separates memories that contradict, replace or repeat each other from look-alikes."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from nacre.conflicts.judge import PairJudge
from nacre.errors import InvalidInput
from nacre.model import Memory
from nacre.model.review import Verdict
from nacre.protocols import Progress

LABELS = ("duplicate", "contradiction", "update", "unrelated")
CONFLICTS = ("contradiction", "update")
NONE = "unrelated"  # what the judge says by saying nothing
SAME = {"paraphrase": "duplicate"}
FORM = 'one JSON object a line: {"old": "…", "new": "…", "label": "update"}'


@dataclass(frozen=True, slots=True)
class LabelledPair:
    old: str
    new: str
    label: str


class Figures(TypedDict):
    """Of the verdicts that two memories conflict: how many are right, how many conflicts they find, and how many of
    those found are called by their kind; and how many pairs of each label are taken for a conflict. A share of nothing
    is None."""

    precision: float | None
    recall: float | None
    kind_right: float | None
    wrong: dict[str, int]


class ConflictReport(TypedDict):
    judge: str
    pairs: int
    noted: Figures
    sure: Figures
    label_right: float | None  # of all pairs
    confusion: dict[str, dict[str, int]]  # by label, how often each verdict is given
    ms_a_pair: float


def read_pairs(file: Path) -> list[LabelledPair]:
    """Raises `InvalidInput` that names the line."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{file} cannot be read ({error}); give a file with {FORM}.") from error
    pairs = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                row = json.loads(line)
                pair = LabelledPair(row["old"], row["new"], SAME.get(row["label"], row["label"]))
            except (ValueError, TypeError, KeyError) as error:
                raise InvalidInput(f"Line {number} of {file} is no pair; give {FORM}.") from error
            if pair.label not in LABELS or not isinstance(pair.old, str) or not isinstance(pair.new, str):
                raise InvalidInput(f"Line {number} of {file} has the label {pair.label!r}; use {', '.join(LABELS)}.")
            pairs.append(pair)
    if not pairs:
        raise InvalidInput(f"{file} holds no pairs; give {FORM}.")
    return pairs


def judge_pairs(pairs: Sequence[LabelledPair], judge: PairJudge, progress: Progress | None = None) -> ConflictReport:
    """Each pair by itself, as when the newer one is remembered. No cosine is given: what only likeness decides, as
    without a model, is not measured."""
    began, verdicts = time.process_time(), []
    for number, pair in enumerate(pairs):
        if progress is not None:
            progress(number, len(pairs), "judging pairs")
        (verdict,), notes = judge.verdicts(Memory("new", pair.new), [(Memory("old", pair.old), 0.0)])
        if notes:
            raise InvalidInput(notes[0])
        verdicts.append(verdict)
    took = 1e3 * (time.process_time() - began) / len(pairs)
    kinds = [verdict.kind if verdict else NONE for verdict in verdicts]
    counts = Counter((pair.label, kind) for pair, kind in zip(pairs, kinds, strict=True))
    return ConflictReport(
        judge=judge.model.identity if judge.model else "rules",
        pairs=len(pairs),
        noted=figures(pairs, verdicts),
        sure=figures(pairs, [verdict if verdict and verdict.sure else None for verdict in verdicts]),
        label_right=share(sum(counts[label, label] for label in LABELS), len(pairs)),
        confusion={label: {kind: counts[label, kind] for kind in LABELS} for label in LABELS},
        ms_a_pair=round(took, 2),
    )


def figures(pairs: Sequence[LabelledPair], verdicts: Sequence[Verdict | None]) -> Figures:
    seen = [
        (pair.label, verdict.kind)
        for pair, verdict in zip(pairs, verdicts, strict=True)
        if verdict and verdict.kind in CONFLICTS
    ]
    true = [(label, kind) for label, kind in seen if label in CONFLICTS]
    return Figures(
        precision=share(len(true), len(seen)),
        recall=share(len(true), sum(pair.label in CONFLICTS for pair in pairs)),
        kind_right=share(sum(label == kind for label, kind in true), len(true)),
        wrong=dict(Counter(label for label, _ in seen if label not in CONFLICTS)),
    )


def share(part: int, of: int) -> float | None:
    return round(part / of, 4) if of else None
