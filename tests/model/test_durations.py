"""Lengths of time, written and read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from nacre.errors import InvalidInput
from nacre.model.instants import UNIT_SECONDS, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30m", 1800.0),
        ("90", 90.0),
        (90, 90.0),
        ("1.5", 1.5),
        ("45s", 45.0),
        ("24h", 86_400.0),
        ("7d", 604_800.0),
        ("2w", 1_209_600.0),
        ("1h 30m", 5_400.0),
        ("1h30m", 5_400.0),
        (" 1H 30M ", 5_400.0),
        ("1.5h", 5_400.0),
        ("2 h", 7_200.0),
        ("0", 0.0),
    ],
)
def test_a_duration_is_read_in_seconds(text: str | float, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "  ", "m", "soon", "5x", "1h and 30m", "-5m", "-5", "1h-30m", "inf", "nan", "off", "٣h"]
)
def test_what_is_no_duration_is_a_value_error_that_shows_one(text: str) -> None:
    with pytest.raises(InvalidInput, match="30m") as caught:
        parse_duration(text)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (3661, "1h 1m"),
        (0, "0s"),
        (0.4, "0s"),
        (59, "59s"),
        (60, "1m"),
        (86_400, "1d"),
        (90_061, "1d 1h"),
        (604_800, "1w"),
    ],
)
def test_a_duration_is_told_in_its_two_largest_units(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(some.integers(min_value=0, max_value=10**9))
def test_what_is_told_is_read_again_as_nearly_the_same(seconds: int) -> None:
    again = parse_duration(format_duration(seconds))
    largest = max((length for length in UNIT_SECONDS.values() if length <= max(seconds, 1)), default=1)
    assert seconds - largest < again <= seconds
