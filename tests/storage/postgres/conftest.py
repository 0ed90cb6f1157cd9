"""A store in the database of this process, empty."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests import postgres_server

if TYPE_CHECKING:
    from nacre.storage.postgres import PostgresBackend


@pytest.fixture
def address() -> str:
    return postgres_server.empty_database()


@pytest.fixture
def store(address: str) -> Iterator[PostgresBackend]:
    from nacre.storage.postgres import PostgresBackend

    opened = PostgresBackend(address)
    yield opened
    opened.close()
