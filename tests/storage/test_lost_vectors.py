"""A chunk whose vector is no longer in the file is embedded again, and never given its neighbour's vector."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.storage.sqlite import SQLiteBackend, vectors
from tests.embedders import WordBag
from tests.samples import SPACE, derived, digest_of, memory, put, unit


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_lost_vector_is_not_replaced_by_another_of_its_block(tmp_path: Path, lost: int) -> None:
    store = SQLiteBackend(tmp_path / "s.db")
    put(
        store,
        *((memory(id), derived(id, unit(*row))) for id, row in zip("abc", ((1,), (0, 1), (0, 0, 1)), strict=True)),
    )
    digests = [digest_of(f"{id}/0") for id in "abc"]
    assert set(store.vectors_for(digests)) == set(digests)
    with store._reading() as connection:
        chunks = [int(id) for (id,) in connection.execute("SELECT id FROM chunk ORDER BY id")]
        vectors.remove(connection, SPACE, [chunks[lost]])
    found = store.vectors_for(digests)
    assert set(found) == set(digests) - {digests[lost]}
    store.close()


def test_the_same_text_is_embedded_once(tmp_path: Path) -> None:
    embedder = WordBag()
    with MemoryStore(tmp_path / "s.db", embedder=embedder) as store:
        store.remember("copper kettle", on_conflict="ignore")
        store.remember("copper kettle", on_conflict="ignore")
    assert embedder.asked.count("copper kettle") == 1
