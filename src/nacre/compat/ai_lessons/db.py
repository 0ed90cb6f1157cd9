"""The database of ai-lessons: a lesson book in the configured file, and its tables for whoever reads them with SQL."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from secrets import randbits
from typing import NoReturn, Unpack

from nacre.errors import InvalidInput
from nacre.files import private_folder
from nacre.lessons import Answer, Lesson, LessonBook
from nacre.lessons.learning import Fields
from nacre.lessons.lesson import normal_title
from nacre.lessons.tabled import tabled
from nacre.lessons.taking_over import is_older, take_over
from nacre.memory_store import MemoryStore

from .config import Config, get_config, settings_of
from .ulid import RANDOM_BITS, ulid

Row = tuple[object, ...]
_books: dict[str, LessonBook] = {}
_opening = threading.Lock()


class Book(LessonBook):
    """Titles stand as they were written, and ids are ULIDs."""

    def _titled(self, title: str) -> str:
        return normal_title(title) and title.strip()

    def learn(self, title: str, content: str, *, id: str | None = None, **fields: Unpack[Fields]) -> Answer[Lesson]:
        return super().learn(title, content, id=id or ulid(self.store.now(), randbits(RANDOM_BITS)), **fields)


def book_of(config: Config | None = None) -> LessonBook:
    """One for each configuration, opened when it is first asked for."""
    wanted = config or get_config()
    key = repr(wanted)
    with _opening:
        for other in [key for key, book in _books.items() if not Path(book.store.settings.store).exists()]:
            _books.pop(other).close()  # its file was deleted under it
        if key not in _books:
            _books[key] = opened(wanted)
        return _books[key]


def opened(config: Config) -> LessonBook:
    file = Path(config.db_path)
    private_folder(file.parent)
    if is_older(file):
        take_over(file, settings_of(config))
    book = Book(store=MemoryStore(file, settings=settings_of(config)))
    for alias, name in config.tag_aliases.items():
        book.alias_tag(alias, name)
    if config.known_tags:
        book.know_tags(*config.known_tags)
    return book


def close() -> None:
    """Every book that is open."""
    with _opening:
        while _books:
            _books.popitem()[1].close()


def init_db(config: Config | None = None, force: bool = False) -> None:
    """Makes or upgrades the database; with `force` all vectors are computed again."""
    book = book_of(config)
    if force:
        book.reembed()


def get_schema_version(config: Config | None = None) -> int | None:
    wanted = config or get_config()
    return book_of(wanted).store.health().schema if Path(wanted.db_path).exists() else None


@contextmanager
def get_db(config: Config | None = None) -> Iterator[sqlite3.Connection]:
    """The tables as they stand now, for reading."""
    with closing(tabled(book_of(config))) as connection:
        yield connection


def execute_query(query: str, params: Row = (), config: Config | None = None) -> list[sqlite3.Row]:
    with get_db(config) as connection:
        return connection.execute(query, params).fetchall()


def execute_write(query: str, params: Row = (), config: Config | None = None) -> NoReturn:  # noqa: ARG001
    raise InvalidInput("The tables are for reading; change lessons with add_lesson, update_lesson and the others.")


def execute_many(query: str, params_list: list[Row], config: Config | None = None) -> NoReturn:  # noqa: ARG001
    execute_write(query, (), config)
