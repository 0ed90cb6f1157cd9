"""Readers of the present and of the past beside writers, an importer, purges, undo and maintenance: every answer is
checked against what the writers noted."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.torture.crowd import Call, at_once
from tests.torture.modelled import import_with_notes, maintain, opened, read_and_check, write_with_notes

WRITERS, READERS = 2, 3


def everybody(path: str, seconds: float = 0.0) -> list[Call[object]]:
    """Each for so many rounds at least, and as long as the others are given."""
    writers = [f"writer-{number}" for number in range(WRITERS)]
    return [
        *((write_with_notes, (path, name, number, seconds, 30)) for number, name in enumerate(writers)),
        (import_with_notes, (path, "importer", WRITERS, seconds, 1)),
        (maintain, (path, "maintainer", seconds, 1)),
        *((read_and_check, (path, [*writers, "importer"], number, seconds, 15)) for number in range(READERS)),
    ]


def check_answers(path: str, results: list[object]) -> None:
    assert results[-READERS:] == [[]] * READERS
    with opened(path, "afterwards") as store:
        assert store.health(thorough=True).problems == ()


@pytest.mark.slow
def test_every_answer_beside_writers_is_one_that_the_store_could_give_then(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    opened(path, "first").close()
    calls = everybody(path)
    with ThreadPoolExecutor(len(calls)) as pool:
        results = list(pool.map(lambda call: call[0](*call[1]), calls))
    check_answers(path, results)


@pytest.mark.slow
def test_every_answer_of_a_minute_beside_writers_is_one_that_the_store_could_give_then(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    check_answers(path, at_once(everybody(path, seconds=60)))
