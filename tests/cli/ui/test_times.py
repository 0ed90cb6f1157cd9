"""Ages as a person reads them."""

from __future__ import annotations

import pytest

from nacre.cli.ui.times import DAY, HOUR, age
from nacre.model.instants import seconds

NOW = seconds("2026-03-31T12:00:00Z")


@pytest.mark.parametrize(
    ("passed", "output"),
    [
        (0, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (2 * HOUR + 1, "2 h ago"),
        (3 * DAY, "3 d ago"),
        (62 * DAY, "2 mo ago"),
        (800 * DAY, "2 y ago"),
        (-3 * DAY, "in 3 d"),
    ],
)
def test_an_age_is_printed_in_its_largest_unit(passed: float, output: str) -> None:
    assert age(NOW - passed, NOW) == output
