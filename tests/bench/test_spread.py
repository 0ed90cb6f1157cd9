"""Folds and thresholds: what guards against a lucky split and a false alarm."""

from __future__ import annotations

import pytest

from nacre.bench.metrics import abstention, area, distribution, folds, percentile, score

HIT, MISS = score("a", frozenset("a")), score("b", frozenset("a"))


def test_folds_are_conversations_where_there_are_several() -> None:
    found = folds([(0, HIT), (0, MISS), (1, HIT)])
    assert found["by"] == "corpus"
    assert [(part["n"], part["any@5"]) for part in found["each"]] == [(2, 50), (1, 100)]
    assert found["spread"]["any@5"] == {"mean": 75, "sd": 35.36, "least": 50, "most": 100}


@pytest.mark.parametrize("corpora", [[0] * 12, list(range(12))], ids=["one corpus", "a corpus a question"])
def test_folds_are_five_seeded_parts_of_the_questions_otherwise(corpora: list[int]) -> None:
    judgements = [(corpus, HIT if place % 3 else MISS) for place, corpus in enumerate(corpora)]
    found = folds(judgements)
    assert found["by"] == "question"
    assert [part["n"] for part in found["each"]] == [3, 3, 2, 2, 2]
    assert found == folds(judgements)


def test_a_single_question_is_one_fold_and_none_is_none() -> None:
    assert folds([(0, HIT)])["spread"]["mrr"] == {"mean": 100, "sd": 0, "least": 100, "most": 100}
    assert folds([])["spread"] == {}


def test_percentiles_are_values_that_occurred() -> None:
    assert [percentile([1, 2, 3, 4], share) for share in (5, 50, 75, 95)] == [1, 2, 3, 4]
    assert distribution([]) == {"n": 0}
    assert distribution([3, 1, 2])["p50"] == 2


def test_the_area_counts_a_link_as_half() -> None:
    assert area([0.9, 0.5], [0.5, 0.1]) == 0.875
    assert area([0.9], [0.1]) == 1
    assert area([0.5], []) is None


def test_a_threshold_silences_what_lies_below_it() -> None:
    found = abstention([0.9, 0.5, 0.2], [0.5, 0.1])
    half = found["thresholds"][4]
    assert half == {"min_relevance": 0.5, "silenced": 50, "kept": 66.67}
    assert [each["min_relevance"] for each in found["thresholds"]] == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert (found["answerable"]["n"], found["unanswerable"]["n"]) == (3, 2)


def test_without_unanswerable_questions_nothing_is_claimed_of_them() -> None:
    found = abstention([0.9], [])
    assert found["auc"] is None
    assert all(each["silenced"] is None and each["kept"] is not None for each in found["thresholds"])
