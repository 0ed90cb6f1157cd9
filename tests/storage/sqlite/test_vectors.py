"""What another thread appends in the middle of a search does not disturb it."""

from __future__ import annotations

from pathlib import Path

import apsw
import numpy as np
import pytest

from nacre import MemoryStore
from nacre.model import Filter, Memory
from nacre.protocols import Chunk, Derived, Vectors, Words
from nacre.storage.sqlite import SQLiteBackend, vectors
from nacre.storage.sqlite import transaction as transaction_module
from nacre.storage.sqlite.transaction import SQLiteTransaction
from nacre.storage.sqlite.vectors import SignIndex
from tests.embedders import WordBag
from tests.samples import derived, digest_of, memory, put, unit

DRAWN = np.random.default_rng(1).standard_normal((500, 16))
ROWS = (DRAWN / np.linalg.norm(DRAWN, axis=1, keepdims=True)).astype(np.float16)


class GrowingMidway(SignIndex):
    """Appends a row at the very moment that a search has looked at the size: the worst that a thread can do."""

    armed = False
    _size = 0

    @property
    def size(self) -> int:
        seen = self._size
        if self.armed:
            self.armed = False
            self.append(np.array([seen]), np.array([seen]), ROWS[seen : seen + 1])
        return seen

    @size.setter
    def size(self, value: int) -> None:
        self._size = value


@pytest.mark.parametrize("count", [5, 450])
@pytest.mark.parametrize("allowed", [None, np.arange(500)])
def test_a_search_sees_one_size_from_beginning_to_end(
    count: int, allowed: np.ndarray[tuple[int], np.dtype[np.int64]] | None
) -> None:
    index = GrowingMidway(16)
    index.append(np.arange(count), np.arange(count), ROWS[:count])
    index.armed = True
    chunks, owners, cosines = index.nearest(ROWS[0].astype(np.float32), 3, allowed)
    assert (chunks[0], owners[0], len(cosines)) == (0, 0, 3)
    assert index.size == count + 1


FILE_SPACE = "default"
HELD = 320  # vectors that a transaction holds back, here


def rows(seed: int, pieces: int) -> Vectors:
    found = np.random.default_rng(seed).normal(size=(pieces, 8))
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found.astype(np.float16).astype(np.float32)  # as the file keeps them


def put_with_vectors(transaction: SQLiteTransaction, id: str, seed: int, pieces: int = 1) -> None:
    chunks = tuple(Chunk(place, place + 1, f"{id} {seed} {place}".encode()) for place in range(pieces))
    transaction.put(Memory(id, "some text"), Derived(Words(text="some text"), chunks, rows(seed, pieces)))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SQLiteBackend:
    monkeypatch.setattr(transaction_module, "DRAFTS_HELD", HELD)
    store = SQLiteBackend(tmp_path / "store.db")
    with store.transaction() as transaction:
        transaction.claim_embedder("test", 8)
        for number in range(HELD + 500):
            put_with_vectors(transaction, f"m{number}", number, pieces=1 + number % 3)
        for number in range(0, 300, 7):  # some were written to the file already, and some wait in the transaction
            put_with_vectors(transaction, f"m{number}", number + 100_000)
            transaction.remove(FILE_SPACE, f"m{number + 1}")
            put_with_vectors(transaction, f"m{HELD + number}", number + 200_000, pieces=2)
    with store.transaction() as transaction:
        transaction.remove(FILE_SPACE, "m100")
        put_with_vectors(transaction, "m200", 7, pieces=4)
    return store


def test_both_ways_to_read_give_the_same(store: SQLiteBackend) -> None:
    ids = [memory.id for memory in store.iterate(FILE_SPACE, Filter())]
    assert store._mirrors._mirrors == {}
    from_file = store.vectors(FILE_SPACE, ids)
    assert store._mirrors._mirrors == {}, "a page must not load the space"
    for id in ids[::20]:
        assert store.by_vector(FILE_SPACE, from_file[id][0], Filter(), 1)[0].id == id
    assert from_file.keys() == set(ids)


