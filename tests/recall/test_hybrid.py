"""The published weighted formula, item by item."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput
from nacre.model.recollection import HybridWeights
from nacre.text.tokens import content_stems, stems
from tests.recall.factories import DAY, NOW, found

TEXTS = {
    "brew": ("green tea is brewed at eighty degrees", 0.2, 1.0),
    "like": ("Anna likes green tea", 0.9, 40.0),
    "black": ("black tea tea tea wants boiling water and a warm pot", 0.5, 10.0),
    "ports": ("the database listens on a port", 0.7, 3.0),
    "late": ("green paint for the fence", 0.1, -5.0),
}
QUESTION = "which green tea does Anna brew"


@pytest.fixture
def filled(store: MemoryStore) -> MemoryStore:
    for id, (text, importance, age) in TEXTS.items():
        store.remember(text, id=id, importance=importance, created_at=NOW - age * DAY)
    return store


def local_bm25(question: str, texts: dict[str, str]) -> dict[str, float]:
    """Written from the formula alone: k1 1.5, b 0.75, the rarity of the pool, divided by the best."""
    documents = {id: stems(text) for id, text in texts.items()}
    usual = sum(map(len, documents.values())) / len(documents)
    scores = dict.fromkeys(documents, 0.0)
    for term in content_stems(question):
        holding = sum(term in document for document in documents.values())
        rarity = math.log((len(documents) - holding + 0.5) / (holding + 0.5) + 1)
        for id, document in documents.items():
            times = document.count(term)
            scores[id] += rarity * times * 2.5 / (times + 1.5 * (0.25 + 0.75 * len(document) / usual))
    return {id: score / max(scores.values()) for id, score in scores.items()}


def by_hand(store: MemoryStore, weights: HybridWeights) -> dict[str, float]:
    asked = store.embedder.embed([QUESTION])[0]
    words = local_bm25(QUESTION, {id: text for id, (text, _, _) in TEXTS.items()})
    return {
        id: weights.cosine * float(np.dot(store.embedder.embed([text])[0], asked))
        + weights.lexical * words[id]
        + weights.recency * math.exp(-weights.decay_rate * max(0.0, age))
        + weights.importance * importance
        for id, (text, importance, age) in TEXTS.items()
    }


@pytest.mark.accepts("H6.1")
@pytest.mark.parametrize(
    "weights",
    [HybridWeights(), HybridWeights(0.1, 0.6, 0.2, 0.1), HybridWeights(0, 1, 0, 0), HybridWeights(decay_rate=1.0)],
)
def test_the_score_is_the_sum_of_the_four_shares(filled: MemoryStore, weights: HybridWeights) -> None:
    hits = filled.recall(QUESTION, k=5, strategy="hybrid", weights=weights)
    expected = by_hand(filled, weights)
    assert {hit.memory.id: hit.score for hit in hits} == pytest.approx(expected, abs=2e-3)
    assert [hit.memory.id for hit in hits] == sorted(expected, key=lambda id: -expected[id])
    for hit in hits:
        assert sum(reason.score for reason in hit.why) == pytest.approx(hit.score)


def test_the_default_shares_are_the_published_ones() -> None:
    assert HybridWeights() == HybridWeights(0.55, 0.20, 0.15, 0.10, 0.1)


@pytest.mark.accepts("H6.2")
def test_bm25_knows_its_pool_alone(store: MemoryStore) -> None:
    """Outside of the pool "anna" is on every memory, inside on one of two."""
    store.remember("green tea of anna", id="both")
    store.remember("green tea", id="one")
    store.remember_many(f"anna {n} was away from town" for n in range(30))
    hits = store.recall("green tea", k=1, overfetch=2, strategy="hybrid", weights=HybridWeights(0, 1, 0, 0))
    assert hits[0].score == 1.0
    by_both = store.recall("green tea anna", k=2, overfetch=1, strategy="hybrid", weights=HybridWeights(0, 1, 0, 0))
    words = local_bm25("green tea anna", {"both": "green tea of anna", "one": "green tea"})
    assert {hit.memory.id: hit.score for hit in by_both} == pytest.approx(words)


@pytest.mark.accepts("H6.2")
def test_the_pool_is_k_times_overfetch(store: MemoryStore) -> None:
    store.remember_many({"text": "tea " * (10 - n) + "pad " * n, "id": f"m{n}"} for n in range(10))
    everyone = {hit.memory.id for hit in store.recall("tea", k=9, strategy="hybrid", overfetch=9)}
    assert everyone == {f"m{n}" for n in range(10)} - {"m9"}
    important = HybridWeights(0, 0, 0, 1)
    store.edit("m5", importance=1.0)
    assert found(store, "tea", k=1, overfetch=6, strategy="hybrid", weights=important) == ["m5"]
    assert found(store, "tea", k=1, overfetch=5, strategy="hybrid", weights=important) != ["m5"]


@pytest.mark.parametrize("strategy", ["auto", "hybrid", "rrf", "semantic", "keyword"])
def test_overfetch_and_weights_are_accepted_by_every_strategy(filled: MemoryStore, strategy: str) -> None:
    hits = filled.recall(QUESTION, 2, strategy=strategy, overfetch=6, weights=HybridWeights())
    assert [type(hit.memory.id) for hit in hits] == [str, str]
    assert len(filled.recall(QUESTION, 2, strategy=strategy, overfetch=0)) == 2


def test_recency_falls_by_the_rate_a_day_and_the_future_counts_as_now(store: MemoryStore) -> None:
    for id, age in (("now", 0.0), ("old", 7.0), ("future", -9.0)):
        store.remember(f"tea {id}", id=id, created_at=NOW - age * DAY)
    hits = store.recall("tea", strategy="hybrid", weights=HybridWeights(0, 0, 1, 0, decay_rate=0.3))
    assert {hit.memory.id: hit.score for hit in hits} == pytest.approx({"now": 1, "old": math.exp(-2.1), "future": 1})


def test_recency_counts_from_the_last_use_where_that_is_asked_for(store: MemoryStore) -> None:
    store.remember("tea of old", id="old", created_at=NOW - 50 * DAY)
    options: dict[str, Any] = {"strategy": "hybrid", "weights": HybridWeights(0, 0, 1, 0), "touch": False}
    assert store.recall("tea", **options)[0].score == pytest.approx(math.exp(-5))
    assert store.recall("tea", recency_basis="accessed", **options)[0].score == pytest.approx(1)
    with pytest.raises(InvalidInput, match="accessed"):
        store.recall("tea", recency_basis="acessed")


@pytest.mark.accepts("H6.5")
def test_ties_go_to_the_important_then_to_the_newer(store: MemoryStore) -> None:
    for id, importance, age in (("old", 0.5, 3.0), ("weighty", 0.9, 9.0), ("new", 0.5, 1.0)):
        store.remember(f"tea {id}", id=id, importance=importance, created_at=NOW - age * DAY)
    assert found(store, "tea", strategy="hybrid", weights=HybridWeights(0, 1, 0, 0)) == ["weighty", "new", "old"]


def test_with_meaning_alone_the_order_is_the_semantic_one(filled: MemoryStore) -> None:
    alone = HybridWeights(0.55, 0, 0, 0)
    for question in (QUESTION, "a port", "boiling paint", "the fence of Anna"):
        assert found(filled, question, strategy="hybrid", weights=alone) == found(filled, question, strategy="semantic")


@pytest.mark.parametrize("basis", ["created", "accessed"])
def test_the_same_question_twice_in_a_second_has_the_same_order(filled: MemoryStore, basis: str) -> None:
    first = found(filled, QUESTION, strategy="hybrid", recency_basis=basis)
    assert all(found(filled, QUESTION, strategy="hybrid", recency_basis=basis) == first for _ in range(5))


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["hybrid", "auto", "rrf"])
@pytest.mark.parametrize(
    ("question", "best"),
    [("PR #441", "pr"), ("what does MemoryStore.recall return", "method"), ("E-4021", "error")],
)
def test_an_exact_identifier_wins(store: MemoryStore, strategy: str, question: str, best: str) -> None:
    store.remember("PR #441 was merged by Ben", id="pr")
    store.remember("PR #442 was merged by Ben", id="other pr")
    store.remember("MemoryStore.recall gives hits, best first", id="method")
    store.remember("MemoryStore.remember returns what it kept", id="other method")
    store.remember("E-4021 is a full disk", id="error")
    store.remember("E-4022 is a slow disk", id="other error")
    assert found(store, question, strategy=strategy)[0] == best


@pytest.mark.parametrize("strategy", ["hybrid", "auto"])
def test_of_two_nearly_equal_ones_the_newer_ranks_higher(store: MemoryStore, strategy: str) -> None:
    store.remember("the server of the shop runs in Berlin now", id="new", created_at=NOW - DAY)
    store.remember("the server of the shop runs in Oslo now", id="old", created_at=NOW - 90 * DAY)
    assert found(store, "where does the server of the shop run", strategy=strategy) == ["new", "old"]


def test_the_superseded_are_left_out_before_the_pool_is_scored(store: MemoryStore) -> None:
    for id in ("a", "b", "c"):
        store.remember(f"green tea {id}", id=id)
    store.supersede("a", "b")
    store.supersede("b", "c")
    assert found(store, "green tea", strategy="hybrid") == ["c"]
    assert len(found(store, "green tea", strategy="hybrid", include_superseded=True)) == 3
    words = HybridWeights(0, 1, 0, 0)
    assert store.recall("green tea a", strategy="hybrid", weights=words)[0].score == 1.0


@pytest.mark.accepts("H6.6")
def test_a_tag_filters_before_the_cut_and_only_survivors_are_used(store: MemoryStore) -> None:
    store.remember_many(f"green tea {n}" for n in range(20))
    store.remember("a word on tea that is far longer than the others are", id="tagged", tags=["x"])
    assert found(store, "green tea", k=1, strategy="hybrid", tag="x") == ["tagged"]
    assert [memory.id for memory in store.list_recent(99) if memory.access_count] == ["tagged"]


def test_weights_that_are_all_zero_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        HybridWeights(0, 0, 0, 0)
