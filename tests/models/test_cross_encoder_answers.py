"""The shipped cross-encoder reads a question with the best memories, as many as there is time for."""

from __future__ import annotations

import sys

import pytest

from nacre.models import cross_encoder
from nacre.models.cross_encoder import (
    BEGINNING,
    FIRST_PACE,
    FIRST_READ,
    MOST_READ,
    Pace,
    ShippedAnswerModel,
    constants,
    is_loaded,
    load_in_background,
)

QUESTION = "When does the bakery close on Saturdays?"
TEXTS = ["The bakery closes at one on Saturdays.", "Anna prefers green tea."]
LONG = 1e6  # milliseconds: there is always time


def asked(texts: list[str]) -> list[tuple[str, str]]:
    return [(QUESTION, text) for text in texts]


def test_a_memory_that_answers_gains_more_than_one_that_does_not() -> None:
    right, wrong = ShippedAnswerModel(LONG).answers(asked(TEXTS))
    assert right.gain > wrong.gain >= 0 and right.log_odds > wrong.log_odds


def test_at_most_eight_are_read_and_fewer_where_there_is_no_time() -> None:
    many = [f"Memory number {number} is about tea." for number in range(20)]
    assert len(ShippedAnswerModel(LONG).answers(asked(many))) == MOST_READ
    tokens = len(cross_encoder.graph().pair(QUESTION, many[0]).ids)
    some = ShippedAnswerModel(3.5 * tokens, pace=Pace(1.0)).answers(asked(many))
    assert len(some) == 3
    assert ShippedAnswerModel(1.5 * tokens, pace=Pace(1.0)).answers(asked(many)) == []
    assert ShippedAnswerModel(LONG).answers([]) == []


def test_of_long_texts_the_beginning_is_read_where_there_is_no_time_for_more() -> None:
    more = " ".join(f"The shelf number {number} holds flour." for number in range(60))
    texts = [f"{text} {more}" for text in TEXTS]
    tight = ShippedAnswerModel(BEGINNING * 2.5, pace=Pace(1.0)).answers(asked(texts))
    assert len(tight) == 2 and tight[0].log_odds > tight[1].log_odds
    assert tight != ShippedAnswerModel(LONG).answers(asked(texts))
    assert ShippedAnswerModel(BEGINNING * 1.5, pace=Pace(1.0)).answers(asked(texts)) == []


def test_where_one_of_the_first_surely_answers_no_more_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [TEXTS[0], *(f"Memory number {number} is about tea." for number in range(20))]
    right = ShippedAnswerModel(LONG).answers(asked(many[:1]))[0]
    monkeypatch.setattr(cross_encoder, "SURE", right.log_odds - 0.1)
    assert len(ShippedAnswerModel(LONG).answers(asked(many))) == FIRST_READ
    assert len(ShippedAnswerModel(LONG).answers(asked(many[1:]))) == MOST_READ


def test_the_pace_follows_what_was_measured() -> None:
    pace = Pace()
    for _ in range(30):
        pace.record(100, 5.0)
    assert pace.ms_a_token == pytest.approx(0.05, rel=0.01)
    assert pace.affordable([100, 100, 100], 11) == 2


def test_after_a_slow_time_it_is_tried_again() -> None:
    pace = Pace(FIRST_PACE * 100)
    model = ShippedAnswerModel(80, pace=pace)
    assert model.answers([]) == [] and pace.ms_a_token == FIRST_PACE * 100
    assert model.answers(asked(["Tea is nice.", "Tea is hot."])) == []
    assert any(model.answers(asked(["Tea is nice.", "Tea is hot."])) for _ in range(200))


def test_a_single_memory_is_read_too() -> None:
    assert len(ShippedAnswerModel(LONG).answers(asked(TEXTS[:1]))) == 1


@pytest.mark.slow
def test_the_model_is_waited_for_only_in_the_first_seconds_of_its_loading() -> None:
    cross_encoder._graph.cache_clear()
    assert len(ShippedAnswerModel(LONG, patience=60).answers(asked(TEXTS))) == 2


@pytest.mark.slow
def test_without_patience_nobody_waits_for_the_model() -> None:
    cross_encoder._graph.cache_clear()
    model = ShippedAnswerModel(LONG, patience=0)
    assert model.answers(asked(TEXTS)) == []
    load_in_background().join(60)
    assert is_loaded() and len(model.answers(asked(TEXTS))) == 2


@pytest.mark.parametrize("patience", [None, 0, 3])
def test_without_onnxruntime_nothing_is_read(patience: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    cross_encoder._graph.cache_clear()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert ShippedAnswerModel(LONG, patience=patience).answers(asked(TEXTS)) == []
    load_in_background().join(60)
    assert not is_loaded()


def test_the_numbers_of_the_head_were_fitted_for_these_weights() -> None:
    assert constants("answers").keys() == {"weight"} and constants("answers")["weight"] > 0
