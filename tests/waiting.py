"""Waits for what another process or thread does; the only place where tests look again and again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")

PATIENCE = 120.0  # seconds for what takes one on an idle machine
LOOK_SECONDS = 0.01


def wait_for(look: Callable[[], Seen], what: str = "it", *, seconds: float = PATIENCE) -> Seen:
    """The first result of `look` that is true; it fails, and says `what` did not happen, when there is none in time."""
    until = time.monotonic() + seconds
    while not (seen := look()):
        assert time.monotonic() < until, f"{what} did not happen within {seconds:.0f} s"
        time.sleep(LOOK_SECONDS)
    return seen
