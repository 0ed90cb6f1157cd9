"""H6 and H7: hybrid recall and the walk along ties."""

from __future__ import annotations

import time

import pytest

from nacre.compat.ai_houkai.memory_system import ExpandSpec, HybridWeights, MemoryStore
from nacre.compat.ai_houkai.memory_system.store import _bm25_score_pool, _tokenize


def aged(store: MemoryStore, text: str, days: float) -> str:
    memory = store.remember(text)
    memory.last_accessed = memory.created_at = time.time() - days * 86_400
    store.collection.update(ids=[memory.id], metadatas=[memory.to_metadata()])
    return memory.id


@pytest.mark.accepts("H6.2")
def test_words_within_the_pool_are_scored_up_to_1() -> None:
    scores = _bm25_score_pool("kettle cupboard", ["the kettle in the cupboard", "a kettle", "a bicycle"])
    assert scores[0] == 1.0 and scores[0] > scores[1] > scores[2] == 0.0
    assert _bm25_score_pool("kettle", []) == []
    assert _tokenize("Hello, World 42!") == ["hello", "world", "42"]


@pytest.mark.accepts("H6.10")
def test_of_equal_texts_the_one_used_last_ranks_higher(store: MemoryStore) -> None:
    old, new = aged(store, "standup is at ten", 40), aged(store, "standup is at ten", 1)
    hits = store.recall("standup", k=2, mode="hybrid", touch=False)
    assert [memory.id for memory, _ in hits] == [new, old]


@pytest.mark.accepts("H6.9")
def test_an_exact_identifier_wins_through_its_words(store: MemoryStore) -> None:
    exact = store.remember("fixed in PR #441")
    store.remember("resolved a regression in the request")
    weights = HybridWeights(cosine=0.0, lexical=1.0, recency=0.0, importance=0.0)
    assert store.recall("PR #441", k=1, mode="hybrid", weights=weights)[0][0].id == exact.id


@pytest.mark.accepts("H6.7")
def test_with_cosine_alone_hybrid_ranks_as_semantic(store: MemoryStore) -> None:
    for text in ("green tea in the morning", "black tea at night", "tea", "coffee in the morning"):
        store.remember(text)
    alone = HybridWeights(1.0, 0.0, 0.0, 0.0)
    semantic = [memory.id for memory, _ in store.recall("tea in the morning", k=4)]
    hybrid = [memory.id for memory, _ in store.recall("tea in the morning", k=4, mode="hybrid", weights=alone)]
    assert semantic == hybrid


@pytest.mark.accepts("H6.8")
def test_the_same_question_twice_gives_the_same_order(store: MemoryStore) -> None:
    for number in range(6):
        store.remember(f"note {number} on testing", importance=number / 10)
    first, second = ([m.id for m, _ in store.recall("testing", k=6, mode="hybrid", overfetch=6)] for _ in range(2))
    assert first == second


@pytest.mark.accepts("H6.5")
def test_ties_go_to_the_more_important_then_the_newer(store: MemoryStore) -> None:
    less = store.remember("equal words", importance=0.2)
    older = store.remember("equal words", importance=0.8)
    newer = store.remember("equal words", importance=0.8)
    assert [memory.id for memory, _ in store.recall("equal words", k=3)] == [newer.id, older.id, less.id]


@pytest.mark.accepts("H6.6", "H6.12")
def test_the_superseded_are_not_scored_and_a_tag_narrows_before_the_cut(store: MemoryStore) -> None:
    old, new = store.remember("tabs, not spaces", tags=["style"]), store.remember("spaces, not tabs", tags=["style"])
    for _ in range(8):
        store.remember("tabs and spaces", tags=["noise"])
    store.supersede(old.id, new.id)
    assert [m.id for m, _ in store.recall("tabs", k=1, tag="style", mode="hybrid")] == [new.id]


@pytest.mark.accepts("H3.2", "H6.1")
def test_a_stores_weights_hold_until_a_call_names_others(store: MemoryStore) -> None:
    store.remember("a weighty matter", importance=1.0)
    store.hybrid_weights = HybridWeights(0.0, 0.0, 0.0, 1.0)
    assert store.recall("matter", mode="hybrid")[0][1] == pytest.approx(1.0)
    own = HybridWeights(0.0, 0.0, 0.0, 0.5)
    assert store.recall("matter", mode="hybrid", weights=own)[0][1] == pytest.approx(0.5)


@pytest.mark.accepts("H7.1", "H7.2")
def test_a_walk_goes_as_far_as_asked_and_adds_no_more_than_its_cap(store: MemoryStore) -> None:
    root, near, far = (store.remember(text) for text in ("isolate tests", "second hop", "third hop"))
    store.link(root.id, near.id, "refines")
    store.link(near.id, far.id, "refines")
    one = store.recall("isolate tests", k=1, expand=ExpandSpec(("refines",), 1, 5, 0.55))
    assert [(memory.id, score) for memory, score in one[1:]] == [(near.id, 0.55)]
    two = store.recall("isolate tests", k=1, expand=ExpandSpec(("refines",), depth=2))
    assert [memory.id for memory, _ in two] == [root.id, near.id, far.id]
    assert len(store.recall("isolate tests", k=1, expand=ExpandSpec(("refines",), depth=2, cap=1))) == 2


@pytest.mark.accepts("H7.3")
def test_a_walk_leaves_the_superseded_out_unless_they_are_asked_for(store: MemoryStore) -> None:
    root, old, new = (store.remember(text) for text in ("isolate tests", "an old example", "a new example"))
    store.link(root.id, old.id, "example_of")
    store.supersede(old.id, new.id)
    assert len(store.recall("isolate tests", k=1, expand=ExpandSpec())) == 1
    matches = store.recall("isolate tests", k=1, expand=ExpandSpec(), include_superseded=True)
    assert old.id in [memory.id for memory, _ in matches]
