"""How the judge of conflicts is measured on labelled pairs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from nacre.bench.conflicts import LabelledPair, judge_pairs, read_pairs
from nacre.conflicts.judge import PairJudge
from nacre.errors import ConflictModelError, InvalidInput
from nacre.protocols import Relation
from tests.command_line import CommandLine

KINDS = ("duplicate", "contradiction", "update", "unrelated")


class ByName:
    """A conflict model that believes what the newer text says of itself; «perhaps» makes it unsure."""

    identity, noted, sure = "by name", 0.7, 0.95

    def relations(self, pairs: Sequence[tuple[str, str]]) -> list[Relation]:
        return [self.relation(newer) for _, newer in pairs]

    def relation(self, newer: str) -> Relation:
        high = 0.8 if "perhaps" in newer else 1.0
        return Relation(*(high if kind in newer else (1 - high) / 3 for kind in KINDS))


class Broken(ByName):
    def relation(self, newer: str) -> Relation:
        raise ConflictModelError(newer)


PAIRS = [
    LabelledPair("a", "an update", "update"),
    LabelledPair("a", "an update, perhaps", "contradiction"),
    LabelledPair("a", "a contradiction", "unrelated"),
    LabelledPair("a", "unrelated", "contradiction"),
    LabelledPair("a", "a duplicate", "duplicate"),
    LabelledPair("a", "a perhaps false update", "duplicate"),
]


def test_precision_recall_kinds_and_the_confusion_are_counted() -> None:
    report = judge_pairs(PAIRS, PairJudge(ByName()))
    assert (report["judge"], report["pairs"]) == ("by name", 6)
    assert report["noted"] == {
        "precision": 0.5,
        "recall": 0.6667,
        "kind_right": 0.5,
        "wrong": {"unrelated": 1, "duplicate": 1},
    }
    assert report["sure"] == {"precision": 0.5, "recall": 0.3333, "kind_right": 1.0, "wrong": {"unrelated": 1}}
    assert report["label_right"] == 0.3333
    assert report["confusion"]["contradiction"] == {"duplicate": 0, "contradiction": 0, "update": 1, "unrelated": 1}
    assert report["confusion"]["duplicate"] == {"duplicate": 1, "contradiction": 0, "update": 1, "unrelated": 0}


def test_a_judge_that_cannot_read_is_not_measured() -> None:
    with pytest.raises(InvalidInput, match="exact rules alone"):
        judge_pairs(PAIRS, PairJudge(Broken()))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no pairs"),
        ('{"old": "a", "new": "b", "label": "update"}\n{"old": 1}', "Line 2"),
        ('{"old": "a", "new": "b", "label": "quarrel"}', "the label 'quarrel'"),
        ("[]", "Line 1"),
        ('{"old": "a", "new": 2, "label": "update"}', "Line 1"),
    ],
)
def test_a_file_that_holds_no_pairs_is_refused_with_the_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=message):
        read_pairs(file)
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_pairs(tmp_path / "nothing.jsonl")


def test_the_command_prints_the_report_as_json_and_nothing_else(nacre: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    rows = [
        {"old": "Kim was born in Oslo", "new": "Kim was born in Lyon", "label": "contradiction"},
        {"old": "The office is in Berlin", "new": "Berlin is where the office is", "label": "paraphrase"},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    report = json.loads(nacre.ok("bench", "conflicts", "--data", str(file), "--json", "-"))
    assert report["noted"] == report["sure"] == {"precision": 1.0, "recall": 1.0, "kind_right": 1.0, "wrong": {}}
    assert report["confusion"]["duplicate"]["duplicate"] == 1
    table = nacre.ok("bench", "conflicts", "--data", str(file), "--json", str(tmp_path / "report.json"))
    assert table.splitlines()[0] == "label\tas duplicate\tas contradiction\tas update\tas unrelated"
    assert "contradiction\t0\t1\t0\t0" in table
    assert json.loads((tmp_path / "report.json").read_text("utf-8"))["pairs"] == 2


def test_what_is_a_share_of_nothing_is_undefined_and_not_0(nacre: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    pair = {"old": "The office is in Berlin", "new": "Anna likes tea", "label": "unrelated"}
    file.write_text(json.dumps(pair) + "\n", encoding="utf-8")
    report = json.loads(nacre.ok("bench", "conflicts", "--data", str(file), "--json", "-"))
    assert report["noted"] == {"precision": None, "recall": None, "kind_right": None, "wrong": {}}
    result = nacre("bench", "conflicts", "--data", str(file))
    assert "precision undefined" in result.stderr and "0.000" not in result.stdout + result.stderr
