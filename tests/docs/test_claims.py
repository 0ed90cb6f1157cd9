"""The figures of the README are those of the result files, and docs/claims.md says where each comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
CLAIMS = (ROOT / "docs" / "claims.md").read_text("utf-8")
TABLES = {"What recall finds": "benchmarks/RECALL.md", "Beside other memories": "benchmarks/PEERS.md"}
SENTENCES, TESTS = "Figures in sentences", "What tests show"
HEADING = re.compile(r"#{1,6} (.*)")
RULE = re.compile(r"[|:\s-]+")
FIGURE = re.compile(r"\d+\.\d")


def cells(line: str) -> list[str]:
    return [each.strip().strip("*").strip() for each in line.strip().strip("|").split("|")]


def tables(text: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Each table with the heading above it; a row is named by the first column, under the empty name or its own."""
    heading, table = "", list[list[str]]()
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            table += [] if RULE.fullmatch(line) else [cells(line)]
            continue
        if table:
            yield heading, [dict(zip(table[0], row, strict=False)) for row in table[1:]]
            table = []
        if match := HEADING.match(line):
            heading = match[1].strip()


def rows(section: str) -> list[dict[str, str]]:
    return [row for heading, table in tables(CLAIMS) if heading == section for row in table]


def measured(file: str, section: str, row: str, column: str) -> list[str]:
    """What the first table of the section that has the row says."""
    assert (ROOT / file).is_file(), file
    for heading, table in tables((ROOT / file).read_text("utf-8")):
        for each in table if heading == section else ():
            if next(iter(each.values())) == row and column in each:
                return FIGURE.findall(each[column])
    return []


IN_TABLES = [(section, row) for section in TABLES for row in rows(section)]


@pytest.mark.parametrize(("section", "row"), IN_TABLES)
def test_a_figure_of_the_readme_is_the_one_that_was_measured(section: str, row: dict[str, str]) -> None:
    names = ("section of the result file", "row", "column there")
    assert measured(TABLES[section], *(row[name] for name in names))[:1] == [row["figure"]]
    shown = [
        each[row["column"]]
        for _, table in tables(README)
        for each in table
        if next(iter(each.values())) == row["row of the README"] and row["column"] in each
    ]
    assert shown == [row["figure"]], "README and docs/claims.md differ"
    assert row["command"] and re.fullmatch(r"\d{4}-\d\d-\d\d", row["date"])


def test_no_figure_of_the_readme_is_without_its_place() -> None:
    shown = {
        (next(iter(row.values())), column)
        for _, table in tables(README)
        for row in table
        for column, value in list(row.items())[1:]
        if FIGURE.fullmatch(value)
    }
    assert shown == {(row["row of the README"], row["column"]) for _, row in IN_TABLES} and len(shown) > 30


@pytest.mark.parametrize("row", rows(SENTENCES))
def test_a_figure_in_a_sentence_is_the_one_that_was_measured(row: dict[str, str]) -> None:
    names = ("section of the result file", "row", "column there")
    found = measured(row["result file"].strip("`"), *(row[name] for name in names))
    assert found[:1] == [row["figure"]]
    said = " ".join(README.split())
    assert row["the README says"] in said
    if row["figure"] not in row["the README says"]:  # "some tens of milliseconds"
        assert "tens of" in row["the README says"] and 10 <= float(row["figure"]) < 100


@pytest.mark.parametrize("row", rows(TESTS))
def test_what_else_is_claimed_has_its_test(row: dict[str, str]) -> None:
    assert row["the README says"] in " ".join(README.split())
    assert (ROOT / row["shown by"].strip("`")).is_file()
