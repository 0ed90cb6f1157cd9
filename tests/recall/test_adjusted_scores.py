"""Worth, time, context and mood multiply what is relevant; they never make it so."""

from __future__ import annotations

from typing import Any

import pytest

from nacre import MemoryStore
from nacre.model import Hit, Query
from nacre.recall.gather import understand
from nacre.recall.signals import adjust, blend_mood
from tests.recall.factories import DAY, NOW, found
from tests.samples import memory

PAIR = ("the server of the shop runs in Berlin", "the server of the shop runs in Oslo")
ASKED = "where does the server of the shop run"


def pair(store: MemoryStore, one: dict[str, Any], other: dict[str, Any]) -> None:
    common: dict[str, Any] = {"created_at": NOW - 10 * DAY}
    store.remember(PAIR[0], id="one", **{**common, **one})
    store.remember(PAIR[1], id="other", **{**common, **other})


@pytest.mark.parametrize(
    ("one", "other", "asking"),
    [
        ({"importance": 0.9}, {"importance": 0.1}, {}),
        ({"confidence": 0.9}, {"confidence": 0.2}, {}),
        ({"trust": 1.0}, {"trust": 0.2}, {}),
        ({"contexts": ["work"]}, {"contexts": ["home"]}, {"contexts": ["work"]}),
        ({"contexts": ["work"]}, {}, {"contexts": "work"}),
        ({"created_at": NOW - DAY}, {"created_at": NOW - 300 * DAY}, {}),
        ({"created_at": NOW, "occurred_at": NOW - DAY}, {"created_at": NOW, "occurred_at": NOW - 300 * DAY}, {}),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_of_two_equally_relevant_ones_the_worthier_comes_first(
    store: MemoryStore, one: dict[str, Any], other: dict[str, Any], asking: dict[str, Any], turned: bool
) -> None:
    pair(store, *((other, one) if turned else (one, other)))
    assert found(store, ASKED, **asking) == (["other", "one"] if turned else ["one", "other"])


def test_use_speaks_a_little_for_a_memory_where_it_is_to_count(store: MemoryStore) -> None:
    pair(store, {}, {})
    for _ in range(5):
        store.recall("Oslo", k=1)
    assert found(store, ASKED, recency_basis="accessed")[0] == "other"


def test_a_recall_does_not_reinforce_itself(store: MemoryStore) -> None:
    pair(store, {"importance": 0.5}, {"importance": 0.51})
    for _ in range(5):
        store.recall("Berlin", k=1)
    first = found(store, ASKED)
    assert all(found(store, ASKED) == first for _ in range(12))
    assert first == ["other", "one"]


def test_the_superseded_weigh_half_where_they_are_asked_for(store: MemoryStore) -> None:
    pair(store, {}, {})
    store.supersede("one", "other")
    hits = store.recall(ASKED, include_superseded=True)
    assert [hit.memory.id for hit in hits] == ["other", "one"]
    assert hits[1].score < 0.6 * hits[0].score


def test_importance_never_lifts_an_unrelated_memory_above_a_related_one(store: MemoryStore) -> None:
    store.remember(PAIR[0], id="related", importance=0.0, confidence=0.5, created_at=NOW - 900 * DAY)
    store.remember("breakfast is at eight", id="unrelated", importance=1.0, contexts=["work"])
    store.remember("the garden of the house", id="hardly", importance=1.0, contexts=["work"])
    assert found(store, ASKED, contexts=["work"])[0] == "related"


@pytest.mark.slow
def test_what_does_not_apply_in_the_context_is_left_out_and_costs_no_place(store: MemoryStore) -> None:
    for n in range(60):
        store.remember(f"the server of the shop runs in room {n}", anti_contexts=["work", "night"])
    store.remember("a server that runs somewhere, nobody knows where", id="fits", anti_contexts=["home"])
    for strategy in ("auto", "hybrid", "rrf", "semantic", "keyword"):
        assert found(store, ASKED, strategy=strategy, contexts=["work", "day"], touch=False) == ["fits"]
    assert len(found(store, ASKED, contexts=["day"])) == 5


@pytest.mark.parametrize(
    ("question", "best"),
    [
        ("which restaurant did we visit two weeks ago", "fortnight"),
        ("which restaurant did we visit yesterday", "yesterday"),
        ("which restaurant did we visit in March 2025", "march"),
        ("which restaurant did we visit", "yesterday"),
    ],
)
def test_a_time_in_the_question_prefers_what_happened_then(store: MemoryStore, question: str, best: str) -> None:
    for id, age in (("yesterday", 1.0), ("fortnight", 14.0), ("march", 92.0), ("year", 400.0)):
        store.remember(f"the restaurant we visit is called {id[::-1]}", id=id, occurred_at=NOW - age * DAY)
    assert found(store, question)[0] == best


def test_times_are_seen_from_when_the_question_is_asked(store: MemoryStore) -> None:
    for id, age in (("near", 14.0), ("far", 114.0)):
        store.remember(f"the restaurant we visit is called {id[::-1]}", id=id, occurred_at=NOW - age * DAY)
    question = "which restaurant did we visit two weeks ago"
    assert found(store, question, touch=False)[0] == "near"
    assert found(store, question, asked_at=NOW - 100 * DAY, touch=False)[0] == "far"


def test_a_quoted_phrase_is_preferred_to_its_words(store: MemoryStore) -> None:
    store.remember("a house of green, and glass for the plants", id="apart")
    store.remember("plants for the glass of a green house, and", id="phrase")
    assert found(store, 'what did we say of the "green house"')[0] == "phrase"


def test_mood_is_blended_with_the_score_against_the_best() -> None:
    happy = memory("happy", valence=1.0, arousal=1.0)
    sad, unknown = memory("sad", valence=-1.0, arousal=-1.0), memory("unknown")
    hits = [Hit(sad, 2.0), Hit(happy, 1.0), Hit(unknown, 0.5)]
    scores = {hit.memory.id: hit.score for hit in blend_mood(hits, (1.0, 1.0), 0.3)}
    assert scores == pytest.approx({"sad": 0.7, "happy": 0.7 * 0.5 + 0.3, "unknown": 0.7 * 0.25 + 0.15})


def test_scores_below_zero_are_not_turned_round() -> None:
    hits = [Hit(memory("a", trust=0.1), -0.1), Hit(memory("b"), -0.9)]
    query = Query("x", asked_at=NOW, emotion=(0.0, 0.0))
    assert [hit.memory.id for hit in adjust(hits, understand(query))] == ["a", "b"]
