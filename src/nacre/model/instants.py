"""Times and durations: UTC seconds inside, ISO 8601 outside; durations such as 30m, 1h 30m or 7d."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import TypeAlias

from nacre.errors import InvalidInput

Instant: TypeAlias = float | int | str | date | datetime

DAY = 86_400.0
WEEK = 7 * DAY
MONDAY = 4 * DAY  # the first one of the epoch, which began on a Thursday
MICROSECOND = timedelta(microseconds=1)  # the finest that a written time tells
# A year, or a date without hyphens, in digits alone: never seconds since 1970, whatever is wrong with it.
WRITTEN_DATE = re.compile(r"(19|20|21)\d\d(\d\d|\d{4}|\d{8}|\d{10})?(\.0+)?")
STAMP = "%Y%m%dT%H%M%SZ"  # in UTC: sorts by time, and every file system accepts it
# What a calendar can show: the years 1 to 9999.
FIRST = datetime.min.replace(tzinfo=UTC).timestamp()
LAST = datetime.max.replace(tzinfo=UTC, microsecond=0).timestamp()


def seconds(value: Instant) -> float:
    """A date without a clock means its midnight; a time without a zone means UTC."""
    at = value if isinstance(value, int | float) else timestamp(value)
    if isinstance(value, bool) or not FIRST <= at <= LAST:
        raise InvalidInput(f"{value} is not a time; give seconds since 1970 or a date such as 2026-03-31T09:00:00Z.")
    return float(at)


def timestamp(value: str | date) -> float:
    moment = parsed(value) if isinstance(value, str) else value
    if not isinstance(moment, date):  # the type forbids it, a caller may not know
        raise InvalidInput(f"{value!r} is not a time; write it as 2026-03-31 or 2026-03-31T09:00:00Z.")
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()


WEEK_ALONE = re.compile(r"\d{4}-?W\d{2}", re.ASCII)


def is_day(value: object) -> bool:
    """Whether it is a date without a clock, as a value or written."""
    if not isinstance(value, str):
        return isinstance(value, date) and not isinstance(value, datetime)
    if WEEK_ALONE.fullmatch(value.strip()):  # seven days
        return False
    try:
        date.fromisoformat(value.strip())
    except ValueError:
        return False
    return True


def end_of_day(value: str | date) -> float:
    """The first moment after a date; the last day of the calendar has none."""
    return min(seconds(value) + DAY, LAST)


def parsed(value: str) -> datetime:
    if WEEK_ALONE.fullmatch(value.strip()):
        raise InvalidInput(f"{value!r} is a week; write one of its days, such as 2026-W13-1 for a Monday.")
    try:
        return datetime.fromisoformat(value.strip())
    except ValueError as error:
        raise InvalidInput(f"{value!r} is not a date; write it as 2026-03-31 or 2026-03-31T09:00:00Z.") from error


def iso(at: float | None) -> str:
    """Never a time before `at`, so that what happened then is known at the time that it names."""
    if at is None:
        return ""
    named = datetime.fromtimestamp(at, UTC)
    if named.timestamp() < at:
        named += MICROSECOND
    return named.isoformat().replace("+00:00", "Z")


@lru_cache(maxsize=1024)
def day(at: float) -> str:
    """The day that `at` is in: the calendar alone would round the last moment of a day up to the next one."""
    return datetime.fromtimestamp(math.floor(at), UTC).date().isoformat()


def last_day(end: float) -> str:
    """The last day of a time that has ended at `end`: at midnight that is the day before."""
    return day(max(math.ceil(end) - 1, FIRST))


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime(STAMP)


UNIT_SECONDS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
DURATION_PART = re.compile(
    r"(\d+(?:\.\d+)?)\s*"
    r"(w(?:eeks?)?|d(?:ays?)?|h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)(?![a-z])\s*",
    re.ASCII,
)
DURATION_UNITS = 2  # units of a printed duration: nobody plans a week to the second


def parse_duration(text: str | float) -> float:
    """Seconds, which a plain number means too; the units are s, m, h, d and w, or their names.

    Raises `InvalidInput`.
    """
    value = str(text).strip().lower()
    try:
        seconds = float(value)
    except ValueError:
        parts = DURATION_PART.findall(value)
        if not parts or DURATION_PART.sub("", value):
            raise InvalidInput(f"{text!r} is not a duration; write 90, 30m, 1h 30m, 24h, 7d or 2w.") from None
        seconds = sum(float(number) * UNIT_SECONDS[unit[0]] for number, unit in parts)
    if not math.isfinite(seconds) or seconds < 0:
        raise InvalidInput(f"{text!r} is not a usable duration; write 90, 30m, 24h or 7d.")
    return seconds


def format_duration(seconds: float) -> str:
    """Its two largest units: `1h 1m` for 3661. What is shorter than a second is `0s`."""
    left, parts = max(0, int(seconds)), []
    for unit, length in UNIT_SECONDS.items():
        count, left = divmod(left, length)
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts[:DURATION_UNITS]) or "0s"
