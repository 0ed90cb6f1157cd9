"""Books, clocks, files and records that the lesson tests share."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nacre import MemoryStore
from nacre.lessons import Answer, Lesson, LessonBook, LessonHit
from nacre.lessons.vocabulary import KINDS
from nacre.model import Memory
from nacre.model.memory import Json
from tests.prepared_stores import empty_store

HEAD = {"format": "nacre-lessons", "version": 1}


class TickingClock:
    """A clock that goes on by a second each time it is read, so that no two acts share a time."""

    def __init__(self, at: float = 1_800_000_000.0) -> None:
        self.at = at

    def __call__(self) -> float:
        self.at += 1
        return self.at


def new_book(agent: str = "", **options: object) -> LessonBook:
    store = MemoryStore(":memory:", **{"embedder": "hashing", "clock": TickingClock(), **options})  # type: ignore[arg-type]
    return LessonBook(store=store, agent=agent)


def titles(answer: Answer[tuple[LessonHit, ...]] | Answer[tuple[Lesson, ...]]) -> set[str]:
    return {each.lesson.title if isinstance(each, LessonHit) else each.title for each in answer.data}


def add_terms(book: LessonBook, kind: str, **words: Mapping[str, Any]) -> None:
    """Puts words into the vocabulary as they are given."""
    book.store.write("teach", terms={(kind, name): lambda _, data=data: data for name, data in words.items()})  # type: ignore[misc]


def file_of(*lessons: dict[str, Any], **more: Any) -> io.StringIO:
    """An export of these, as a person might write it."""
    return io.StringIO(json.dumps({**HEAD, "lessons": list(lessons), **more}))


NOW = 1_800_000_000.0
DAY = 86_400.0
BACKENDS = pytest.mark.parametrize("where", [":memory:", "file"])


class ManualClock:
    """A clock that stands until a test turns it."""

    def __init__(self, at: float = NOW) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at


@contextmanager
def open_book(where: str, folder: Path, clock: Callable[[], float] | None = None) -> Iterator[LessonBook]:
    path = folder / "lessons.db"
    if where != ":memory:" and not path.exists():
        empty_store(path)
    with MemoryStore(
        ":memory:" if where == ":memory:" else path, embedder="hashing", clock=clock or ManualClock()
    ) as store:
        yield LessonBook(store=store)


def learn(book: LessonBook, title: str, *tags: str, **fields: object) -> str:
    return book.learn(title, f"Of {title}.", tags=tags, **fields).data.id  # type: ignore[arg-type]


def all_records(store: MemoryStore) -> tuple[list[Memory], dict[str, dict[str, dict[str, Json]]]]:
    """All memories of whatever standing, and all words."""
    results = store.iterate(
        include_archived=True, include_superseded=True, include_trashed=True, include_expired=True
    )  # fmt: skip
    words = {kind: {name: dict(data) for name, data in store.vocabulary(kind).items()} for kind in KINDS}
    return sorted(results, key=lambda memory: memory.id), words
