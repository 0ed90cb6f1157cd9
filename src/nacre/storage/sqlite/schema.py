"""Creates the tables of a store (`schema.sql`), and says whether a file is one."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from nacre.errors import NotAStore, SchemaMismatch, StoreDamaged
from nacre.files import data_text

WAL = "wal"
APPLICATION_ID = 0x4E414352  # "NACR": tells our file from any other SQLite database
STATEMENTS = data_text("storage/sqlite/schema.sql")
# The smallest write is a page, in the file and in its log, and an edit changes a few bytes on each of a dozen pages.
# Measured once with 20,000 memories: most operations take as long as with pages of 4,096 bytes, a few a tenth longer,
# and a tag writes half as much.
PAGE_BYTES = 1_024


def digest(statements: str) -> int:
    """Of a schema, so that any other one is noticed without a number that somebody has to change. It is the file's
    `user_version`: 31 bits, and 0 only in a new file. Comments and blanks do not count."""
    return zlib.crc32(" ".join(re.sub("--.*", "", statements).split()).encode()) & 0x7FFFFFFF


CURRENT = digest(STATEMENTS)
# What SQLite makes by itself: for unique columns, for counted keys and, under these names, for the index of words.
MADE_BY_SQLITE = re.compile(r"sqlite_(?:autoindex_\w+|sequence|stat\d)|word_(?:data|idx|docsize|config)")


# One statement, and so one snapshot: another process may be creating this very store.
OPENING = (
    "SELECT application_id, user_version, EXISTS (SELECT 1 FROM sqlite_schema)"
    " FROM pragma_application_id, pragma_user_version"
)


def version(connection: apsw.Connection) -> int:
    return int(connection.pragma("user_version"))


def has_tables(connection: apsw.Connection, path: Path) -> bool:
    """False for an empty file. Refuses a foreign database, and a store of another schema (`SchemaMismatch`), before
    anything is written to it."""
    row: tuple[Any, ...] = connection.execute(OPENING).fetchall()[0]
    application, schema, tables = row
    if application == APPLICATION_ID:
        if schema != CURRENT:
            raise SchemaMismatch(path, schema, CURRENT)
        return True
    if application != 0 or schema != 0 or tables:
        raise NotAStore(path, "it is a database of another program")
    return False


def own_definitions() -> frozenset[str]:
    """The file keeps the text of each. Every statement of the schema begins a line, and the parts of one do not."""
    statements = re.split(r"^(?=CREATE|INSERT)", re.sub("--.*", "", STATEMENTS), flags=re.MULTILINE)
    return frozenset(" ".join(each.split()).removesuffix(";") for each in statements)


OWN = own_definitions()


def foreign_definitions(connection: apsw.Connection, *, acting: bool = False) -> Iterator[str]:
    """What is defined in the file and not in a new store, each as a trigger, view, table or index and its name. A
    trigger of somebody else could delete memories at each write, or keep what is purged; with `acting`, only such
    triggers and views are named."""
    only = " WHERE type IN ('trigger', 'view')" if acting else ""
    for kind, name, sql in connection.execute(f"SELECT type, name, sql FROM sqlite_schema{only}").fetchall():
        made_by_sqlite = kind in ("table", "index") and MADE_BY_SQLITE.fullmatch(str(name))
        if not made_by_sqlite and " ".join(str(sql).split()) not in OWN:
            yield f"the {kind} {str(name)!r}"


def require_own_triggers(connection: apsw.Connection, path: Path) -> None:
    """Raises `StoreDamaged` before anything is written, or read through a view."""
    foreign = next(foreign_definitions(connection, acting=True), None)
    if foreign is not None:
        raise StoreDamaged(path, f"{foreign} in it was not made by Nacre")


def share(connection: apsw.Connection) -> None:
    """In WAL mode, where an open file stays locked against being replaced; a change of key that was broken off may have
    left another mode."""
    if connection.pragma("journal_mode") != WAL:
        connection.pragma("journal_mode", WAL)


def prepare(connection: apsw.Connection, path: Path) -> None:
    """Creates the tables; of two processes at once, the second finds the work done."""
    connection.pragma("page_size", PAGE_BYTES)  # of a new file; an existing one keeps its own
    connection.pragma("journal_mode", WAL)
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not has_tables(connection, path):
            connection.execute(STATEMENTS)
            connection.pragma("application_id", APPLICATION_ID)
            connection.pragma("user_version", CURRENT)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk has ended it already
            connection.execute("ROLLBACK")
        raise
