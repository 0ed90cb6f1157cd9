"""Creates the tables of a store (`schema.sql`), and says whether a file is one."""

from __future__ import annotations

from pathlib import Path

import apsw

from nacre.errors import NotAStore, SchemaTooNew
from nacre.files import data_text

WAL = "wal"
APPLICATION_ID = 0x4E414352  # "NACR": tells our file from any other SQLite database
CURRENT = 1
# The smallest write is a page, in the file and in its log, and an edit changes a few bytes on each of a dozen pages.
# Measured with 20,000 memories: no operation is slower than with pages of 4,096 bytes, and a tag writes half as much.
PAGE_BYTES = 1_024


def version(connection: apsw.Connection) -> int:
    return int(connection.pragma("user_version"))


def check_ours(connection: apsw.Connection, path: Path) -> None:
    """Refuses a foreign database before anything is written to it."""
    with connection:  # one snapshot: another process may be creating this very store
        application, schema = int(connection.pragma("application_id")), version(connection)
        tables = connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()
    if application == APPLICATION_ID:
        if schema > CURRENT:
            raise SchemaTooNew(path, schema, CURRENT)
        return
    if application != 0 or schema != 0 or tables:
        raise NotAStore(path, "it is a database of another program")


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
        check_ours(connection, path)
        if version(connection) < CURRENT:
            connection.execute(data_text("storage/sqlite/schema.sql"))
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", CURRENT)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk has ended it already
            connection.execute("ROLLBACK")
        raise
