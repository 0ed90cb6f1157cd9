"""Shared parts of the foreign sources: the header, notes on incomplete records, and read-only SQLite access."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, TypeAlias
from urllib.parse import quote

from nacre.errors import ArchiveRefused
from nacre.model.memory import Json
from nacre.protocols import Progress
from nacre.transfer.archive import Header
from nacre.transfer.read_archive import BadRow, Row

FORM = "foreign/"  # with the source's name, in a header
VERSION = 1
MOST_NAMED = 5  # records that a note names
LONGEST_NAME = 80  # characters of an id in a message
Lacks: TypeAlias = Callable[[str, str], None]  # notes the id of a record, and what of it could not be read


def header(name: str) -> Header:
    return Header(f"{FORM}{name}", VERSION)


@dataclass(slots=True)
class ForeignSource:
    """A source of another program, opened for one import."""

    relates: ClassVar[bool] = False  # whether its links are relations, which may come later than what they link

    path: Path
    header: Header
    remarks: list[str] = field(default_factory=list)  # known since opening
    partial: dict[str, list[str]] = field(default_factory=dict)  # the part that could not be read -> ids of the records

    @property
    def notes(self) -> tuple[str, ...]:
        """Complete once the rows were read."""
        return (*self.remarks, *(note(what, ids) for what, ids in self.partial.items()), *self.further_notes())

    def further_notes(self) -> Iterator[str]:
        """What a kind of source has to say besides."""
        yield from ()

    def lacks(self, id: str, what: str) -> None:
        self.partial.setdefault(what, []).append(printable(id))


@dataclass(slots=True, kw_only=True)
class DatabaseSource(ForeignSource, ABC):
    """A source whose records are rows of one SQLite file; `read` gives them without their numbers. `rows` raises
    `ArchiveRefused` where there are none, and before the first the error of SQLite, which `open_database` translates.
    """

    database: sqlite3.Connection

    @abstractmethod
    def read(self) -> Iterator[Row]: ...

    def rows(self, progress: Progress | None = None) -> Iterator[Row]:  # noqa: ARG002 - one reading is quick
        self.partial.clear()
        number = 0
        try:
            for number, row in enumerate(self.read(), 1):
                yield row._replace(line=number)
        except (sqlite3.Error, MemoryError) as error:  # a damaged length may be that of a text as large as memory
            if not number:
                raise sqlite3.DatabaseError(str(error) or "a record is too long") from error
            yield BadRow(number + 1, f"the rest cannot be read ({error})")
        if not number:
            raise no_memories(self.path)


def no_memories(path: Path) -> ArchiveRefused:
    """SQLite leaves out what is damaged in the changes beside a file, without a word."""
    beside = unfinished(path)
    if not beside:
        return ArchiveRefused(path, "it holds no memories", "Name the file that holds them.")
    reason = f"it holds no memories, also with the changes in {beside[0].name}"
    return ArchiveRefused(path, reason, "Close the program that uses it, and take another copy of both.")


def unfinished(path: Path) -> list[Path]:
    """The files with changes that a writer has not yet moved into the database itself."""
    beside = (path.with_name(path.name + ending) for ending in UNFINISHED)
    return [each for each in beside if each.is_file() and each.stat().st_size]


def note(what: str, ids: list[str]) -> str:
    named = ", ".join(ids[:MOST_NAMED]) + (", …" if len(ids) > MOST_NAMED else "")
    who = "One was imported without its" if len(ids) == 1 else f"{len(ids):,} were imported without their"
    return f"{who} {what}, which cannot be read: {named}."


def printable(id: object) -> str:
    """Short, and valid UTF-8, for a message."""
    return str(id)[:LONGEST_NAME].encode("utf-8", "replace").decode()


def from_json(value: object, kind: type[list[Json]] | type[dict[str, Json]]) -> Json:
    """The list or object in a JSON text; empty for an empty text, None when it holds something else."""
    if value is None or value == "":
        return kind()
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    if value is None:
        return kind()
    return value if isinstance(value, kind) else None


def string_list(value: object) -> list[str] | None:
    """A list of strings, which may be written as JSON; None when it is something else."""
    items = from_json(value, list)
    if not isinstance(items, list) or not all(isinstance(each, str) for each in items):
        return None
    return [str(each) for each in items]


def times(made: object, updated: object = None) -> dict[str, object]:
    """`created_at` and `updated_at`; none of them without a time of creation."""
    if made in (None, ""):
        return {}
    return {"created_at": made, "updated_at": made if updated in (None, "") else updated}


def strings(value: object, id: str, what: str, lacks: Lacks) -> list[str]:
    """A list as `string_list` reads it; where it cannot be read, the record is noted as one that lacks it."""
    items = string_list(value)
    if items is None:
        lacks(id, what)
    return items or []


SQLITE = b"SQLite format 3\0"  # how a database begins
UNFINISHED = ("-wal", "-journal")  # changes that a writer has not yet moved into the file itself
Record = Mapping[str, object]


@contextmanager
def open_database(path: Path) -> Iterator[sqlite3.Connection]:
    """Opens the file read-only. When a writer left unfinished changes beside it, opens a copy of both, because SQLite
    would have to write to apply them. Raises `ArchiveRefused`."""
    if not path.is_file():
        raise ArchiveRefused(path, "there is no such file", "Check the path.")
    try:
        beside = unfinished(path)
        if not beside:
            with closing(connect(path, "mode=ro&immutable=1")) as database:
                yield database
            return
        with tempfile.TemporaryDirectory(prefix="nacre-") as folder:
            for each in (path, *beside):
                shutil.copyfile(each, Path(folder) / each.name)
            with closing(connect(Path(folder) / path.name, "mode=rw")) as database:
                yield database
    except sqlite3.Error as error:
        raise damaged(path, error) from error
    except OSError as error:
        if isinstance(error, ArchiveRefused):
            raise
        reason = f"it cannot be read ({error.strerror or error})"
        raise ArchiveRefused(path, reason, "Check the path and its permissions.") from error


def connect(path: Path, how: str) -> sqlite3.Connection:
    database = sqlite3.connect(f"file:{quote(str(path.absolute()))}?{how}", uri=True)
    # Text that is not UTF-8 is decoded so that the checks refuse only its own record.
    database.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA query_only = ON")
    database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return database


def damaged(path: Path, error: sqlite3.Error) -> ArchiveRefused:
    with path.open("rb") as file:
        if file.read(len(SQLITE)) != SQLITE:
            return ArchiveRefused(path, "it is not a SQLite database", "Name the right file.")
    return ArchiveRefused(path, f"it is not an intact SQLite database ({error})", "Take another copy of it.")


def columns(database: sqlite3.Connection, table: str) -> frozenset[str]:
    """Empty when there is no such table. A view does not count: reading one may never end."""
    if not database.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone():
        return frozenset()
    return frozenset(str(row[1]) for row in database.execute(f'PRAGMA table_info("{table}")'))


def records(database: sqlite3.Connection, query: str, *values: object) -> Iterator[Record]:
    cursor = database.execute(query, values)
    names = [column[0] for column in cursor.description]
    for row in cursor:
        yield dict(zip(names, row, strict=True))


def require(database: sqlite3.Connection, path: Path, wanted: Mapping[str, set[str]], whose: str) -> None:
    """Raises `ArchiveRefused` when the database lacks a table or column."""
    for table, names in wanted.items():
        missing = sorted(names - columns(database, table))
        if missing:
            reason = f"its table {table!r} is missing or has no {missing[0]!r}, so it is not a database of {whose}"
            raise ArchiveRefused(path, reason, "Name the right file.")
