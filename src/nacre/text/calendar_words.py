"""What the words of the calendar stand for, as spans of UTC time: months, seasons, feasts, counts, units."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

DAY = timedelta(days=1)
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
WEEKDAYS = "mon tue wed thu fri sat sun".split()
SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}  # northern; the month each begins with
ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
    " sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third twenty-fourth"
    " twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first".split()
)
NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
# What people mean by a count: from, to. Vague ones are wide.
COUNTS: dict[str, tuple[float, float]] = {word: (count, count) for count, word in enumerate(NUMBERS, 1)} | {
    "a": (1, 1),
    "an": (1, 1),
    "half a": (0.5, 0.5),
    "couple": (2, 3),
    "few": (2, 5),
    "several": (3, 8),
    "dozen": (12, 12),
    "fifteen": (15, 15),
    "twenty": (20, 20),
}
UNITS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": DAY,
    "night": DAY,
    "week": 7 * DAY,
    "month": timedelta(days=30.4375),  # a twelfth of a year; what is said in months is never meant to the day
    "year": timedelta(days=365.25),
}
# The hours of a day by name; a night runs into the next morning. Wide, since the zone of who asks is not known.
HOURS = {"morning": (4, 12), "afternoon": (12, 18), "evening": (16, 24), "night": (18, 30)}
EASTER = (0, 0)
# (month, day), or (month, weekday, which one of the month), as in the United States.
FEASTS: dict[str, tuple[int, ...]] = {
    "christmas eve": (12, 24),
    "christmas day": (12, 25),
    "christmas": (12, 25),
    "halloween": (10, 31),
    "new years eve": (12, 31),
    "new years day": (1, 1),
    "new years": (1, 1),
    "valentines day": (2, 14),
    "st patricks day": (3, 17),
    "independence day": (7, 4),
    "thanksgiving": (11, 3, 4),
    "labor day": (9, 0, 1),
    "mothers day": (5, 6, 2),
    "fathers day": (6, 6, 3),
    "easter": EASTER,
}
YEARS_AROUND = 8  # 29 February can be eight years away (1896 to 1904)
JOINED_COUNTS = re.compile(r"\s*[-–]\s*|\s+(?:or|to)\s+")
AND_A_HALF = re.compile(r"\s+and\s+a\s+half\b")


@dataclass(frozen=True, slots=True)
class Span:
    start: datetime
    end: datetime  # the first moment after it

    def part(self, first: float, last: float) -> Span:
        width = self.end - self.start
        return Span(self.start + first * width, self.start + last * width)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A length of time as people give it: «a few weeks»."""

    low: timedelta
    high: timedelta
    unit: str


def midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def days(start: datetime, count: int = 1) -> Span:
    return Span(start, start + count * DAY)


def months(year: int, month: int, count: int = 1) -> Span:
    after = month - 1 + count
    start, end = datetime(year, month, 1, tzinfo=UTC), datetime(year + after // 12, after % 12 + 1, 1, tzinfo=UTC)
    return Span(start, end)


def hours(day: datetime, name: str) -> Span:
    first, last = HOURS.get(name, (0, 24))
    return Span(day + timedelta(hours=first), day + timedelta(hours=last))


def calendar(unit: str, steps: int, asked: datetime) -> Span:
    """The week, weekend, month, quarter or year that lies `steps` away from the one in which it is asked."""
    today = midnight(asked)
    monday = today + (7 * steps - today.weekday()) * DAY
    if unit in ("week", "weekend"):
        return days(monday, 7) if unit == "week" else days(monday + 5 * DAY, 2)
    width = {"month": 1, "quarter": 3, "year": 12}[unit]
    years, month = divmod(((today.month - 1) // width + steps) * width, 12)
    return months(today.year + years, month + 1, width)


def feast(name: str, year: int) -> Span:
    rule = FEASTS[name]
    month, day = easter(year) if rule == EASTER else rule[:2]
    if len(rule) == 3:
        first = datetime(year, month, 1, tzinfo=UTC).weekday()
        day = 1 + (rule[1] - first) % 7 + 7 * (rule[2] - 1)
    return days(datetime(year, month, day, tzinfo=UTC))


def easter(year: int) -> tuple[int, int]:
    """Month and day, after the anonymous Gregorian rule (Nature, 20 April 1876)."""
    century, within = divmod(year, 100)
    moon = year % 19
    correction = (century - (century + 8) // 25 + 1) // 3
    epact = (19 * moon + century - century // 4 - correction + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (within // 4) - epact - within % 4) % 7
    late = (moon + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * late + 114, 31)
    return month, day + 1


def recurring(make: Callable[[int], Span], which: str, asked: datetime) -> Span | None:
    """Of what comes every year the `last`, `this` (the nearest), the `next`, or else the latest that has begun."""
    known = [span for year in range(asked.year - YEARS_AROUND, asked.year + YEARS_AROUND) if (span := made(make, year))]
    if which == "next":
        return next((span for span in known if span.start > asked), None)
    if which == "this":
        return min(known, key=lambda span: abs(span.part(0.5, 1).start - asked), default=None)
    over = [span for span in known if (span.end if which == "last" else span.start) <= asked]
    return over[-1] if over else None


def made(make: Callable[[int], Span], year: int) -> Span | None:
    try:
        return make(year)
    except (ValueError, OverflowError):  # 29 February of a common year, or a year that no calendar shows
        return None


def stretch(text: str) -> Stretch:
    """Reads «two weeks», «2-3 days», «a year and a half»."""
    half = 0.5 if AND_A_HALF.search(text) else 0.0
    words, unit = AND_A_HALF.sub("", text).rsplit(None, 1)
    unit = unit.removesuffix("s")
    counts = [count_of(word) for word in JOINED_COUNTS.split(words)]
    low, high = min(low for low, _ in counts) + half, max(high for _, high in counts) + half
    return Stretch(low * UNITS[unit], high * UNITS[unit], unit)


def count_of(words: str) -> tuple[float, float]:
    known = COUNTS.get(words.removeprefix("a ").removesuffix(" of"))
    return known or (float(words), float(words))
