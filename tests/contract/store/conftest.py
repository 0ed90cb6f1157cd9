"""Every backend that a Store can have; a new one is added here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from nacre.ports import Store
from nacre.storage.in_memory import InMemoryStore
from nacre.storage.sqlite import SQLiteStore

BACKENDS: Mapping[str, Callable[[Path], Store]] = {
    "sqlite": lambda folder: SQLiteStore(folder / "store.db"),
    "in_memory": lambda _: InMemoryStore(),
}


@pytest.fixture(params=BACKENDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = BACKENDS[request.param](tmp_path)
    yield opened
    opened.close()
