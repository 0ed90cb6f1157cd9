"""Many processes on one file: no error, and nothing that was acknowledged is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.torture.crowd import at_once
from tests.torture.workers import create, missing, opened, write_and_recall

WRITERS = 8
CREATORS = 6
NEW_STORES = 6
VERIFIERS = 2


def check_writers_lose_nothing(path: str, seconds: float) -> None:
    made = at_once([(write_and_recall, (path, seed, seconds)) for seed in range(WRITERS)])
    kept = [each for part in made for each in part]

    assert at_once([(missing, (path, kept[part::VERIFIERS])) for part in range(VERIFIERS)]) == [[]] * VERIFIERS
    with opened(path) as store:
        health = store.health(thorough=True)
        assert store.count() == health.memories == len(kept)
        assert len(store.journal(limit=None)) == len(kept)
        assert (health.problems, health.pending) == ((), 0)


@pytest.mark.slow
def test_eight_processes_write_and_recall_on_one_file_without_an_error_or_a_lost_memory(tmp_path: Path) -> None:
    check_writers_lose_nothing(str(tmp_path / "memory.db"), seconds=5)


@pytest.mark.slow
def test_eight_processes_go_on_for_a_minute_without_an_error_or_a_lost_memory(tmp_path: Path) -> None:
    check_writers_lose_nothing(str(tmp_path / "memory.db"), seconds=60)


@pytest.mark.slow
def test_processes_that_create_the_same_new_store_at_once_all_succeed(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"new-{number}" / "memory.db") for number in range(NEW_STORES)]

    made = at_once([(create, (paths,))] * CREATORS)

    for path, kept in zip(paths, zip(*made, strict=True), strict=True):
        assert missing(path, kept) == []
        with opened(path) as store:
            assert store.count() == CREATORS
            assert store.health(thorough=True).problems == ()
