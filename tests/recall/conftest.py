"""A store whose time stands still, on each backend."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre import MemoryStore
from tests.embedders import Moody
from tests.prepared_stores import empty_store
from tests.recall.factories import NOW


@pytest.fixture(params=["sqlite", pytest.param("in_memory", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    place = empty_store(tmp_path / "s.db") if request.param == "sqlite" else ":memory:"
    with MemoryStore(place, embedder=Moody(256), clock=lambda: NOW) as opened:
        yield opened
