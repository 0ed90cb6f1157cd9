"""Opens another program's SQLite file so that nothing of it changes."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from nacre.errors import ArchiveRefused

UNFINISHED = ("-wal", "-journal")  # what a writer has not yet brought into the file itself
Record = Mapping[str, object]


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """The file as it lies there, or, where a writer left something unfinished beside it, a copy of both: to take that
    in, SQLite would have to write. Raises `ArchiveRefused`."""
    if not path.is_file():
        raise ArchiveRefused(path, "there is no such file", "Check the path.")
    beside = [each for ending in UNFINISHED if (each := path.with_name(path.name + ending)).is_file()]
    try:
        if not any(each.stat().st_size for each in beside):
            with closing(connected(path, "mode=ro&immutable=1")) as database:
                yield database
            return
        with tempfile.TemporaryDirectory(prefix="nacre-") as folder:
            for each in (path, *beside):
                shutil.copyfile(each, Path(folder) / each.name)
            with closing(connected(Path(folder) / path.name, "mode=rw")) as database:
                yield database
    except sqlite3.Error as error:
        raise damaged(path, error) from error
    except OSError as error:
        if isinstance(error, ArchiveRefused):
            raise
        reason = f"it cannot be read ({error.strerror or error})"
        raise ArchiveRefused(path, reason, "Check the path and its permissions.") from error


def connected(path: Path, how: str) -> sqlite3.Connection:
    database = sqlite3.connect(f"file:{quote(str(path.absolute()))}?{how}", uri=True)
    # What is no text in UTF-8 becomes one that the checks refuse, so that only its own record is lost.
    database.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA query_only = ON")
    database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return database


def damaged(path: Path, error: sqlite3.Error) -> ArchiveRefused:
    return ArchiveRefused(path, f"it is no whole SQLite database ({error})", "Take another copy of it.")


def columns(database: sqlite3.Connection, table: str) -> frozenset[str]:
    """Empty when there is no such table; a view is none: reading one may never end."""
    if not database.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone():
        return frozenset()
    return frozenset(str(row[1]) for row in database.execute(f'PRAGMA table_info("{table}")'))


def records(database: sqlite3.Connection, query: str, *values: object) -> Iterator[Record]:
    cursor = database.execute(query, values)
    names = [column[0] for column in cursor.description]
    for row in cursor:
        yield dict(zip(names, row, strict=True))


def require(database: sqlite3.Connection, path: Path, wanted: Mapping[str, set[str]], whose: str) -> None:
    """Raises `ArchiveRefused` for a database that is somebody else's."""
    for table, names in wanted.items():
        missing = sorted(names - columns(database, table))
        if missing:
            reason = f"its table {table!r} is not there, or has no {missing[0]!r}, so it is none of {whose}"
            raise ArchiveRefused(path, reason, "Name the right file.")
