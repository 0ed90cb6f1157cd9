"""Every part of what the four older systems could do is held by a test: none is forgotten, none is invented."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
# How many things each part asks for, system by system.
PARTS = {
    "ai_houkai": {
        "H1": 12, "H2": 14, "H3": 9, "H4": 8, "H5": 7, "H6": 14, "H7": 3, "H8": 7, "H9": 8, "H10": 5, "H11": 13,
        "H12": 7, "H13": 10, "H14": 7, "H15": 5, "H16": 7, "H17": 16, "H18": 10, "H19": 3, "H20": 24,
    },
    "mnemosyne": {
        "M1": 2, "M2": 4, "M3": 8, "M4": 4, "M5": 10, "M6": 2, "M7": 13, "M8": 7, "M9": 1, "M10": 5,
    },
    "amplihack_memory": {
        "A1": 2, "A2": 18, "A3": 4, "A4": 12, "A5": 9, "A6": 3, "A7": 4, "A8": 1, "A9": 1, "A10": 4, "A11": 3,
        "A12": 1,
    },
    "ai_lessons": {"L1": 7, "L2": 4, "L3": 11, "L4": 4, "L5": 5, "L6": 6, "L7": 8, "L8": 20, "L9": 6},
}  # fmt: skip
ITEMS = {part: count for parts in PARTS.values() for part, count in parts.items()}
ITEM = re.compile(r"(?P<part>[HMAL]\d+)(?:\.(?P<number>\d+))?")


def accepted(text: str) -> Iterator[str]:
    """What the marks in a file name: a part, or a thing in it by its number."""
    if "accepts" not in text:  # most files have none, and need not be parsed
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "accepts":
            for argument in node.args:
                assert isinstance(argument, ast.Constant) and isinstance(argument.value, str), ast.unparse(node)
                yield argument.value


def exists(name: str) -> bool:
    result = ITEM.fullmatch(name)
    return bool(result and result["part"] in ITEMS and 1 <= int(result["number"] or 1) <= ITEMS[result["part"]])


@pytest.fixture(scope="module")
def named() -> dict[Path, list[str]]:
    files = (file for file in TESTS.rglob("test_*.py") if file != Path(__file__))
    return {file: list(accepted(file.read_text("utf-8"))) for file in files}


@pytest.mark.parametrize("part", ITEMS)
def test_every_thing_that_a_part_asks_for_has_a_test(named: dict[Path, list[str]], part: str) -> None:
    tested = Counter(name for names in named.values() for name in names)
    missing = [item for number in range(1, ITEMS[part] + 1) if not tested[item := f"{part}.{number}"]]
    assert missing == [], "no test is marked with these"


@pytest.mark.parametrize("system", PARTS)
def test_every_system_has_a_suite_in_its_own_words(named: dict[Path, list[str]], system: str) -> None:
    own = {name.partition(".")[0] for file, names in named.items() if system in file.parts for name in names}
    assert len(own & {*PARTS[system]}) >= len(PARTS[system]) / 2, f"tests/compat/{system} says little of {system}"


def test_no_test_claims_an_unknown_acceptance_line(named: dict[Path, list[str]]) -> None:
    wrong = {file.name: names for file in named if (names := [each for each in named[file] if not exists(each)])}
    assert wrong == {}


def test_a_mark_that_names_nothing_would_be_noticed() -> None:
    marks = "@pytest.mark.accepts('H4', 'L3.2')\ndef test_it() -> None: ...\npytestmark = pytest.mark.accepts('A1')"
    assert sorted(accepted(marks)) == ["A1", "H4", "L3.2"]
    assert exists("H4") and exists("L3.11") and not any(map(exists, ("L3.12", "L10", "X1", "h4", "L3.0")))


def test_there_are_as_many_things_as_were_counted() -> None:
    assert len(ITEMS) == 51 and sum(ITEMS.values()) == 378
