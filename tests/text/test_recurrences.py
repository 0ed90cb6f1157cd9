"""What comes again, and the times at which it does."""

from __future__ import annotations

import pytest

from nacre.model.instants import DAY, FIRST, LAST, seconds
from nacre.text.dates import Window
from nacre.text.recurrences import PERHAPS_THEN, recurrence_weight

THURSDAY = Window(seconds("2026-11-19"), seconds("2026-11-20"), "")
APRIL = Window(seconds("2027-04-01"), seconds("2027-05-01"), "")


@pytest.mark.parametrize(
    "text",
    [
        "Chess club meets every Thursday at 20:00.",
        "The window cleaner comes on Thursday mornings.",
        "Closed on Thursdays",
        "Dr. Osei is here every Monday and Thursday.",
        "Donnerstags ist Chor.",
        "Der Chor probt jeden Donnerstag.",
        "El coro ensaya cada jueves.",
        "Helen's birthday is 19 November.",
    ],
)
def test_what_comes_every_week_or_year_is_of_each_such_day(text: str) -> None:
    assert recurrence_weight(text, [THURSDAY]) == 1.0
    assert recurrence_weight(text, [Window(THURSDAY.start + DAY, THURSDAY.end + DAY, "")]) == 0.0
    assert recurrence_weight(text, []) == 0.0


@pytest.mark.parametrize(
    "text",
    ["Choir practice: Thursday 19:00", "The last Thursday of each month is free", "Chor: Donnerstag, Pfarrsaal"],
)
def test_a_weekday_that_is_only_named_may_be_any_such_day(text: str) -> None:
    assert recurrence_weight(text, [THURSDAY]) == PERHAPS_THEN


@pytest.mark.parametrize(
    "text",
    [
        "We leave on Thursday, 5 March.",
        "We left last Thursday.",
        "It has been closed since Thursday.",
        "Every guest gets a towel. The pool closes on Friday.",
        "The trip was on 19 November 2024, and every guest came.",
    ],
)
def test_a_day_that_was_once_does_not_come_again(text: str) -> None:
    assert recurrence_weight(text, [THURSDAY]) == 0.0


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("The road tax is due every year in April.", 1.0),
        ("The insurance renews on 3 April each year.", 1.0),
        ("Quarterly report is due on the 10th of January, April, July and October.", 1.0),
        ("Mamas Geburtstag ist am 3. April.", 1.0),
        ("The road tax is due every year in May.", 0.0),
        ("The road tax is due in April.", 0.0),  # of one year
        ("Chess club meets every Thursday at 20:00.", 0.0),  # a month is not asked about for a weekday
    ],
)
def test_what_comes_every_year_is_of_that_month_of_each_year(text: str, weight: float) -> None:
    assert recurrence_weight(text, [APRIL]) == weight


def test_a_time_without_an_end_has_no_such_day() -> None:
    open_times = [Window(FIRST, THURSDAY.end, ""), Window(THURSDAY.start, LAST, "")]
    assert recurrence_weight("Chess club meets every Thursday.", open_times) == 0.0


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("Choir every Thursday until 2023", 0.0),
        ("Open every Thursday until 20:00", 1.0),
        ("Open every Thursday except in May", 1.0),
        ("Open every morning, except on Thursday", 0.0),
        ("Each department reports in November to Clara", PERHAPS_THEN),
    ],
)
def test_ends_exceptions_and_longer_times_count_less(text: str, weight: float) -> None:
    assert recurrence_weight(text, [THURSDAY]) == weight


def day_window(first: str, days: int = 1) -> Window:
    return Window(seconds(first), seconds(first) + days * DAY, "")


@pytest.mark.parametrize(
    ("text", "days", "other"),
    [
        ("The rent is due on the 31st of every month.", ("2026-05-31", "2026-04-30", "2028-02-29"), "2026-05-30"),
        ("Every month on the 5th the meters are read.", ("2026-05-05",), "2026-05-06"),
        ("Payroll runs monthly, on the 1st and the 15th.", ("2026-05-01", "2026-06-15"), "2026-05-05"),
        ("Invoices go out on the last day of each month.", ("2026-02-28", "2026-05-31"), "2026-05-30"),
        ("Die Miete wird am 15. jeden Monats abgebucht.", ("2026-05-15",), "2026-05-16"),
        ("Invoices go out at the end of each month.", ("2026-04-30",), "2026-04-29"),
        ("Ende jeden Monats wird abgerechnet.", ("2026-04-30",), "2026-04-29"),
        ("Am letzten Tag jeden Monats ist Inventur.", ("2026-04-30",), "2026-04-29"),
        ("El alquiler se paga el día 5 de cada mes.", ("2026-05-05",), "2026-05-06"),
        ("Le loyer est dû le 1er de chaque mois.", ("2026-05-01",), "2026-05-02"),
        ("L'affitto si paga il 5 d'ogni mese.", ("2026-05-05",), "2026-05-06"),
        ("每月5日交房租。", ("2026-05-05",), "2026-05-06"),
    ],
)
def test_what_comes_every_month_is_of_that_day_of_each(text: str, days: tuple[str, ...], other: str) -> None:
    assert [recurrence_weight(text, [day_window(each)]) for each in days] == [1.0] * len(days)
    assert recurrence_weight(text, [day_window(other)]) == 0.0
    assert recurrence_weight(text, [day_window("2026-01-01", 365)]) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "The rent is due on the 5th.",
        "It is paid every month until the 5th of May.",
        "Every month we sell 5 boats at 5.00 each.",
        "The monthly report is at 05:05, room 5.",
    ],
)
def test_a_number_is_no_day_of_every_month(text: str) -> None:
    assert recurrence_weight(text, [day_window("2026-04-05")]) == 0.0


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("The board meets on the 2nd Tuesday of every month.", "2026-04-02"),
        ("The monthly report is due in the 2nd week.", "2026-04-02"),
        ("Wages are paid on the 3rd working day of each month.", "2026-04-03"),
        ("The 19th-century club meets every month.", "2026-04-19"),
        ("The monthly meeting is on the 45th floor.", "2026-04-30"),
        ("The monthly report is sent at the end of the week.", "2026-04-30"),
        ("Der Stammtisch ist monatlich, Ende offen.", "2026-04-30"),
        ("每月吃99号菜。", "2026-04-30"),
    ],
)
def test_what_is_counted_is_no_day_of_every_month(text: str, day: str) -> None:
    assert recurrence_weight(text, [day_window(day)]) == 0.0


def test_only_one_of_the_weekdays_of_a_month_is_named_by_its_number() -> None:
    assert recurrence_weight("The board meets on the 2nd Tuesday of every month.", [day_window("2026-04-21")]) < 1.0
