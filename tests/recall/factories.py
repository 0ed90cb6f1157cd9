"""Filling a store and asking it, in as few words as a test can bear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nacre import MemoryStore

NOW = 1_750_000_000.0  # 15 June 2025
DAY = 86_400.0


def found(store: MemoryStore, query: str, **options: Any) -> list[str]:
    """At least one: two answers without a hit are equal, and fulfil whatever is said of each hit."""
    ids = [hit.memory.id for hit in store.recall(query, **options)]
    assert ids, f"nothing was found for {query!r}"
    return ids


def found_nothing(store: MemoryStore, query: str, **options: Any) -> bool:
    return not store.recall(query, **options)


def converse(store: MemoryStore, session: str, turns: Sequence[tuple[str, str]], **fields: Any) -> None:
    """Turns of (role, text), a minute apart, with the ids s0, s1, ... of a session s."""
    start = fields.pop("start", NOW - 30 * DAY)
    store.remember_many(
        {
            "text": text, "id": f"{session}{at}", "session": session, "position": at, "role": role,
            "occurred_at": start + 60 * at, **fields,
        }
        for at, (role, text) in enumerate(turns)
    )  # fmt: skip
