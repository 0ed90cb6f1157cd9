"""A copy that opens and reads well, but whose index has lost a row, is no copy to restore from."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from nacre import MemoryStore
from nacre.errors import NotAStore
from nacre.storage.sqlite.backup import restore, verify

NAME = b"somebodys-own-id"


def with_damaged_index(path: Path) -> Path:
    """Changes one letter of the memory's id where an index holds it, and not where its table does."""
    with MemoryStore(path, embedder="hashing") as store:
        store.remember("The barn stores hay", id=NAME.decode())
    connection = apsw.Connection(str(path))
    (size,) = connection.execute("PRAGMA page_size").fetchone() or (0,)
    roots = connection.execute("SELECT rootpage FROM sqlite_master WHERE type = 'index' AND tbl_name = 'memory'")
    starts = [(int(root) - 1) * int(size) for (root,) in roots]
    connection.close()
    held = bytearray(path.read_bytes())
    at = next(place for start in starts if (place := held.find(NAME, start, start + int(size))) >= 0)
    held[at] ^= 1
    path.write_bytes(held)
    return path


def test_a_copy_whose_index_lost_a_row_is_refused_and_the_store_stays(tmp_path: Path) -> None:
    copy = with_damaged_index(tmp_path / "copy.db")
    with pytest.raises(NotAStore, match="damaged"):
        verify(copy, None)
    with MemoryStore(tmp_path / "s.db", embedder="hashing") as store:
        store.remember("The cat sleeps", id="cat")
    with pytest.raises(NotAStore, match="damaged"):
        restore(tmp_path / "s.db", copy, tmp_path / "kept.db", None, None)
    with MemoryStore(tmp_path / "s.db", embedder="hashing") as store:
        assert [memory.id for memory in store.list_recent()] == ["cat"]
    assert not (tmp_path / "kept.db").exists()
