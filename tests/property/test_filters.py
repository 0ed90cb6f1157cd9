"""A filter means in SQL what it means in Python."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.model import Filter, Memory
from nacre.protocols import Backend
from nacre.storage.sqlite import SQLiteBackend
from tests import postgres_server
from tests.property.strategies import filters, from_memory, memories
from tests.samples import listed, put, writing

SPACE = "here"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    opened = SQLiteBackend(tmp_path_factory.mktemp("filters") / Path("store.db"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def database() -> Iterator[Backend]:
    address = postgres_server.empty_database()
    from nacre.storage.postgres import PostgresBackend

    opened = PostgresBackend(address)
    yield opened
    opened.close()


def fill(store: Backend, several: list[Memory]) -> None:
    with writing(store) as transaction:
        for found in listed(store, SPACE):
            transaction.remove(SPACE, found.id)
    put(store, *several)


@pytest.mark.slow
@settings(max_examples=settings().max_examples)
@given(
    several=st.tuples(*(memories(id) for id in ("m1", "m2", "m3", "m4"))),
    asked=st.lists(filters, min_size=10, max_size=20),
)
def test_sqlite_admits_what_the_filter_admits(store: Backend, several: tuple[Memory, ...], asked: list[Filter]) -> None:
    check(store, several, asked)


@pytest.mark.slow
@given(
    several=st.tuples(*(memories(id) for id in ("m1", "m2", "m3", "m4"))),
    asked=st.lists(filters, min_size=10, max_size=20),
)
def test_postgresql_admits_what_the_filter_admits(
    database: Backend, several: tuple[Memory, ...], asked: list[Filter]
) -> None:
    check(database, several, asked)


@pytest.mark.slow
@given(several=st.tuples(*(memories(id) for id in ("m1", "m2", "m3"))))
def test_postgresql_agrees_on_conditions_made_from_the_values_themselves(
    database: Backend, several: tuple[Memory, ...]
) -> None:
    check(database, several, [Filter((condition,)) for condition in from_memory(several[0])])


def check(store: Backend, several: tuple[Memory, ...], asked: list[Filter]) -> None:
    fill(store, list(several))
    for where in asked:
        expected = [memory.id for memory in several if where.admits(memory)]
        assert sorted(found.id for found in listed(store, SPACE, where)) == expected, where


@pytest.mark.slow
@given(several=st.tuples(*(memories(id) for id in ("m1", "m2", "m3"))))
def test_sqlite_agrees_on_conditions_made_from_the_values_themselves(
    store: Backend, several: tuple[Memory, ...]
) -> None:
    check(store, several, [Filter((condition,)) for condition in from_memory(several[0])])
