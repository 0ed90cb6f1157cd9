"""A mind of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.minds.cognitive import CognitiveMemory
from tests.minds.cognitive_factory import Watch, mind_at
from tests.prepared_stores import empty_store


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture(params=[pytest.param("memory", marks=pytest.mark.slow), "file"])
def mind(request: pytest.FixtureRequest, tmp_path: Path, watch: Watch) -> Iterator[CognitiveMemory]:
    made = mind_at(":memory:" if request.param == "memory" else empty_store(tmp_path / "mind.db"), watch)
    yield made
    made.store.close()
