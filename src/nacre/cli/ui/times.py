"""Parses the times that a person types, and prints ages."""

from __future__ import annotations

from nacre.errors import InvalidInput
from nacre.model.instants import is_day
from nacre.text.dates import moment, refuse_ambiguous

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
MONTH, YEAR = 30.44 * DAY, 365.25 * DAY
UNITS = ((YEAR, "y"), (MONTH, "mo"), (DAY, "d"), (HOUR, "h"), (MINUTE, "min"))


def typed_time(text: str, now: float, side: str) -> float:
    """`7d` is seven days ago; a date is its day, UTC; words (`last week`) are read as in a question."""
    refuse_ambiguous(text)  # with its own sentence, which the one below would replace
    try:
        return moment(text, now, side)
    except (InvalidInput, OverflowError) as error:
        raise InvalidInput(
            f"{text!r} is not a time; write 30m, 2h, 7d, 4w, 2026-03-31, 2026-03-31T09:00:00Z, yesterday, "
            "'last week' or 'in 3 days'."
        ) from error


def since(text: str, now: float) -> float:
    return typed_time(text, now, "start")


def until(text: str, now: float) -> float:
    """As `since`, but a date means its whole day, and words all of the time that they name."""
    return typed_time(text, now, "end")


def known_by(text: str, now: float) -> float:
    """The moment whose knowledge is asked for. A date means the end of its day; what is to come nobody knows yet."""
    # Today's date may be tomorrow's in UTC, and the other way round.
    if typed_time(text, now, "start") > now + (DAY if is_day(text) else 0.0):
        raise InvalidInput(f"{text!r} is still to come; ask for what was known at an earlier time.")
    return min(typed_time(text, now, "end"), now)


def held_on(text: str, now: float) -> float:
    """The moment at which something should have been true. A date means its noon, words the middle of their time."""
    return typed_time(text, now, "middle")


def age(at: float, now: float) -> str:
    """`3 d ago`, or `in 3 d` for what is still to come."""
    passed = abs(now - at)
    for length, unit in UNITS:
        if passed >= length:
            count = f"{int(passed / length)} {unit}"
            return f"{count} ago" if at <= now else f"in {count}"
    return "just now"
