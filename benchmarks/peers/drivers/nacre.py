"""Nacre through its Python API, with the settings of a fresh installation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nacre import MemoryStore
from nacre.settings import Settings
from peers.drivers import Driver, Item

TIME_TO_READ = 60_000.0  # ms; by default reading ends after 80, which on a busy machine is fewer hits


class Nacre(Driver):
    CHANGES = (
        "Nothing changed: `MemoryStore(path)`. Turns go through `remember_many` with speaker, session and date, notes"
        " through `remember` under a clock set to their date; every question at the time it was asked. Where"
        " answers are counted, there is time to read all eight hits (`rerank_ms`), as on an idle machine; the timed"
        " parts keep the default."
    )

    def __init__(self, folder: Path) -> None:
        self._now: float | None = None
        self._folder = folder
        self._store = self._open(Settings())

    def _open(self, settings: Settings) -> MemoryStore:
        return MemoryStore(self._folder / "memory.db", clock=lambda: self._now or time.time(), settings=settings)

    def add(self, item: Item) -> str:
        self._now = item.at
        return self._store.remember(item.text, **fields(item)).id

    def add_many(self, items: Sequence[Item]) -> list[str]:
        self._now = max((item.at for item in items if item.at is not None), default=None)
        kept = self._store.remember_many([{"text": item.text, **fields(item)} for item in items])
        return [memory.id for memory in kept]

    def search(self, question: str, k: int, asked_at: float | None) -> list[str]:
        self._now = asked_at or self._now
        return [hit.memory.id for hit in self._store.recall(question, k, asked_at=asked_at)]

    def lean(self) -> None:
        self._store.close()
        self._store = self._open(Settings(rerank_ms=TIME_TO_READ))

    def close(self) -> None:
        self._store.close()


def fields(item: Item) -> dict[str, Any]:
    if not item.session:
        return {"id": item.id}
    own = {"role": item.role, "session": item.session, "position": item.position, "occurred_at": item.at}
    return {"id": item.id, "type": "episodic", **own}


DRIVER = Nacre
