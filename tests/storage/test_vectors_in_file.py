"""Vectors read from the file, block by block, are those of the mirror in memory, whatever was done in between."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nacre.model import Filter, Memory
from nacre.protocols import Chunk, Derived, Vectors, Words
from nacre.storage.sqlite import store as transaction_module
from nacre.storage.sqlite.store import SQLiteBackend, SQLiteTransaction

SPACE = "default"
HELD = 320  # vectors that a transaction holds back, here


def rows(seed: int, pieces: int) -> Vectors:
    found = np.random.default_rng(seed).normal(size=(pieces, 8))
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found.astype(np.float16).astype(np.float32)  # as the file keeps them


def put(transaction: SQLiteTransaction, id: str, seed: int, pieces: int = 1) -> None:
    chunks = tuple(Chunk(place, place + 1, f"{id} {place}".encode()) for place in range(pieces))
    transaction.put(Memory(id, "some text"), Derived(Words(text="some text"), chunks, rows(seed, pieces)))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SQLiteBackend:
    monkeypatch.setattr(transaction_module, "VECTORS_HELD", HELD)
    store = SQLiteBackend(tmp_path / "store.db")
    with store.transaction() as transaction:
        transaction.claim_embedder("test", 8)
        for number in range(HELD + 500):
            put(transaction, f"m{number}", number, pieces=1 + number % 3)
        for number in range(0, 300, 7):  # some were written to the file already, and some wait in the transaction
            put(transaction, f"m{number}", number + 100_000)
            transaction.remove(SPACE, f"m{number + 1}")
            put(transaction, f"m{HELD + number}", number + 200_000, pieces=2)
    with store.transaction() as transaction:
        transaction.remove(SPACE, "m100")
        put(transaction, "m200", 7, pieces=4)
    return store


def test_both_ways_to_read_give_the_same(store: SQLiteBackend) -> None:
    ids = [memory.id for memory in store.iterate(SPACE, Filter())]
    assert store._mirrors == {}
    from_file = store.vectors(SPACE, ids)
    assert store._mirrors == {}, "a page must not load the space"
    store.near(SPACE, rows(1, 1)[0], 3)
    from_memory = store.vectors(SPACE, ids)
    assert from_file.keys() == from_memory.keys() == set(ids)
    assert all(np.array_equal(from_file[id], from_memory[id]) for id in ids)


def test_what_was_written_last_counts(store: SQLiteBackend) -> None:
    found = store.vectors(SPACE, ["m200", "m7", "m100", "m8", f"m{HELD + 14}", "nobody"])
    assert set(found) == {"m200", "m7", f"m{HELD + 14}"}
    assert np.array_equal(found["m200"], rows(7, 4))
    assert np.array_equal(found["m7"], rows(100_007, 1))
    assert np.array_equal(found[f"m{HELD + 14}"], rows(200_014, 2))


def test_a_store_without_vectors_has_none(tmp_path: Path) -> None:
    assert SQLiteBackend(tmp_path / "empty.db").vectors(SPACE, ["m"]) == {}
