"""nacre bench"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.command_line import CommandLine
from tests.datasets import BEAM, LOCOMO, LONGMEMEVAL, Json, written


def bench(suite: str, file: Path, *more: str) -> list[str]:
    return ["bench", "recall", "--suite", suite, "--data", str(file), *more]


@pytest.mark.parametrize(
    ("suite", "content", "n"), [("locomo", LOCOMO, 4), ("longmemeval", LONGMEMEVAL, 2), ("beam", BEAM, 2)]
)
def test_each_suite_is_measured_from_its_official_format(
    nacre: CommandLine, tmp_path: Path, suite: str, content: Json, n: int
) -> None:
    out = tmp_path / "report.json"
    result = nacre(*bench(suite, written(tmp_path, content, zipped=True), "--json", str(out)))
    assert result.exit_code == 0, result.output
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert [line[:3] for line in lines[:5]] == [
        [name, "all", str(n)] for name in ("default", "grep", "bm25", "vector", "rrf")
    ]
    assert all(len(line) == 9 for line in lines)
    assert f"{n} questions of {suite}" in result.stderr and "turns are remembered a second" in result.stderr
    report = json.loads(out.read_text("utf-8"))
    assert (report["suite"], report["n"], report["embedder"]) == (suite, n, "hashing-384")
    assert float(lines[0][3]) == report["metrics"]["default"]["any@5"]


def test_the_store_of_the_user_is_neither_made_nor_touched(nacre: CommandLine, tmp_path: Path) -> None:
    nacre.store.unlink()
    nacre.ok(*bench("locomo", written(tmp_path, LOCOMO)))
    assert not nacre.store.exists()


@pytest.mark.slow
def test_a_table_and_the_whole_report_can_be_had_too(nacre: CommandLine, tmp_path: Path) -> None:
    file = written(tmp_path, LONGMEMEVAL)
    table = nacre.ok(*bench("longmemeval", file, "--mode", "haystack", "-f", "table"))
    assert table.split()[:6] == ["ranker", "questions", "n", "any@5", "any@10", "recall@10"]
    report = nacre.json(*bench("longmemeval", file, "--mode", "haystack", "--limit", "1"))
    assert (report["mode"], report["n"]) == ("haystack", 1)


@pytest.mark.slow
def test_turns_of_longmemeval_and_sessions_of_locomo_can_be_asked_for(nacre: CommandLine, tmp_path: Path) -> None:
    assert nacre.json(*bench("locomo", written(tmp_path, LOCOMO), "--unit", "session"))["unit"] == "session"
    assert nacre.json(*bench("longmemeval", written(tmp_path, LONGMEMEVAL), "--unit", "turn"))["unit"] == "turn"


@pytest.mark.parametrize("content", ["a shopping list", BEAM, [], {"data": 1}])
def test_a_foreign_file_is_one_sentence_and_code_two(nacre: CommandLine, tmp_path: Path, content: Json) -> None:
    result = nacre(*bench("locomo", written(tmp_path, content)))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("nacre: ") and result.stderr.count("\n") == 1
    assert "is not a locomo dataset" in result.stderr


def test_a_missing_file_is_one_sentence_and_code_two(nacre: CommandLine, tmp_path: Path) -> None:
    result = nacre(*bench("beam", tmp_path / "absent.json"))
    assert result.exit_code == 2
    assert "cannot be read (No such file or directory)" in result.stderr and result.stderr.count("\n") == 1


def test_an_unknown_suite_names_the_nearest(nacre: CommandLine, tmp_path: Path) -> None:
    result = nacre(*bench("locomoo", tmp_path))
    assert result.exit_code == 2 and "did you mean 'locomo'?" in result.stderr


def test_a_report_that_cannot_be_written_is_reported_before_the_run(nacre: CommandLine, tmp_path: Path) -> None:
    result = nacre(*bench("locomo", tmp_path / "absent.json", "--json", str(tmp_path / "no" / "report.json")))
    assert result.exit_code == 2 and "make it first" in result.stderr


@pytest.mark.parametrize("suite", ["recall", "conflicts"])
def test_a_report_file_that_is_read_only_is_reported_before_the_run(
    nacre: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suite: str
) -> None:
    report = tmp_path / "report.json"
    report.touch()
    # Not by its mode: for root every file is writable.
    monkeypatch.setattr(os, "access", lambda _path, mode, **_: mode != os.W_OK)
    named = ["--suite", "locomo"] if suite == "recall" else []
    result = nacre("bench", suite, *named, "--data", str(tmp_path / "absent.json"), "--json", str(report))
    assert result.exit_code == 2 and "'--json'" in result.stderr and "is not writable" in result.stderr
