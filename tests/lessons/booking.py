"""A book to write into, and what the tests of the book say over and over."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

from nacre import MemoryStore
from nacre.lessons import Answer, Found, Lesson, LessonBook

HEAD = {"format": "nacre-lessons", "version": 1}


class Ticking:
    """A clock that goes on by a second each time it is read, so that no two acts share a time."""

    def __init__(self, at: float = 1_800_000_000.0) -> None:
        self.at = at

    def __call__(self) -> float:
        self.at += 1
        return self.at


def new_book(agent: str = "", **options: object) -> LessonBook:
    store = MemoryStore(":memory:", **{"embedder": "hashing", "clock": Ticking(), **options})  # type: ignore[arg-type]
    return LessonBook(store=store, agent=agent)


def titles(answer: Answer[tuple[Found, ...]] | Answer[tuple[Lesson, ...]]) -> set[str]:
    return {each.lesson.title if isinstance(each, Found) else each.title for each in answer.data}


def taught(book: LessonBook, kind: str, **words: Mapping[str, Any]) -> None:
    """Puts words into the vocabulary as they are given."""
    book.store.write("teach", terms={(kind, name): lambda _, data=data: data for name, data in words.items()})  # type: ignore[misc]


def file_of(*lessons: dict[str, Any], **more: Any) -> io.StringIO:
    """An export of these, as a person might write it."""
    return io.StringIO(json.dumps({**HEAD, "lessons": list(lessons), **more}))
