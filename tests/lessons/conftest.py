from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.lessons import LessonBook
from tests.lessons.factories import open_book


@pytest.fixture(params=[pytest.param(":memory:", marks=pytest.mark.slow), "file"])
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LessonBook]:
    with open_book(request.param, tmp_path) as opened:
        yield opened