def test_what_was_written_last_counts(store: SQLiteBackend) -> None:
    found = store.vectors(FILE_SPACE, ["m200", "m7", "m100", "m8", f"m{HELD + 14}", "nobody"])
    assert set(found) == {"m200", "m7", f"m{HELD + 14}"}
    assert np.array_equal(found["m200"], rows(7, 4))
    assert np.array_equal(found["m7"], rows(100_007, 1))
    assert np.array_equal(found[f"m{HELD + 14}"], rows(200_014, 2))


def test_a_store_without_vectors_has_none(tmp_path: Path) -> None:
    assert SQLiteBackend(tmp_path / "empty.db").vectors(FILE_SPACE, ["m"]) == {}


SINGLE = 64


def blocks(path: Path) -> list[int]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return [int(count) for (count,) in connection.execute("SELECT count FROM block ORDER BY last")]
    finally:
        connection.close()


def write(store: MemoryStore, start: int, stop: int) -> None:
    for number in range(start, stop):
        store.remember(f"Cupboard {number} holds {number} cups", id=f"m{number}", on_conflict="ignore")


def test_blocks_are_gathered_at_the_sixty_fourth_single_write_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with MemoryStore(path, embedder="hashing") as store, MemoryStore(path, embedder="hashing") as other:
        write(store, 0, SINGLE - 1)
        assert blocks(path) == [1] * (SINGLE - 1)
        assert len(other.recall("cupboard", k=SINGLE, strategy="semantic")) == SINGLE - 1  # it holds the small blocks
        write(store, SINGLE - 1, SINGLE)
        assert blocks(path) == [SINGLE]
        write(store, SINGLE, SINGLE + 2)
        assert blocks(path) == [SINGLE, 1, 1]
        for reader in (store, other):
            found = [hit.memory.id for hit in reader.recall("cupboard", k=2 * SINGLE, strategy="semantic")]
            assert sorted(found) == sorted(f"m{number}" for number in range(SINGLE + 2))
        assert store.recall("Cupboard 7 holds 7 cups", k=1, strategy="semantic")[0].memory.id == "m7"
        store.purge("m7")
        assert blocks(path) == [SINGLE - 1, 1, 1]


@pytest.mark.parametrize(("batch", "expected"), [(256, [256]), (257, [256, 1])])
def test_a_batch_fills_blocks_of_256(tmp_path: Path, batch: int, expected: list[int]) -> None:
    path = tmp_path / "s.db"
    with MemoryStore(path, embedder="hashing") as store:
        store.write("fill", new=[store.draft(f"Cup {number}") for number in range(batch)])
    assert blocks(path) == expected


def test_a_full_block_among_the_newest_is_not_read_and_written_again(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with MemoryStore(path, embedder="hashing") as store:
        store.write("fill", new=[store.draft(f"Cup {number}") for number in range(256)])
        write(store, 0, SINGLE - 1)
        assert blocks(path) == [256, *[1] * (SINGLE - 1)]
        write(store, SINGLE - 1, SINGLE)
        assert blocks(path) == [256, SINGLE]


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_lost_vector_is_not_replaced_by_another_of_its_block(tmp_path: Path, lost: int) -> None:
    store = SQLiteBackend(tmp_path / "s.db")
    put(
        store,
        *((memory(id), derived(id, unit(*row))) for id, row in zip("abc", ((1,), (0, 1), (0, 0, 1)), strict=True)),
    )
    digests = [digest_of(f"{id}/0") for id in "abc"]
    assert set(store.vectors_for(digests)) == set(digests)
    with store._connected() as connection:
        chunks = [int(id) for (id,) in connection.execute("SELECT id FROM chunk ORDER BY id")]
        vectors.remove(connection, "1", [chunks[lost]])
    found = store.vectors_for(digests)
    assert set(found) == set(digests) - {digests[lost]}
    store.close()


def test_the_same_text_is_embedded_once(tmp_path: Path) -> None:
    embedder = WordBag()
    with MemoryStore(tmp_path / "s.db", embedder=embedder) as store:
        store.remember("copper kettle", on_conflict="ignore")
        store.remember("copper kettle", on_conflict="ignore")
    assert embedder.asked.count("copper kettle") == 1
