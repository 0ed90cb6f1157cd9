"""Whatever is asked, and whenever, times are read without harm."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nacre.model.instants import FIRST, LAST
from nacre.text.dates import time_windows, when_weight
from tests.growth import grows_in_proportion
from tests.property.strategies import texts

pieces = st.sampled_from(
    "in on the of since before after until between and from to last this next past early mid- end first half week month"
    " year weekend day days ago a few couple two 3 29 31st third 0 99 999 2-3 May march fall Spring Q3 Monday morning"
    " night February 2023 1900 2099 2023-02-30 12/31/1999 Christmas Easter yesterday tonight , - – . ? ' \0".split(" ")
)
phrases = st.lists(pieces, max_size=12).map(" ".join)
instants = st.floats(FIRST, LAST)


@settings(max_examples=settings().max_examples * 3)
@given(question=texts | phrases, asked_at=instants, at=instants)
@example(question="two weeks before yesterday, 999 years ago, last winter", asked_at=FIRST, at=LAST)
@example(question="la\u017ft wee\u212a, \u0662 days ago, \u0130n May", asked_at=0.0, at=0.0)
@example(question="tomorrow, next year, next winter, the year after Christmas", asked_at=LAST, at=FIRST)
def test_any_question_gives_finite_ordered_windows_of_its_own_words(question: str, asked_at: float, at: float) -> None:
    windows = time_windows(question, asked_at)
    assert windows == time_windows(question, asked_at)
    for window in windows:
        assert math.isfinite(window.start) and math.isfinite(window.end)
        assert FIRST <= window.start < window.end <= LAST
        assert window.words in question
    assert 0.0 <= when_weight(at, windows) <= 1.0


@pytest.mark.parametrize(
    "flood", ["in the ", " ", "a ", "2 - ", "1", "May ", "the end of ", "-", "12/", "first half ", "May 5 to "]
)
def test_no_text_is_tried_in_every_combination(flood: str) -> None:
    assert grows_in_proportion(lambda text: time_windows(text, 0.0), flood)
