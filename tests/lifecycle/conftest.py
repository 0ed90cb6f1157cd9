"""A store under a clock that a test turns, on every backend."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre import MemoryStore
from tests.lifecycle.aged import Turned
from tests.lifecycle.placed import Angles, opened
from tests.prepared_stores import empty_store


@pytest.fixture
def clock() -> Turned:
    return Turned()


@pytest.fixture
def embedder() -> Angles:
    return Angles()


@pytest.fixture(params=["sqlite", pytest.param("in_memory", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Turned, embedder: Angles) -> Iterator[MemoryStore]:
    with opened(empty_store(tmp_path / "s.db") if request.param == "sqlite" else ":memory:", clock, embedder) as found:
        yield found
