"""Purged means gone from the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre import MemoryStore
from tests.embedders import WordBag

SECRET = "xyzzyplugh"


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()))


@pytest.mark.parametrize("length", [1, 50, 3000])
@pytest.mark.parametrize("fellows", [0, 200])
def test_no_byte_of_a_purged_text_is_left_in_the_files(tmp_path: Path, length: int, fellows: int) -> None:
    """Short ones lie in a row, long ones on pages of their own; its stems lie in the word index."""
    with MemoryStore(tmp_path / "s.db", embedder=WordBag()) as store:
        store.remember_many([f"fellow number {i} speaks of many things" for i in range(fellows)])
        kept = store.remember(
            f"{SECRET}a " * length, title=f"{SECRET}b", tags=[f"{SECRET}c"], metadata={"k": f"{SECRET}d"}
        )
        store.edit(kept.id, text=f"{SECRET}e {SECRET}f " * length, why=f"{SECRET}g")
        store.recall(f"{SECRET}e")
        store.forget(kept.id)
        assert SECRET.encode() in bytes_of(tmp_path)
        store.purge(kept.id)
        assert SECRET.encode() not in bytes_of(tmp_path)
        assert store.health(thorough=True).problems == ()
        assert len(store.recall("fellow", k=5)) == min(5, fellows)
    assert SECRET.encode() not in bytes_of(tmp_path)
