"""Times as they come from people and as they are kept: UTC seconds inside, ISO 8601 outside."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TypeAlias

from nacre.errors import InvalidInput

Instant: TypeAlias = float | int | str | date | datetime

DAY = 86_400.0
# What a calendar can show: the years 1 to 9999.
FIRST = datetime.min.replace(tzinfo=UTC).timestamp()
LAST = datetime.max.replace(tzinfo=UTC, microsecond=0).timestamp()


def seconds(given: Instant) -> float:
    """A date without a clock means its midnight; a time without a zone means UTC."""
    at = given if isinstance(given, int | float) else timestamp(given)
    if isinstance(given, bool) or not FIRST <= at <= LAST:
        raise InvalidInput(f"{given} is not a time; give seconds since 1970 or a date such as 2026-03-31T09:00:00Z.")
    return float(at)


def timestamp(given: str | date) -> float:
    moment = parsed(given) if isinstance(given, str) else given
    if not isinstance(moment, date):  # the type forbids it, a door's mapping may not
        raise InvalidInput(f"{given!r} is not a time; write it as 2026-03-31 or 2026-03-31T09:00:00Z.")
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()


def parsed(given: str) -> datetime:
    try:
        return datetime.fromisoformat(given.strip())
    except ValueError as error:
        raise InvalidInput(f"{given!r} is not a date; write it as 2026-03-31 or 2026-03-31T09:00:00Z.") from error


def iso(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
