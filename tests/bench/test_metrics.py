"""The metrics against values computed by hand."""

from __future__ import annotations

import math

import pytest

from nacre.bench.metrics import means, score, summarize

SECOND, THIRD = 1 / math.log2(3), 1 / math.log2(4)


def test_one_of_two_at_the_second_place() -> None:
    scores = score(["x", "a", "y", "z", "w", "v"], frozenset("ab"))
    assert scores["mrr"] == 50
    assert (scores["any@1"], scores["any@5"]) == (0, 100)
    assert (scores["recall@1"], scores["recall@5"], scores["recall@20"]) == (0, 50, 50)
    assert (scores["all@5"], scores["all@20"]) == (0, 0)
    # True NDCG: the ideal has both, though one was never found.
    assert scores["ndcg@5"] == pytest.approx(100 * SECOND / (1 + SECOND))


def test_the_ideal_holds_no_more_than_the_depth() -> None:
    scores = score(["a"], frozenset("abc"))
    assert scores["ndcg@1"] == 100
    assert scores["ndcg@5"] == pytest.approx(100 / (1 + SECOND + THIRD))
    assert scores["all@1"] == 0


def test_all_found_but_late() -> None:
    scores = score([*"uvwxy", "a", "b"], frozenset("ab"))
    assert (scores["all@5"], scores["all@10"]) == (0, 100)
    assert scores["mrr"] == pytest.approx(100 / 6)
    assert scores["ndcg@10"] == pytest.approx(100 * (1 / math.log2(7) + 1 / math.log2(8)) / (1 + SECOND))


def test_a_perfect_ranking_scores_a_hundred_wherever_it_has_room() -> None:
    scores = score(["a", "b"], frozenset("ab"))
    assert {name for name, score in scores.items() if score < 100} == {"recall@1", "all@1"}


def test_nothing_found_scores_nothing() -> None:
    assert set(score([], frozenset("a")).values()) == {0}


def test_means_are_over_questions_and_by_category() -> None:
    whole = summarize([("x", {"mrr": 100.0}), ("x", {"mrr": 50.0}), ("y", {"mrr": 0.0})])
    assert whole == {"mrr": 50.0, "by_category": {"x": {"n": 2, "mrr": 75.0}, "y": {"n": 1, "mrr": 0.0}}}


def test_the_mean_of_nothing_is_nothing() -> None:
    assert means([]) == {}
