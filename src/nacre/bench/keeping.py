"""Remembers a corpus in a store of its own, and tells how fast."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from nacre.bench.corpus import Corpus, Turn
from nacre.bench.repeated import EmbeddedOnce
from nacre.config import Settings
from nacre.ports import Embedder, Progress
from nacre.store import MemoryStore

FRESH = 0.95  # share of a batch's texts; a "thank you" or two that was said before does not make it a fast one


class Pace:
    """Turns a second over the batches that were really embedded; those that came from the memo do not count.

    To be given to `remember_many` as its progress.
    """

    def __init__(self, embedder: EmbeddedOnce) -> None:
        self._embedder = embedder
        self.turns = 0
        self.seconds = 0.0
        self.start()

    def start(self, done: int = 0) -> None:
        self._done, self._at = done, time.perf_counter()
        self._asked, self._embedded = self._embedder.asked, self._embedder.embedded

    def __call__(self, done: int, total: int, what: str) -> None:  # noqa: ARG002 (the signature of Progress)
        asked, embedded = self._embedder.asked - self._asked, self._embedder.embedded - self._embedded
        if asked and embedded >= FRESH * asked:
            self.turns += done - self._done
            self.seconds += time.perf_counter() - self._at
        self.start(done)

    @property
    def per_second(self) -> float:
        return self.turns / self.seconds if self.seconds else 0.0


@contextmanager
def kept(corpus: Corpus, embedder: Embedder, progress: Progress) -> Iterator[MemoryStore]:
    """In a throw-away file, with the settings that a user gets who sets none.

    The clock stands at the corpus's end, so that a question without a date is asked then, today and next year.
    """
    now = corpus.ended_at
    with (
        TemporaryDirectory(prefix="nacre-bench-", ignore_cleanup_errors=True) as folder,
        MemoryStore(Path(folder) / "bench.db", embedder=embedder, clock=lambda: now, settings=Settings()) as store,
    ):
        store.remember_many([fields(turn) for turn in corpus.turns], progress=progress)
        yield store


def fields(turn: Turn) -> dict[str, object]:
    return {
        "id": turn.key,
        "text": turn.text,
        "role": turn.role,
        "session": turn.session,
        "position": turn.position,
        "occurred_at": turn.at,
        "type": "episodic",
    }
