"""Every backend that a Store can have; a new one is added here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from nacre.protocols import Store
from nacre.storage.in_memory import InMemoryStore
from nacre.storage.sqlite import Key, SQLiteStore

KEY = Key("0f" * 32)

BACKENDS: Mapping[str, Callable[[Path], Store]] = {
    "sqlite": lambda folder: SQLiteStore(folder / "store.db"),
    "sqlite_encrypted": lambda folder: SQLiteStore(folder / "store.db", KEY),
    "in_memory": lambda _: InMemoryStore(),
}


@pytest.fixture
def key(request: pytest.FixtureRequest, store: Store) -> Key | None:  # noqa: ARG001
    """What a copy of the store opens with."""
    return KEY if "sqlite_encrypted" in request.node.name else None


@pytest.fixture(params=BACKENDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = BACKENDS[request.param](tmp_path)
    yield opened
    opened.close()
