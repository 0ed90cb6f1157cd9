"""Times as a person writes and reads them."""

from __future__ import annotations

import pytest

from nacre.cli.times import DAY, HOUR, age, since, until
from nacre.errors import InvalidInput
from nacre.model.instants import seconds

NOW = seconds("2026-03-31T12:00:00Z")


@pytest.mark.parametrize(
    ("given", "back"), [("30m", HOUR / 2), ("2h", 2 * HOUR), ("7d", 7 * DAY), ("4w", 28 * DAY), (" 1 D ", DAY)]
)
def test_a_length_means_that_long_ago(given: str, back: float) -> None:
    assert since(given, NOW) == NOW - back


def test_a_date_means_its_midnight_for_since_and_all_of_it_for_until() -> None:
    assert since("2026-03-30", NOW) == seconds("2026-03-30T00:00:00Z")
    assert until("2026-03-30", NOW) == seconds("2026-03-31T00:00:00Z")
    assert until("2026-03-30T09:00:00Z", NOW) == seconds("2026-03-30T09:00:00Z")


@pytest.mark.parametrize("given", ["", "7", "7x", "-7d", "soon", "2026-13-01", "0001-01-01T00:00+14:00"])
def test_anything_else_is_refused_with_examples(given: str) -> None:
    with pytest.raises(InvalidInput, match="7d"):
        since(given, NOW)


@pytest.mark.parametrize(
    ("passed", "told"),
    [
        (0, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (2 * HOUR + 1, "2 h ago"),
        (3 * DAY, "3 d ago"),
        (62 * DAY, "2 mo ago"),
        (800 * DAY, "2 y ago"),
        (-3 * DAY, "in 3 d"),
    ],
)
def test_an_age_is_told_in_its_largest_unit(passed: float, told: str) -> None:
    assert age(NOW - passed, NOW) == told
