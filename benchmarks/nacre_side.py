"""Nacre's side of the benchmark. With NACRE_RERANK_MS=0 no hits are read by the cross-encoder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from nacre import MemoryStore
from work import do

STORE = "memory.db"


class Nacre:
    def __init__(self, folder: Path) -> None:
        self._store = MemoryStore(folder / STORE, embedder="multilingual")

    def remember(self, text: str) -> None:
        # As the other side does it: kept as it is, and compared with nothing. truth_speed.py has what comparing costs.
        self._store.remember(
            text, on_conflict="ignore", importance=0.5, valence=None, tags=["bench", "work"], source="bench"
        )

    def remember_many(self, texts: Sequence[str]) -> None:
        self._store.remember_many([{"text": t, "tags": ["bench", "work"], "source": "bench"} for t in texts])

    def recall(self, question: str, k: int) -> int:
        found = self._store.recall(question, k, rerank=os.environ.get("NACRE_RERANK_MS") != "0")
        if found.notes:
            raise SystemExit(f"This is no measurement: {' '.join(found.notes)}")
        return len(found)

    def close(self) -> None:
        self._store.close()


if __name__ == "__main__":
    do(Nacre)
