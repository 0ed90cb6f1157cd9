"""Times as a person writes and reads them."""

from __future__ import annotations

import pytest

from nacre.cli.ui.times import DAY, HOUR, age, held_on, known_by, since, until
from nacre.errors import InvalidInput
from nacre.model.instants import seconds

NOW = seconds("2026-03-31T12:00:00Z")


@pytest.mark.parametrize(
    ("values", "back"), [("30m", HOUR / 2), ("2h", 2 * HOUR), ("7d", 7 * DAY), ("4w", 28 * DAY), (" 1 D ", DAY)]
)
def test_a_length_means_that_long_ago(values: str, back: float) -> None:
    assert since(values, NOW) == NOW - back


def test_a_date_means_its_midnight_for_since_and_all_of_it_for_until() -> None:
    assert since("2026-03-30", NOW) == seconds("2026-03-30T00:00:00Z")
    assert seconds("2026-03-30T23:59:59.999Z") < until("2026-03-30", NOW) < seconds("2026-03-31T00:00:00Z")
    assert until("2026-03-30T09:00:00Z", NOW) == seconds("2026-03-30T09:00:00Z")


@pytest.mark.parametrize("values", ["", "7", "7x", "-7d", "soon", "2026-13-01", "0001-01-01T00:00+14:00"])
def test_anything_else_is_refused_with_examples(values: str) -> None:
    with pytest.raises(InvalidInput, match="7d"):
        since(values, NOW)


@pytest.mark.parametrize(
    ("passed", "output"),
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
def test_an_age_is_printed_in_its_largest_unit(passed: float, output: str) -> None:
    assert age(NOW - passed, NOW) == output


def test_what_was_known_on_a_date_is_what_was_known_when_it_ended() -> None:
    assert known_by("2026-03-30", NOW) == until("2026-03-30", NOW)
    assert known_by("2026-03-30T09:00:00Z", NOW) == seconds("2026-03-30T09:00:00Z")
    assert known_by("7d", NOW) == NOW - 7 * DAY


@pytest.mark.parametrize("today", ["2026-03-31", "2026-04-01"])
def test_todays_date_in_any_part_of_the_world_means_what_is_known_now(today: str) -> None:
    assert known_by(today, NOW) == NOW


@pytest.mark.parametrize("values", ["2026-04-02", "2026-03-31T12:00:01Z"])
def test_what_will_be_known_cannot_be_asked(values: str) -> None:
    with pytest.raises(InvalidInput, match="still to come"):
        known_by(values, NOW)


def test_what_held_on_a_date_is_what_held_at_its_noon() -> None:
    assert held_on("2026-03-30", NOW) == seconds("2026-03-30T12:00:00Z")
    assert held_on("2027-03-30T08:00:00Z", NOW) == seconds("2027-03-30T08:00:00Z")
    assert held_on("2h", NOW) == NOW - 2 * HOUR


def test_words_name_a_time_whose_start_end_or_middle_is_meant() -> None:
    assert (since("last week", NOW), until("letzte Woche", NOW)) == (seconds("2026-03-23"), until("2026-03-29", NOW))
    assert known_by("yesterday", NOW) == until("2026-03-30", NOW)
    assert known_by("this week", NOW) == NOW
    assert held_on("yesterday", NOW) == seconds("2026-03-30T12:00:00Z")
    assert since("3 days ago", NOW) == until("hace 3 días", NOW) == NOW - 3 * DAY
    with pytest.raises(InvalidInput, match="still to come"):
        known_by("next week", NOW)
