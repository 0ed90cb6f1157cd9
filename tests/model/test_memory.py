"""What a memory says of itself; records as JSON are in tests/property/test_records.py."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from nacre.model import Link, Memory
from nacre.model.instants import seconds
from nacre.model.memory import FIELDS


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


def test_a_memory_made_of_its_values_is_the_same() -> None:
    memory = Memory("m", "tea", space="s", tags=("hot",), metadata={"a": 1}, pinned=True, links=(Link("n"),), version=3)
    same = Memory.from_values(getattr(memory, name) for name in FIELDS)
    assert same == memory
    assert (same.version, repr(same)) == (3, repr(memory))
    with pytest.raises(FrozenInstanceError):
        same.text = "coffee"  # type: ignore[misc]
    with pytest.raises(ValueError, match="shorter"):
        Memory.from_values(["m", "tea"])
