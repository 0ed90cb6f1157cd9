"""Stores that are older than the test: memories from long ago, under a clock that a test turns."""

from __future__ import annotations

from pathlib import Path

from nacre import MemoryStore
from tests.embedders import WordBag

NOW = 1_800_000_000.0
DAY = 86_400.0


class Turned:
    def __init__(self, at: float = NOW) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at


def opened(place: Path | str = ":memory:", clock: Turned | None = None, space: str = "default") -> MemoryStore:
    turned = clock or Turned()
    return MemoryStore(place, space=space, embedder=WordBag(), clock=turned, actor="tester", on_conflict="ignore")


def remember_old(store: MemoryStore, count: int = 3, days: float = 400, **fields: str) -> list[str]:
    """Remarks so long unused that any model lets them go."""
    at = NOW - days * DAY
    texts = [f"old note {number} about {word}" for number, word in zip(range(count), WORDS * count, strict=False)]
    times = {"created_at": at, "last_accessed": at}
    kept = [store.remember(text, importance=0.2, **times, **fields) for text in texts]  # type: ignore[arg-type]
    return [memory.id for memory in kept]


def remember_episodes(store: MemoryStore, groups: int = 2, size: int = 3) -> None:
    """Groups of episodes that say nearly the same."""
    for group in range(groups):
        for number in range(size):
            text = (
                f"{WORDS[group]} {WORDS[group + 5]} {WORDS[group + 10]} went well and all were glad {'ab'[number % 2]}"
            )
            store.remember(text, type="episodic", created_at=NOW - DAY)


WORDS = (
    "anchor barley cobalt dynamo ember falcon granite harbour indigo juniper kestrel lantern meadow nickel orchard"
    " pepper quarry raven saddle timber"
).split()
