"""Lengths of time with a unit, as AI-Houkai's settings write them."""

from __future__ import annotations

from nacre.errors import InvalidInput
from nacre.model import instants as durations

__all__ = ["format_duration", "parse_duration"]

format_duration = durations.format_duration


def parse_duration(text: str) -> int:
    """Whole seconds of 30s, 5m, 24h, 7d or 1w. Raises `ValueError`; also for a number without a unit."""
    if not any(sign.isalpha() for sign in text):
        raise InvalidInput(f"{text!r} is not a length of time; write 30s, 5m, 24h, 7d or 1w.")
    return int(durations.parse_duration(text))
