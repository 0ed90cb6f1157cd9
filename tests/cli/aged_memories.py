"""A store that has been in use for a while."""

from __future__ import annotations

import time

from nacre import MemoryStore
from tests.command_line import CommandLine

DAY = 86_400.0


def days_ago(days: float) -> float:
    return time.time() - days * DAY


def opened(nacre: CommandLine) -> MemoryStore:
    return MemoryStore(nacre.store, embedder="hashing", on_conflict="ignore")


def remember_faded(nacre: CommandLine, count: int = 3, days: float = 9_000) -> None:
    """So long unused that any model lets them go."""
    at = days_ago(days)
    with opened(nacre) as store:
        for number in range(count):
            store.remember(f"old note {number}", id=f"faded-{number}", created_at=at, last_accessed=at, importance=0.2)


def remember_episodes(nacre: CommandLine, size: int = 3) -> None:
    with opened(nacre) as store:
        for number in range(size):
            text = f"The nightly backup of the orders database ran and took {40 + number} minutes"
            store.remember(text, id=f"episode-{number}", type="episodic", tags=["ops"], created_at=days_ago(9 - number))


def operations(nacre: CommandLine) -> int:
    with opened(nacre) as store:
        return len({entry.operation.batch for entry in store.journal(limit=None)})
