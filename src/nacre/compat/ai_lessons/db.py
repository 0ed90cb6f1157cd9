"""The database of ai-lessons: a lesson book in the configured file, its tables for SQL, and the older file format."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from secrets import randbits
from typing import NoReturn, Unpack
from uuid import uuid4

from nacre.errors import ArchiveRefused, InvalidInput, StoreBusy
from nacre.files import create_private, private_folder
from nacre.lessons import Answer, Lesson, LessonBook
from nacre.lessons.book import LessonFields
from nacre.lessons.lesson import normalize_title
from nacre.lessons.vocabulary import TAG, Key, every_lesson
from nacre.memory_store import MemoryStore
from nacre.model.instants import iso
from nacre.settings import Settings
from nacre.transfer.foreign.ai_lessons import NAME
from nacre.transfer.foreign.ai_lessons import TABLES as OLDER_TABLES
from nacre.transfer.import_archive import import_path

from .config import Config, get_config, settings_of

BACKUP_SUFFIX = ".before-nacre"
LOCK_TIMEOUT = 5.0  # seconds to wait for another program that uses the file
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # of a ULID: Crockford's base 32, without letters that look like digits
ID_LENGTH, RANDOM_BITS = 26, 80
Row = tuple[object, ...]
_books: dict[str, LessonBook] = {}
_opening = threading.Lock()


def ulid(seconds: float) -> str:
    """An id that sorts by creation time; `seconds` since the epoch."""
    number = (int(seconds * 1000) << RANDOM_BITS) | randbits(RANDOM_BITS)
    return "".join(ALPHABET[number >> 5 * place & 31] for place in reversed(range(ID_LENGTH)))


class Book(LessonBook):
    """Titles stay as they were written, and ids are ULIDs."""

    def _title(self, title: str) -> str:
        return normalize_title(title) and title.strip()

    def learn(
        self, title: str, content: str, *, id: str | None = None, **fields: Unpack[LessonFields]
    ) -> Answer[Lesson]:
        return super().learn(title, content, id=id or ulid(self.store.now()), **fields)


def book_of(config: Config | None = None) -> LessonBook:
    """One book for each configuration, opened on first use."""
    wanted = config or get_config()
    key = repr(wanted)
    with _opening:
        for other in [key for key, book in _books.items() if not Path(book.store.settings.store).exists()]:
            _books.pop(other).close()  # its file was deleted
        if key not in _books:
            _books[key] = open_book(wanted)
        return _books[key]


def open_book(config: Config) -> LessonBook:
    file = Path(config.db_path)
    private_folder(file.parent)
    if is_older(file):
        import_database(file, settings_of(config))
    book = Book(store=MemoryStore(file, settings=settings_of(config)))
    for alias, name in config.tag_aliases.items():
        book.alias_tag(alias, name)
    if config.known_tags:
        book.know_tags(*config.known_tags)
    return book


def close() -> None:
    """Closes every open book."""
    with _opening:
        while _books:
            _books.popitem()[1].close()


def init_db(config: Config | None = None, force: bool = False) -> None:
    """Creates or upgrades the database; with `force` all vectors are computed again."""
    book = book_of(config)
    if force:
        book.reembed()


def get_schema_version(config: Config | None = None) -> int | None:
    wanted = config or get_config()
    return book_of(wanted).store.health().schema if Path(wanted.db_path).exists() else None


@contextmanager
def get_db(config: Config | None = None) -> Iterator[sqlite3.Connection]:
    """A read-only copy of the current tables."""
    with closing(copy_tables(book_of(config))) as connection:
        yield connection


def execute_query(query: str, params: Row = (), config: Config | None = None) -> list[sqlite3.Row]:
    with get_db(config) as connection:
        return connection.execute(query, params).fetchall()


def execute_write(query: str, params: Row = (), config: Config | None = None) -> NoReturn:  # noqa: ARG001
    raise InvalidInput("The tables are read-only; change lessons with add_lesson, update_lesson and the others.")


def execute_many(query: str, params_list: list[Row], config: Config | None = None) -> NoReturn:  # noqa: ARG001
    execute_write(query, (), config)


def copy_tables(book: LessonBook) -> sqlite3.Connection:
    """Tables with the names of ai-lessons, in memory and read-only; the caller closes the connection."""
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    connection.executescript(Path(__file__).with_name("tables.sql").read_text("utf-8"))
    for table, rows in table_rows(book):
        for row in rows:
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    connection.commit()
    connection.execute("PRAGMA query_only = ON")
    return connection


def table_rows(book: LessonBook) -> Iterator[tuple[str, Iterable[Row]]]:
    lessons = [Lesson.of(book.store.clean(memory)) for memory in book.store.iterate(**every_lesson())]
    yield "meta", [("schema_version", str(book.store.health().schema))]
    yield "confidence_levels", [(level.name, level.ordinal) for level in book.levels().data]
    yield "source_types", [(each.name, each.description, each.typical_confidence) for each in book.sources().data]
    yield "lessons", [
        (
            each.id, each.title, each.content, each.confidence, each.source or None, each.source_notes or None,
            iso(each.created_at), iso(each.updated_at),
        )
        for each in lessons
    ]  # fmt: skip
    yield "lesson_tags", [(each.id, tag) for each in lessons for tag in each.tags]
    yield "lesson_contexts", [
        (each.id, context, applies) for each in lessons
        for applies, contexts in ((True, each.contexts), (False, each.anti_contexts)) for context in contexts
    ]  # fmt: skip
    ids = [each.id for each in lessons]
    yield "edges", [(edge.source, edge.target, edge.rel) for edge in book.store.edges(out_of=ids)]
    yield "tag_relations", tag_relations(book)
    yield "lesson_embeddings", [(id, rows[0].tobytes()) for id, rows in book.store.vectors(ids).items()]


def tag_relations(book: LessonBook) -> Iterator[Row]:
    for name, data in book.store.vocabulary(TAG).items():
        if data.get(Key.ALIAS_OF):
            yield name, data[Key.ALIAS_OF], "alias"
        for key, relation in ((Key.SYNONYMS, "synonym"), (Key.PARENTS, "child_of")):
            others = data.get(key)
            yield from ((name, other, relation) for other in (others if isinstance(others, list) else ()))


def is_older(file: Path) -> bool:
    """Whether ai-lessons itself wrote the file."""
    if not file.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as older:
            return {name for (name,) in older.execute("SELECT name FROM sqlite_master")} >= {*OLDER_TABLES}
    except sqlite3.DatabaseError:
        return False  # encrypted or not a database: opening the store reports it


def import_database(file: Path, settings: Settings) -> None:
    """Replaces a database that ai-lessons wrote with a store that holds all its lessons; a copy stays beside it.
    The file is replaced only after every lesson is imported. Raises `StoreBusy` while another program uses the file,
    and `ArchiveRefused` when a lesson cannot be imported."""
    inode = file.stat().st_ino
    fresh = file.with_name(f".{file.name}.{uuid4().hex}")
    copy = fresh.with_name(f"{fresh.name}.copy")
    with closing(sqlite3.connect(file, timeout=LOCK_TIMEOUT, isolation_level=None)) as older:
        lock(older, file)
        if file.stat().st_ino != inode:  # another process imported it while we waited
            return
        try:
            import_lessons(file, fresh, settings)
            copy_database(file, copy)
            copy.replace(unused_path(file.with_name(file.name + BACKUP_SUFFIX)))
            fresh.replace(file)  # while nobody else can write to the older database
        finally:
            for leftover in file.parent.glob(f"{fresh.name}*"):
                leftover.unlink()


def copy_database(file: Path, copy: Path) -> None:
    """By SQLite, which works on every disk, and keeps the locks that closing the file elsewhere would release."""
    create_private(copy)
    with closing(sqlite3.connect(file)) as reader, closing(sqlite3.connect(copy)) as target:
        reader.backup(target)


def lock(older: sqlite3.Connection, file: Path) -> None:
    """Leaves WAL mode first: a WAL file left beside the database would be applied to the new store."""
    try:
        mode = older.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
        older.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        raise StoreBusy(file, LOCK_TIMEOUT) from error
    if mode != "delete":
        raise StoreBusy(file, LOCK_TIMEOUT)


def import_lessons(file: Path, fresh: Path, settings: Settings) -> None:
    with MemoryStore(fresh, settings=replace(settings, store=str(fresh))) as store:
        summary = import_path(store, file, source=NAME)
    if summary.errors:
        reason = f"{summary.errors} of its lessons cannot be imported ({summary.faults[0].why})"
        raise ArchiveRefused(file, reason, "Correct or delete them, and try again.")


def unused_path(path: Path) -> Path:
    numbered = (path.with_name(f"{path.name}-{number}") for number in count(2))
    return path if not path.exists() else next(other for other in numbered if not other.exists())
