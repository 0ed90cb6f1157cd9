"""A memory that replaces another does so in the act that keeps it."""

from __future__ import annotations

import pytest

from nacre import MemoryStore
from nacre.errors import MemoryNotFound


def test_what_is_remembered_can_replace_another_in_one_act() -> None:
    store = MemoryStore(":memory:", embedder="hashing")
    old = store.remember("The staging server is at 10.0.0.7")
    result = store.remember_result("The staging server is at 10.0.0.9", replaces=old.id)
    assert (result.action, store.get(old.id).superseded_by) == ("superseded", result.memory.id)  # type: ignore[union-attr]
    assert [memory.id for memory in store.list_recent()] == [result.memory.id]
    store.undo()
    assert [memory.id for memory in store.list_recent()] == [old.id]
    assert store.get(result.memory.id) is None


def test_nothing_is_kept_when_what_it_replaces_is_not_there() -> None:
    store = MemoryStore(":memory:", embedder="hashing")
    with pytest.raises(MemoryNotFound):
        store.remember("A fact", replaces="nobody")
    assert store.count() == 0
