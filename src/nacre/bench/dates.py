"""Reads the dates of the datasets, each in the one form that it writes."""

from __future__ import annotations

from datetime import UTC, datetime


def seconds_of(date: str | None, form: str) -> float | None:
    """UTC seconds, or None where there is no date in this form."""
    try:
        return datetime.strptime((date or "").strip(), form).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
