"""What a memory says of itself; records as JSON are in tests/property/test_records.py."""

from __future__ import annotations

import pytest

from nacre.model import Memory
from nacre.model.instants import seconds


@pytest.mark.parametrize(
    ("at", "monday"),
    [
        ("2026-11-09T00:00:00Z", "2026-11-09"),
        ("2026-11-15T23:59:59.999Z", "2026-11-09"),
        ("1970-01-01", "1969-12-29"),
        ("0001-01-01", "0001-01-01"),
    ],
)
def test_a_week_is_named_by_its_monday(at: str, monday: str) -> None:
    assert Memory(id="m", text="tea", created_at=seconds(at)).week == monday
