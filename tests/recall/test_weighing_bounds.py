"""How much each factor may move a score, at the ends of its range."""

from __future__ import annotations

import math
from typing import Any

import pytest

from nacre import MemoryStore
from nacre.model import Hit, Query
from nacre.recall.gather import understand
from nacre.recall.signals import adjust
from tests.recall.factories import DAY, NOW, found
from tests.samples import memory

LONG_AGO = NOW - 10_000 * DAY  # nothing is left of recency


def scored(score: float = 1.0, *, asking: dict[str, Any] | None = None, text: str = "x", **fields: Any) -> float:
    given = {"importance": 0.5, "confidence": 1.0, "trust": 1.0, "created_at": LONG_AGO, **fields}
    query = Query(text, asked_at=NOW, **(asking or {}))
    (hit,) = adjust([Hit(memory("m", **given), score)], understand(query))
    return hit.score


def test_a_memory_of_middling_worth_and_great_age_keeps_its_score() -> None:
    assert scored(0.37) == pytest.approx(0.37)


@pytest.mark.parametrize(
    ("fields", "factor"),
    [
        ({"importance": 1.0}, 1.05),
        ({"importance": 0.0}, 0.95),
        ({"confidence": 0.0}, 0.75),
        ({"trust": 0.0}, 0.85),
        ({"confidence": 0.5, "trust": 0.5}, 0.875 * 0.925),
        ({"superseded_by": "n"}, 0.5),
        ({"created_at": NOW}, 1.1),
        ({"created_at": NOW + 5 * DAY}, 1.1),
        ({"created_at": NOW - 120 * DAY}, 1 + 0.1 / math.e),
        ({"created_at": NOW, "occurred_at": NOW - 120 * DAY}, 1 + 0.1 / math.e),
        ({"created_at": NOW, "session": "s", "position": 1}, 1.0),
        ({"access_count": 1_000}, 1.0),
    ],
)
def test_a_factor_moves_a_score_by_so_much_and_no_more(fields: dict[str, Any], factor: float) -> None:
    assert scored(2.0, **fields) == pytest.approx(2.0 * factor)


@pytest.mark.parametrize(
    ("uses", "factor"), [(0, 1.0), (4, 1 + 0.02 * math.log(5) / math.log(21)), (20, 1.02), (21, 1.02), (900, 1.02)]
)
def test_use_counts_up_to_twenty_times_where_it_is_to_count(uses: int, factor: float) -> None:
    fields: dict[str, Any] = {"access_count": uses, "last_accessed": LONG_AGO, "created_at": NOW}
    assert scored(asking={"recency_basis": "accessed"}, **fields) == pytest.approx(factor)


@pytest.mark.parametrize(
    ("contexts", "factor"), [(["work"], 1.1), (["work", "home"], 1.1), (["garden"], 1.0), ([], 1.0)]
)
def test_one_shared_context_lifts_a_score_once(contexts: list[str], factor: float) -> None:
    assert scored(asking={"contexts": ("work", "home")}, contexts=tuple(contexts)) == pytest.approx(factor)


@pytest.mark.parametrize(("occurred_at", "factor"), [(NOW - DAY, 1.0), (LONG_AGO, 0.7)])
def test_outside_of_the_time_that_is_asked_for_seven_tenths_are_left(occurred_at: float, factor: float) -> None:
    assert scored(text="what was true yesterday", occurred_at=occurred_at) == pytest.approx(factor)


@pytest.mark.parametrize(("occurred_at", "factor"), [(NOW - DAY, 1.0), (LONG_AGO, 0.35)])
def test_of_what_happened_at_another_time_half_of_that_is_left(occurred_at: float, factor: float) -> None:
    assert scored(text="what happened yesterday", occurred_at=occurred_at) == pytest.approx(factor)


def test_a_question_for_the_first_of_several_does_not_prefer_the_newer() -> None:
    assert scored(text="Which kiln did we have originally?", created_at=NOW) == 1


@pytest.mark.parametrize("score", [-0.4, 0.0])
def test_a_score_that_is_not_above_zero_is_not_scaled_and_tells_no_factor(score: float) -> None:
    query = Query("x", asked_at=NOW)
    given = Hit(memory("m", importance=1.0, trust=0.1, created_at=NOW), score)
    assert adjust([given], understand(query)) == [given]


def test_scores_that_only_rounding_tells_apart_are_ordered_by_importance_then_by_age() -> None:
    query = Query("x", strategy="semantic", asked_at=NOW)
    hits = [
        Hit(memory("plain", importance=0.5, created_at=NOW), 0.8),
        Hit(memory("old", importance=0.9, created_at=NOW - DAY), 0.8 * (1 - 9e-7)),
        Hit(memory("new", importance=0.9, created_at=NOW), 0.8 * (1 - 5e-7)),
        Hit(memory("less", importance=1.0, created_at=NOW), 0.8 * (1 - 4e-6)),
    ]
    ranked = adjust(hits, understand(query))
    assert [hit.memory.id for hit in ranked] == ["new", "old", "plain", "less"]


def test_with_one_place_a_superseded_best_match_yields_to_its_successor(store: MemoryStore) -> None:
    store.remember("the server of the shop runs in Berlin", id="old")
    store.remember("the server of the shop runs in Oslo now", id="new", on_conflict="ignore")
    store.supersede("old", "new")
    question = "the server of the shop runs in Berlin"
    assert found(store, question, k=1, include_superseded=True) == ["new"]
    assert found(store, question, k=2, include_superseded=True) == ["new", "old"]
