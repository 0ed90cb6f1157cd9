"""Vectors of single writes lie in small blocks, which are gathered before a search has to read too many."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from nacre import MemoryStore

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
