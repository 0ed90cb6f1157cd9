"""Marks on memories: several at once, one operation, and back to where they were."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nacre import Memory, MemoryStore
from nacre.errors import MemoryNotFound
from tests.embedders import WordBag


@pytest.fixture
def store() -> MemoryStore:
    opened = MemoryStore(":memory:", embedder=WordBag(), on_conflict="ignore")
    opened.remember_many([{"text": "one", "id": "a", "status": "long_term"}, {"text": "two", "id": "b"}])
    return opened


def test_pinning_is_one_act_and_what_is_pinned_is_left_alone(store: MemoryStore) -> None:
    assert [memory.id for memory in store.pin("a", "b", why="dear")] == ["a", "b"]
    assert len({entry.operation.batch for entry in store.journal(operation="pin")}) == 1
    assert store.pin("a") == []
    assert [memory.pinned for memory in store.unpin("a", "b")] == [False, False]


def test_what_leaves_the_archive_returns_to_where_it_was(store: MemoryStore) -> None:
    store.archive("a", "b")
    assert store.count() == 0 and store.count(include_archived=True) == 2
    assert {memory.id: memory.status for memory in store.unarchive("a", "b")} == {"a": "long_term", "b": "short_term"}
    assert store.unarchive("a") == []
    store.archive("a")
    store.compact(older_than_days=0)
    assert [memory.status for memory in store.unarchive("a")] == ["long_term"]


@pytest.mark.parametrize("mark", [MemoryStore.pin, MemoryStore.unpin, MemoryStore.archive, MemoryStore.unarchive])
def test_the_trashed_are_left_alone_and_the_unknown_refused(
    store: MemoryStore, mark: Callable[..., list[Memory]]
) -> None:
    store.forget("a")
    assert mark(store, "a") == []
    with pytest.raises(MemoryNotFound):
        mark(store, "b", "nobody")
    found = store.get("b")
    assert found is not None and (found.pinned, found.status) == (False, "short_term")
