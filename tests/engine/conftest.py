"""A store with a clock that a test turns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre import MemoryStore
from tests.embedders import Moody
from tests.prepared_stores import empty_store


class Ticking:
    """Each look at it is a second later."""

    def __init__(self, at: float = 1_000_000.0) -> None:
        self.at = at

    def __call__(self) -> float:
        self.at += 1.0
        return self.at


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def embedder() -> Moody:
    return Moody()


@pytest.fixture(params=["sqlite", pytest.param("in_memory", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Ticking, embedder: Moody) -> Iterator[MemoryStore]:
    place = empty_store(tmp_path / "s.db") if request.param == "sqlite" else ":memory:"
    with MemoryStore(place, embedder=embedder, clock=clock, actor="tester") as opened:
        yield opened
