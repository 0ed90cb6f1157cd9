"""Prints ages."""

from __future__ import annotations

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
MONTH, YEAR = 30.44 * DAY, 365.25 * DAY
UNITS = ((YEAR, "y"), (MONTH, "mo"), (DAY, "d"), (HOUR, "h"), (MINUTE, "min"))


def age(at: float, now: float) -> str:
    """`3 d ago`, or `in 3 d` for what is still to come."""
    passed = abs(now - at)
    for length, unit in UNITS:
        if passed >= length:
            count = f"{int(passed / length)} {unit}"
            return f"{count} ago" if at <= now else f"in {count}"
    return "just now"
