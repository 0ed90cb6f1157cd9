"""Times as people write them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nacre.errors import InvalidInput
from nacre.model.instants import DAY, FIRST, LAST, day, end_of_day, is_day, iso, last_day, seconds

NOON = 1774958400.0  # 2026-03-31T12:00:00Z


@pytest.mark.parametrize(
    "written",
    [
        NOON, int(NOON), "2026-03-31T12:00:00Z", "2026-03-31T12:00:00", " 2026-03-31 12:00 ",
        "2026-03-31T14:00:00+02:00",
        datetime(2026, 3, 31, 12), datetime(2026, 3, 31, 14, tzinfo=timezone(timedelta(hours=2))),
    ],
)  # fmt: skip
def test_many_ways_to_write_one_time(written: Any) -> None:
    assert seconds(written) == NOON


@pytest.mark.parametrize("written", ["2026-03-31", " 20260331 ", date(2026, 3, 31)])
def test_a_day_ends_where_the_next_one_begins(written: Any) -> None:
    assert is_day(written) and end_of_day(written) == seconds("2026-04-01")
    assert last_day(end_of_day(written)) == last_day(NOON) == "2026-03-31"


def test_what_has_a_clock_is_no_day_and_the_last_one_ends_with_the_calendar() -> None:
    assert not any(map(is_day, (NOON, "2026-03-31T12:00", datetime(2026, 3, 31), "yesterday")))
    assert end_of_day("9999-12-31") == LAST and last_day(FIRST) == "0001-01-01"


def test_a_date_means_its_midnight() -> None:
    assert seconds(date(2026, 3, 31)) == seconds("2026-03-31") == NOON - 43200


@pytest.mark.parametrize(
    "written",
    ["yesterday", "", "2026-13-01", "12", float("nan"), float("inf"), -float("inf"),
     True, 10**400, 1e300, -1e15, None, [], b"2026-01-01"],
)  # fmt: skip
def test_what_is_no_time_is_refused(written: Any) -> None:
    with pytest.raises(InvalidInput, match="2026-03-31"):
        seconds(written)


@example(at=1e-7)
@example(at=1774958400.1234563)
@example(at=-1774958400.1234563)
@given(at=st.floats(FIRST, LAST - 1))
def test_every_admitted_time_can_be_shown_and_read_back_to_the_microsecond_and_never_earlier(at: float) -> None:
    shown = seconds(iso(seconds(at)))
    assert at <= shown <= at + 2e-6 + 1e-15 * abs(at)
    assert iso(shown) == iso(at)


@example(at=-1e-300)
@example(at=DAY - 1e-7)
@given(at=st.floats(FIRST, LAST - 1))
def test_every_time_is_within_its_day(at: float) -> None:
    begin = seconds(day(at))
    assert begin <= at < begin + DAY


@given(moment=st.datetimes(timezones=st.just(UTC)))
def test_every_datetime_but_the_last_second_is_admitted(moment: datetime) -> None:
    if moment.year < 9999:
        assert seconds(moment) == moment.timestamp()


def test_no_time_is_shown_as_nothing() -> None:
    assert iso(None) == ""
    assert iso(NOON) == "2026-03-31T12:00:00Z"
    assert iso(NOON + 0.25) == "2026-03-31T12:00:00.250000Z"
