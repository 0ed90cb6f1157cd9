"""Reading while others write without a pause: no error, and never a half of an operation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.torture.crowd import Call, at_once
from tests.torture.readers import prepare, read_all_the_while, write_without_pause

WRITERS = 2
READERS = 3


def check_readers_see_whole_operations(path: str, seconds: float) -> None:
    prepare(path)
    writers: list[Call[object]] = [(write_without_pause, (path, seed, seconds)) for seed in range(WRITERS)]
    readers: list[Call[object]] = [(read_all_the_while, (path, seconds)) for _ in range(READERS)]

    results = at_once([*writers, *readers])

    assert results[WRITERS:] == [[]] * READERS


@pytest.mark.slow
def test_readers_see_whole_operations_only_while_others_write(tmp_path: Path) -> None:
    check_readers_see_whole_operations(str(tmp_path / "memory.db"), seconds=1)


@pytest.mark.slow
def test_readers_see_whole_operations_only_for_half_a_minute_of_writing(tmp_path: Path) -> None:
    check_readers_see_whole_operations(str(tmp_path / "memory.db"), seconds=30)
