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
def test_taking_that_tie_away_restores_what_it_hid(store: MemoryStore, rel: str | None) -> None:
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


def test_another_tie_between_the_two_goes_alone(store: MemoryStore) -> None:
    store.remember("old words", id="a")
    store.remember("other things", id="b")
    store.supersede("a", "b")
    store.link("b", "a", "mentions")
    assert store.unlink("b", "a", "mentions") == 1
    former = store.get("a")
    assert former is not None and former.superseded_by == "b"
