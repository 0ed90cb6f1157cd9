"""An operation of any size is one operation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre import Link, Memory, MemoryStore
from nacre.engine.engine import STREAM_BATCH, AnyChange, Change, TermChange
from nacre.protocols import Transaction
from nacre.remember.derive import derive


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "store.db" if request.param == "file" else ":memory:", embedder="hashing")


def new(store: MemoryStore, count: int) -> Iterator[AnyChange]:
    for number in range(count):
        memory = Memory(f"m{number}", f"Buoy {number}", links=(Link("m0", "moors"),) if number else ())
        (derived,) = derive([memory], store.embedder, store._store)
        yield Change(None, memory, derived)


def test_it_is_one_batch_that_one_undo_takes_back(store: MemoryStore) -> None:
    engine = store.acting_as("someone")
    batch = engine.commit_stream("default", "stream", lambda _: new(store, STREAM_BATCH + 10), why="to see")
    entries = store.journal(limit=None)
    assert len(entries) == STREAM_BATCH + 11, "each memory, and the relation that came up by itself"
    assert {
        (each.operation.batch, each.operation.name, each.operation.actor, each.operation.why) for each in entries
    } == {(batch, "stream", "someone", "to see")}
    assert store.count() == STREAM_BATCH + 10 == store.health().vectors and "moors" in store.relations()
    store.undo()
    assert store.count() == 0 and "moors" not in store.relations()


def test_each_change_finds_those_before_it_carried_out(store: MemoryStore) -> None:
    def flow(transaction: Transaction) -> Iterator[AnyChange]:
        yield from new(store, 2)
        assert transaction.get("default", "m1") is not None
        yield TermChange("default", "type", "recipe", None, {})
        assert transaction.term("type", "recipe") == {}

    assert store.acting_as("x").commit_stream("default", "stream", flow)
    assert "recipe" in store.types()


def test_an_error_takes_all_of_it_back(store: MemoryStore) -> None:
    def flow(_: Transaction) -> Iterator[AnyChange]:
        yield from new(store, STREAM_BATCH * 2)
        raise ValueError("broken off")

    with pytest.raises(ValueError, match="broken off"):
        store.acting_as("x").commit_stream("default", "stream", flow)
    assert store.count() == 0 and store.journal() == [] and "moors" not in store.relations()


def test_an_act_that_changes_nothing_is_none(store: MemoryStore) -> None:
    assert store.acting_as("x").commit_stream("default", "stream", lambda _: iter(())) == ""
    assert store.journal() == []
