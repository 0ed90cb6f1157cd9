"""Books on every backend, and what the tests of the vocabulary look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.lessons import LessonBook
from nacre.lessons.vocabulary import KINDS
from nacre.model import Memory
from nacre.model.memory import Json

NOW = 1_800_000_000.0
DAY = 86_400.0
BACKENDS = pytest.mark.parametrize("where", [":memory:", "file"])


class Turned:
    """A clock that stands until a test turns it."""

    def __init__(self, at: float = NOW) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at


@contextmanager
def shelved(where: str, folder: Path, clock: Callable[[], float] | None = None) -> Iterator[LessonBook]:
    path = ":memory:" if where == ":memory:" else folder / "lessons.db"
    with MemoryStore(path, embedder="hashing", clock=clock or Turned()) as store:
        yield LessonBook(store=store)


def taught(book: LessonBook, title: str, *tags: str, **fields: object) -> str:
    return book.learn(title, f"Of {title}.", tags=tags, **fields).data.id  # type: ignore[arg-type]


def everything(store: MemoryStore) -> tuple[list[Memory], dict[str, dict[str, dict[str, Json]]]]:
    """All memories of whatever standing, and all words."""
    found = store.iterate(
        include_archived=True, include_superseded=True, include_trashed=True, include_expired=True
    )  # fmt: skip
    words = {kind: {name: dict(data) for name, data in store.vocabulary(kind).items()} for kind in KINDS}
    return sorted(found, key=lambda memory: memory.id), words
