"""A tie that says `supersedes` and the record that says it are made and taken away together."""

from __future__ import annotations

import pytest

from nacre import MemoryStore
from nacre.errors import MemoryNotFound, SupersedeCycle


def test_tying_as_supersedes_supersedes(store: MemoryStore) -> None:
    store.remember("old words", id="a")
    store.remember("other things", id="b")
    assert store.link("b", "a", "supersedes").new
    assert not store.link("b", "a", "supersedes").new
    former = store.get("a")
    assert former is not None and former.superseded_by == "b"
    assert [memory.id for memory in store.list_recent()] == ["b"]
    with pytest.raises(SupersedeCycle):
        store.link("a", "b", "supersedes")
    with pytest.raises(MemoryNotFound):
        store.link("b", "nobody", "supersedes")


@pytest.mark.parametrize("rel", ["supersedes", None])
def test_removing_a_supersedes_link_restores_the_memory_that_it_hid(store: MemoryStore, rel: str | None) -> None:
    before = [store.remember("old words", id="a"), store.remember("other things", id="b")]
    store.supersede("a", "b")
    assert store.unlink("b", "a", rel) == 1
    after = [store.get("a"), store.get("b")]
    assert [(m.superseded_by, m.valid_from, m.valid_until, m.links) for m in after if m] == [
        (m.superseded_by, m.valid_from, m.valid_until, m.links) for m in before
    ]
    store.undo()
    again = store.get("a")
    assert again is not None and again.superseded_by == "b"


def test_removing_another_link_between_the_two_restores_nothing(store: MemoryStore) -> None:
    store.remember("old words", id="a")
    store.remember("other things", id="b")
    store.supersede("a", "b")
    store.link("b", "a", "mentions")
    assert store.unlink("b", "a", "mentions") == 1
    former = store.get("a")
    assert former is not None and former.superseded_by == "b"


def test_memories_with_one_successor_are_restored_in_one_operation(store: MemoryStore) -> None:
    for id in ("a", "b", "heir", "trashed"):
        store.remember(f"text of {id}", id=id, on_conflict="ignore")
    store.supersede("a", "heir")
    store.supersede("b", "heir")
    store.forget("trashed")
    before = [store.get(id) for id in ("a", "b", "heir", "trashed")]
    assert store.restore("a", "b", "trashed")
    assert store.count() == 4
    heir = store.get("heir")
    assert heir is not None and (heir.links, heir.valid_from) == ((), None)
    assert not store.restore("a", "b", "trashed")
    store.undo()
    assert [store.get(id) for id in ("a", "b", "heir", "trashed")] == before
