"""A space under another name: everything that was its own goes along, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nacre.model import Filter, JournalFilter, Link, Operation
from nacre.protocols import Backend, EmbedderIdentity, SpaceRenamed
from tests.samples import SPACE, derived, entry, ids, listed, memory, unit, writing

EVERYTHING = Filter()


def filled(store: Backend) -> None:
    with writing(store) as transaction:
        transaction.bind_embedder(EmbedderIdentity("first", 8))
        transaction.put(memory("a", "text", tags=("x",), links=(Link("b"),)), derived("old word", unit(1)))
        transaction.put(memory("b", "other"), derived("new word", unit(0, 1)))
        transaction.append([entry("a")])
        transaction.put_term(f"tag/{SPACE}", "x", {"told": 1})
        transaction.put_term(f"tag/deep/{SPACE}", "x", {"told": 2})
        transaction.put_term("type", SPACE, {})
        transaction.put_term("space", SPACE, {"description": "d"})


def test_all_that_was_its_own_is_found_under_the_new_name(store: Backend) -> None:
    filled(store)
    store.walked(SPACE, store.edges(SPACE))
    with writing(store) as transaction:
        transaction.rename_space(SPACE, "new")
    assert store.spaces() == {"new": 2}
    assert listed(store, SPACE, EVERYTHING) == [] and store.journal(SPACE) == []
    assert [each.space for each in store.get_many("new", ["a", "b"])] == ["new", "new"]
    assert ids(store.by_words("new", ["old"], EVERYTHING, 5)) == ["a"]
    assert ids(store.by_vector("new", unit(0, 1), EVERYTHING, 1)) == ["b"]
    assert [(edge.source, edge.target, edge.walks) for edge in store.edges("new")] == [("a", "b", 1)]
    assert [(each.memory_id, each.space) for each in store.journal("new")] == [("a", "new")]
    assert [(each.after or {}).get("space") for each in store.journal("new")] == ["new"]
    assert store.health(thorough=True).problems == ()


def test_words_of_other_spaces_and_kinds_stay(store: Backend) -> None:
    filled(store)
    with writing(store) as transaction:
        transaction.rename_space(SPACE, "new")
    assert store.terms("tag/new") == {"x": {"told": 1}} and store.terms(f"tag/{SPACE}") == {}
    assert store.terms(f"tag/deep/{SPACE}") == {"x": {"told": 2}}
    assert store.terms("type") == {SPACE: {}}
    assert store.terms("space") == {"new": {"description": "d"}}


def test_what_the_journal_says_of_its_description_is_of_the_new_name(store: Backend) -> None:
    filled(store)
    kinds = ("space", "type", "memory")
    with writing(store) as transaction:
        transaction.append([replace(entry(SPACE), kind=kind) for kind in kinds])
        transaction.rename_space(SPACE, "new")
    assert [each.memory_id for each in store.journal("new", newest_first=False)] == ["a", "new", SPACE, SPACE]
    assert [each.kind for each in store.journal("new", JournalFilter(memory_id="new"))] == ["space"]


def test_a_renaming_that_fails_leaves_the_old_name(store: Backend) -> None:
    filled(store)

    def fail() -> float:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.commit([SpaceRenamed(SPACE, "new")], None, Operation("rename", "tester", 0.0, "b2"), fail)
    assert store.spaces() == {SPACE: 2}
    assert ids(store.by_vector(SPACE, unit(0, 1), EVERYTHING, 1)) == ["b"]


def test_another_space_is_not_touched(store: Backend) -> None:
    filled(store)
    with writing(store) as transaction:
        transaction.put(memory("a", "elsewhere", space="third"), derived("third word", unit(1)))
        transaction.rename_space(SPACE, "new")
    assert store.spaces() == {"new": 2, "third": 1}
    assert ids(store.by_vector("third", unit(1), EVERYTHING, 5)) == ["a"]
