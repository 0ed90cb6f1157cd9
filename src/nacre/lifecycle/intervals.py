"""Lengths of time as a person writes them: 90, 30m, 1h 30m, 7d."""

from __future__ import annotations

import math
import re

from nacre.errors import InvalidInput

SECONDS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
PART = re.compile(r"(\d+(?:\.\d+)?)\s*([wdhms])\s*", re.ASCII)
SHOWN = 2  # units of a printed duration: nobody plans a week to the second


def parse_duration(text: str | float) -> float:
    """Seconds, which a plain number means too; the units are s, m, h, d and w. Raises `InvalidInput`."""
    given = str(text).strip().lower()
    seconds = plain(given)
    if seconds is None:
        parts = PART.findall(given)
        if not parts or PART.sub("", given):
            raise InvalidInput(f"{text!r} is no length of time; write 90, 30m, 1h 30m, 24h, 7d or 2w.")
        seconds = sum(float(number) * SECONDS[unit] for number, unit in parts)
    if not math.isfinite(seconds) or seconds < 0:
        raise InvalidInput(f"{text!r} is no length of time that can be waited for; write 90, 30m, 24h or 7d.")
    return seconds


def plain(given: str) -> float | None:
    try:
        return float(given)
    except ValueError:
        return None


def format_duration(seconds: float) -> str:
    """Its two largest units: `1h 1m` for 3661. What is shorter than a second is `0s`."""
    left, parts = max(0, int(seconds)), []
    for unit, length in SECONDS.items():
        count, left = divmod(left, length)
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts[:SHOWN]) or "0s"
