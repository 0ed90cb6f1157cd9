"""Files and functions stay small; there is no list of exceptions."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
CHECKED = [*SOURCES, *sorted((ROOT / "tests").rglob("*.py"))]
LONGEST_FILE = 400
LONGEST_FUNCTION = 50
FORBIDDEN = {"utils", "util", "helpers", "helper", "base", "manager", "common", "misc"}


def name(file: Path) -> str:
    return str(file.relative_to(ROOT))


def test_there_is_something_to_measure() -> None:
    assert len(SOURCES) > 40


@pytest.mark.parametrize("file", CHECKED, ids=name)
def test_no_file_is_longer_than_400_lines(file: Path) -> None:
    assert len(file.read_text("utf-8").splitlines()) <= LONGEST_FILE


@pytest.mark.parametrize("file", CHECKED, ids=name)
def test_no_function_is_longer_than_50_lines(file: Path) -> None:
    functions = (
        n for n in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    long = {
        f.name: f.end_lineno - f.lineno + 1
        for f in functions
        if f.end_lineno and f.end_lineno - f.lineno >= LONGEST_FUNCTION
    }
    assert long == {}


@pytest.mark.parametrize("file", SOURCES, ids=name)
def test_every_module_says_in_its_first_line_what_it_is_for(file: Path) -> None:
    told = ast.get_docstring(ast.parse(file.read_text("utf-8")))
    assert told
    assert told.splitlines()[0].strip()


@pytest.mark.parametrize("file", SOURCES, ids=name)
def test_no_module_hides_behind_a_name_that_says_nothing(file: Path) -> None:
    parts = file.relative_to(ROOT / "src").with_suffix("").parts
    assert not FORBIDDEN & set(parts)
