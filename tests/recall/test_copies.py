"""Copies of a note: each for itself where that is asked for, and in an order that rounding does not decide."""

from __future__ import annotations

import pytest

from nacre import MemoryStore
from nacre.model import Hit, Query
from nacre.recall.gather import understand
from nacre.recall.signals import adjust, rank_places
from tests.recall.factories import found
from tests.samples import memory


@pytest.mark.parametrize("strategy", ["auto", "semantic", "keyword", "hybrid", "rrf"])
def test_copies_stand_each_for_itself_where_that_is_asked_for(store: MemoryStore, strategy: str) -> None:
    for n in range(3):
        store.remember("the wifi code is blue horse", id=f"copy{n}")
    copies = found(store, "wifi code", strategy=strategy, collapse=False)
    assert sorted(copies) == ["copy0", "copy1", "copy2"]
    assert len(found(store, "wifi code", strategy=strategy)) == 1


def test_scores_that_only_rounding_tells_apart_share_a_place() -> None:
    assert rank_places([0.5, 0.9, 0.90000003, 0.1]) == {0.90000003: 0, 0.9: 0, 0.5: 2, 0.1: 3}
    assert rank_places([2e-6, 1e-6]) == {2e-6: 0, 1e-6: 1}
    assert rank_places([-0.1, -0.9]) == {-0.1: 0, -0.9: 1}


def test_importance_and_then_age_decide_where_only_rounding_does() -> None:
    query = Query("anything", strategy="semantic")
    hits = [
        Hit(memory("low", "x", importance=0.1), 0.7000001),
        Hit(memory("old", "x", importance=0.9, created_at=1.0), 0.7),
        Hit(memory("new", "x", importance=0.9, created_at=2.0), 0.69999995),
    ]
    assert [hit.memory.id for hit in adjust(hits, understand(query))] == ["new", "old", "low"]
