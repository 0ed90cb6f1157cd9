"""Every backend that a Backend can have; a new one is added here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from nacre.protocols import Backend
from nacre.storage.in_memory import InMemoryBackend
from nacre.storage.sqlite import Key, SQLiteBackend
from tests import postgres_server
from tests.prepared_stores import store_at

KEY = Key("0f" * 32)


def in_postgres(folder: Path) -> Backend:
    """In a database of its own for a folder `to`, so that a test can have two."""
    address = postgres_server.empty_database("_to" if folder.name == "to" else "")  # skips where there is no server
    from nacre.storage.postgres import PostgresBackend

    return PostgresBackend(address)


BACKENDS: Mapping[str, Callable[[Path], Backend]] = {
    "sqlite": lambda folder: SQLiteBackend(store_at(folder / "store.db")),
    "sqlite_encrypted": lambda folder: SQLiteBackend(folder / "store.db", KEY),
    "in_memory": lambda _: InMemoryBackend(),
    "postgres": in_postgres,
}


@pytest.fixture
def key(request: pytest.FixtureRequest, store: Backend) -> Key | None:  # noqa: ARG001
    """What a copy of the store opens with."""
    return KEY if "sqlite_encrypted" in request.node.name else None


# Pages are encrypted by the library beneath: a law about a file holds for both kinds or for neither. In the fast set,
# row transfer and `tests/storage/sqlite/test_encryption.py` open encrypted files.
SLOW = ("sqlite_encrypted",)
PARAMS = [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in BACKENDS]


@pytest.fixture(params=PARAMS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    opened = BACKENDS[request.param](tmp_path)
    yield opened
    opened.close()
