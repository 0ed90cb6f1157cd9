"""The vectors of a large space are searched by an index, which finds what comparing all of them finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from nacre.model import Filter
from nacre.model.journal import Operation
from nacre.protocols import Change, Committed, EmbedderBound, EmbedderIdentity
from tests.samples import DIMENSIONS, SPACE, derived, memory, put

if TYPE_CHECKING:
    from nacre.protocols import Vectors
    from nacre.storage.postgres import PostgresBackend

COUNT, LARGE = 300, 100
ANYWHERE = Filter()
BOUND = EmbedderBound(EmbedderIdentity("tested", DIMENSIONS))


@pytest.fixture
def rows(store: PostgresBackend, monkeypatch: pytest.MonkeyPatch) -> Vectors:
    """Of a space that is large for this test, and of a small one beside it with the same vectors."""
    from nacre.storage.postgres import vector_index

    monkeypatch.setattr(vector_index, "LARGE", LARGE)
    made = np.random.default_rng(1).standard_normal((COUNT, DIMENSIONS)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    put(store, *((memory(f"m{at}"), derived(f"w{at}", row)) for at, row in enumerate(made)))
    put(store, *((memory(f"o{at}", space="other"), derived(f"w{at}", row)) for at, row in enumerate(made[:LARGE])))
    return made


def indexes(store: PostgresBackend) -> dict[str, int]:
    """The spaces that have an index, by name, with the effort of a search in it; and the names of all indexes."""
    from nacre.storage.postgres.vector_index import existing

    def read(session):  # type: ignore[no-untyped-def]
        efforts = session.fetch("SELECT name, effort FROM spaces WHERE effort > 0")
        return {**dict(efforts), **{name: int(complete) for name, complete in existing(session)}}

    return dict(store._read_all(read))


def nearest(rows: Vectors, question: Vectors, limit: int) -> list[str]:
    return [f"m{at}" for at in np.argsort(-(rows.astype(np.float16).astype(np.float32) @ question))[:limit].tolist()]


@pytest.mark.slow
def test_the_index_finds_what_comparing_all_finds_and_what_came_later(store: PostgresBackend, rows: Vectors) -> None:
    store.commit([BOUND])
    known = indexes(store)
    assert known.pop(SPACE) > 0
    assert list(known.values()) == [1]  # that of the large space, complete; the small one has none
    put(store, (memory("late"), derived("late", -rows[0])))
    for question in rows[:20] + rows[20:40]:
        question /= np.linalg.norm(question)
        found = [match.id for match in store.by_vector(SPACE, question, ANYWHERE, 10)]
        assert len(set(found) & set(nearest(rows, question, 10))) >= 9
    assert store.by_vector(SPACE, -rows[0], ANYWHERE, 1)[0].id == "late"
    assert {match.id[0] for match in store.by_vector("other", rows[0], ANYWHERE, 10)} == {"o"}


def test_the_statement_of_a_large_space_reads_the_index(store: PostgresBackend, rows: Vectors) -> None:
    from nacre.storage.postgres.connection import HalfVector
    from nacre.storage.postgres.vector_index import nearest as statement

    store.commit([BOUND])

    def plan(session):  # type: ignore[no-untyped-def]
        number = session.only_row("SELECT space_id FROM spaces WHERE effort > 0")[0]
        sql = f"EXPLAIN {statement(number, DIMENSIONS, indexed=True)}"
        return [line for (line,) in session.fetch(sql, {"vector": HalfVector(rows[0]), "limit": 5})]

    assert any("chunk_nearest_" in line for line in store._read_all(plan))


def test_what_is_stored_is_not_stored_again_where_its_index_cannot_be_built(
    store: PostgresBackend, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from psycopg import errors

    from nacre.storage.postgres import vector_index

    def lost(*_: object) -> None:
        with store._connections.use():
            raise errors.DeadlockDetected("deadlock detected")

    monkeypatch.setattr(vector_index, "maintain", lost)
    act = Operation("remember", "tester", 1.0, "batch")
    done = store.commit([BOUND, Change(None, memory("m"), derived("w"))], operation=act)
    assert isinstance(done, Committed) and [entry.seq for entry in done.entries] == [1]
    assert "not prepared for quick searches" in caplog.text
    assert store.embedder() == BOUND.identity


@pytest.mark.slow
def test_an_index_that_loses_neighbours_is_not_used(
    store: PostgresBackend, rows: Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nacre.storage.postgres import vector_index

    monkeypatch.setattr(vector_index, "REQUIRED", 1.01)
    store.commit([BOUND])
    assert indexes(store) == {}
    assert [match.id for match in store.by_vector(SPACE, rows[3], ANYWHERE, 10)] == nearest(rows, rows[3], 10)


@pytest.mark.slow
def test_a_space_that_is_no_longer_large_loses_its_index(store: PostgresBackend, rows: Vectors) -> None:
    store.commit([BOUND])
    assert len(indexes(store)) == 2
    store.commit([Change(before=each, after=None) for each in store.get_many(SPACE, [f"m{at}" for at in range(250)])])
    store.commit([BOUND])
    assert indexes(store) == {}
    found = [match.id for match in store.by_vector(SPACE, rows[260], ANYWHERE, 10)]
    assert found == [f"m{int(id[1:]) + 250}" for id in nearest(rows[250:], rows[260], 10)]


def test_vectors_of_another_model_are_stored_after_the_index_of_the_first(
    store: PostgresBackend, rows: Vectors
) -> None:
    store.commit([BOUND])
    store.commit([EmbedderBound(EmbedderIdentity("other", DIMENSIONS + 1), anew=True)])
    assert indexes(store) == {}
    longer = np.append(rows[0], np.float32(0))
    put(store, (memory("new"), derived("new", longer)))
    assert [match.id for match in store.by_vector(SPACE, longer, ANYWHERE, 5)] == ["new"]
