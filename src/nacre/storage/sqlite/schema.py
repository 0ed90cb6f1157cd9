"""The tables, as numbered migrations: append to the list, never change what stands in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import apsw

from nacre.errors import NotAStore, SchemaTooNew

Step: TypeAlias = Callable[[], None]

WAL = "wal"
APPLICATION_ID = 0x4E414352  # "NACR": tells our file from any other SQLite database

# Columns of `memory` have no declared type on purpose: a declared one would turn "5" into 5 in comparisons, and a
# filter would mean one thing here and another in Python.
FIRST = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta VALUES ('generation', 1), ('vector_epoch', 0);

CREATE TABLE memory(
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    space, id, text, agent, title, type, source, source_notes,
    importance, salience, confidence, polarity, trust, pinned, valence, arousal, session, position, role,
    created_at, updated_at, occurred_at, valid_from, valid_until, expires_at, last_accessed, access_count,
    last_validated_at, status, trashed_from, superseded_by, superseded_at,
    lists TEXT NOT NULL,
    generation INTEGER NOT NULL,
    UNIQUE(space, id)
);
CREATE INDEX memory_created ON memory(space, created_at);
CREATE INDEX memory_occurred ON memory(space, occurred_at) WHERE occurred_at IS NOT NULL;
CREATE INDEX memory_session ON memory(space, session, position) WHERE session <> '';
CREATE INDEX memory_type ON memory(space, type);
CREATE INDEX memory_generation ON memory(generation);

CREATE TABLE tag(row INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY(row, name)) WITHOUT ROWID;
CREATE INDEX tag_name ON tag(name);
CREATE TABLE context(
    row INTEGER NOT NULL, applies INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY(row, applies, name)
) WITHOUT ROWID;
CREATE INDEX context_name ON context(name);
CREATE TABLE link(
    row INTEGER NOT NULL, target TEXT NOT NULL, rel TEXT NOT NULL, weight REAL NOT NULL, PRIMARY KEY(row, target, rel)
) WITHOUT ROWID;
CREATE INDEX link_target ON link(target);

CREATE TABLE chunk(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    row INTEGER NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL, digest BLOB NOT NULL, embedded INTEGER NOT NULL
);
CREATE INDEX chunk_row ON chunk(row);
CREATE INDEX chunk_digest ON chunk(digest);

-- Vectors lie packed, up to 256 to a row: reading 100,000 takes 60 ms so, and 340 ms one by one.
CREATE TABLE block(
    row INTEGER PRIMARY KEY, space TEXT NOT NULL, last INTEGER NOT NULL, count INTEGER NOT NULL,
    chunks BLOB NOT NULL, owners BLOB NOT NULL, vectors BLOB NOT NULL
);
CREATE UNIQUE INDEX block_last ON block(space, last, count);
-- What left the blocks, so that a process that has them in memory need not read them all again.
CREATE TABLE removed(seq INTEGER PRIMARY KEY AUTOINCREMENT, space TEXT NOT NULL, chunk INTEGER NOT NULL);

CREATE VIRTUAL TABLE word USING fts5(
    title, text, role, tags, entities, content='', contentless_delete=1,
    tokenize="unicode61 remove_diacritics 0 categories 'L* M* N* Co S*' tokenchars '_'"
);

-- How many memories hold a stem, without reading which.
CREATE VIRTUAL TABLE term USING fts5vocab(word, row);

CREATE TABLE journal(
    seq INTEGER PRIMARY KEY AUTOINCREMENT, space TEXT NOT NULL, memory_id TEXT NOT NULL,
    act TEXT NOT NULL, actor TEXT NOT NULL, at REAL NOT NULL, batch TEXT NOT NULL, why TEXT NOT NULL,
    before TEXT, after TEXT
);
CREATE INDEX journal_memory ON journal(space, memory_id);
CREATE INDEX journal_batch ON journal(batch);

CREATE TABLE vocabulary(kind TEXT NOT NULL, name TEXT NOT NULL, data TEXT, PRIMARY KEY(kind, name)) WITHOUT ROWID;
"""

# Ties are counted and found by relation, chains backwards; the journal tells of words too, and may be shortened.
SECOND = """
ALTER TABLE link ADD COLUMN walks INTEGER NOT NULL DEFAULT 0;
CREATE INDEX link_rel ON link(rel);
-- Partial, and asked for in its own words: a whole one would tempt the planner away from the order of creation.
CREATE INDEX memory_superseded ON memory(space, superseded_by) WHERE superseded_by <> '';

ALTER TABLE journal ADD COLUMN kind TEXT NOT NULL DEFAULT 'memory';
CREATE INDEX journal_space ON journal(space);
CREATE TABLE dropped(space TEXT PRIMARY KEY, seq INTEGER NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
"""

# Damaged records that were moved aside: what could be read of each, column by column, in JSON.
THIRD = """
CREATE TABLE quarantine(
    number INTEGER PRIMARY KEY, space TEXT NOT NULL, id TEXT NOT NULL, reason TEXT NOT NULL, at REAL NOT NULL,
    columns TEXT NOT NULL
);
"""

MIGRATIONS: tuple[str, ...] = (FIRST, SECOND, THIRD)
CURRENT = len(MIGRATIONS)


def version(connection: apsw.Connection) -> int:
    return int(connection.pragma("user_version"))


def check_ours(connection: apsw.Connection, path: Path) -> None:
    """Refuses a foreign database before anything is written to it."""
    with connection:  # one snapshot: another process may be creating this very store
        application, found = int(connection.pragma("application_id")), version(connection)
        tables = connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()
    if application == APPLICATION_ID:
        if found > CURRENT:
            raise SchemaTooNew(path, found, CURRENT)
        return
    if application != 0 or found != 0 or tables:
        raise NotAStore(path, "it is a database of another program")


def share(connection: apsw.Connection) -> None:
    """In WAL mode, where an open file stays locked against being replaced; a change of key that was broken off may have
    left another mode."""
    if connection.pragma("journal_mode") != WAL:
        connection.pragma("journal_mode", WAL)


def prepare(connection: apsw.Connection, path: Path) -> None:
    """Creates or upgrades the tables; of two processes at once, the second finds the work done."""
    connection.pragma("journal_mode", WAL)
    connection.execute("BEGIN IMMEDIATE")
    try:
        check_ours(connection, path)
        for number in range(version(connection), CURRENT):
            connection.execute(MIGRATIONS[number])
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", CURRENT)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk has ended it already
            connection.execute("ROLLBACK")
        raise
