"""A store of Mnemosyne's on a fresh folder, with an embedder that needs no model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.compat.mnemosyne.storage.chroma_store import ChromaMemoryStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChromaMemoryStore]:
    store = ChromaMemoryStore(persist_directory=str(tmp_path / "memory"), embedding_model="hashing")
    yield store
    store.client.close()
