"""A store as AI-Houkai's users open one, with words for vectors so that no model is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nacre.compat.ai_houkai.memory_system import MemoryStore

Opened = Callable[..., MemoryStore]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens stores below one folder, and closes them all."""
    stores: list[MemoryStore] = []

    def open_store(name: str = "chroma", **options: object) -> MemoryStore:
        values: dict[str, object] = {"collection": "tests", "embedding_model": "hashing", **options}
        stores.append(MemoryStore(str(tmp_path / name), **values))  # type: ignore[arg-type]
        return stores[-1]

    yield open_store
    for store in stores:
        store.client.close()


@pytest.fixture
def store(opened: Opened) -> MemoryStore:
    return opened()
