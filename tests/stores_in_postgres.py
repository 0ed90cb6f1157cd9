"""Lets tests that name files, or no lasting store at all, use databases of a real PostgreSQL server instead."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from itertools import count
from pathlib import Path
from threading import RLock
from typing import Any

import pytest

from nacre import factory
from nacre.protocols import Backend
from nacre.settings import Settings
from tests import postgres_server

PLACES = ["files", pytest.param("postgres", marks=pytest.mark.slow)]  # of `stored_in`
OPENERS = ("nacre.factory", "nacre.lifecycle.doctor", "nacre.transfer.migrate")  # where `open_backend` is looked up


class Databases:
    """Opens a database for each path that a test names, and a new one for each store that is kept nowhere."""

    def __init__(self) -> None:
        self.opened = 0
        self._by_path: dict[str, str] = {}
        self._in_use: set[str] = set()
        self._backends: list[Backend] = []
        self._open_backend = factory.open_backend
        self._lock = RLock()  # a server opens its store in the background, perhaps while the test ends

    def open(self, path: Path | str, settings: Settings | None = None) -> Backend:
        self.opened += 1
        if factory.is_database(path):
            return self._open_backend(path, settings)
        with self._lock:
            return self._open(path, settings)

    def _open(self, path: Path | str, settings: Settings | None) -> Backend:
        name = str(path)
        kept = name != factory.IN_MEMORY
        address = self._by_path.get(name) or self._next()
        if kept:
            self._by_path[name] = address
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).touch()  # who looks whether his file is still there would otherwise open it again each time
        self._in_use.add(address)
        backend: Any = self._open_backend(address, settings)
        self._backends.append(backend)
        if not kept:
            self._release_when_closed(backend, address)
        return backend  # type: ignore[no-any-return]

    def address(self, path: Path | str) -> str:
        """The database of a path, for processes of their own."""
        self.opened += 1
        with self._lock:
            return self._by_path.setdefault(str(path), self._next())

    def close(self) -> None:
        """Also what a test left open: a file needs no closing, and psycopg warns of an open connection."""
        import psycopg

        with self._lock:
            for backend in self._backends:
                backend.close()
        with (
            self._lock,
            psycopg.connect(postgres_server.server(), autocommit=True) as connection,
        ):  # what nobody closes adds up
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE usename = %s AND starts_with(datname, %s)",
                (postgres_server.ROLE, f"nacre_{os.getpid()}_store"),
            )

    def _next(self) -> str:
        for number in count():
            address = postgres_server.database(f"_store{number}")
            if address not in self._in_use:
                self._in_use.add(address)
                return postgres_server.empty_database(f"_store{number}")
        raise AssertionError("unreachable")

    def _release_when_closed(self, backend: Any, address: str) -> None:
        close = backend.close

        def closed() -> None:
            close()
            self._in_use.discard(address)

        backend.close = closed


def redirected(monkeypatch: pytest.MonkeyPatch) -> Databases:
    databases = Databases()
    for module in OPENERS:
        import_module(module)  # before any is changed: one that is imported later would keep the changed function
    for module in OPENERS:
        monkeypatch.setattr(f"{module}.open_backend", databases.open)
    return databases


@pytest.fixture(params=PLACES)
def stored_in(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where the stores of a test are kept. A test that opens none says nothing about a database, and is skipped."""
    if request.param == "files":
        yield "files"
        return
    databases = redirected(monkeypatch)
    if "nacre" in request.fixturenames:  # the command line, also in processes of its own
        monkeypatch.setenv("NACRE_STORE", databases.address(request.getfixturevalue("nacre").store))
    yield "postgres"
    databases.close()
    if not databases.opened:
        pytest.skip("This test opens no store, and passed.")
