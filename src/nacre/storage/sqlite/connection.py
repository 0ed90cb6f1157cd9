"""The key of an encrypted file: how a connection gets it, and what a file is that does not open with it."""

from __future__ import annotations

import os
import re
import threading
import time
import weakref
import zlib
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import apsw

from nacre.errors import (
    InvalidInput,
    NacreError,
    NotAStore,
    NotEncrypted,
    SchemaTooNew,
    StorageError,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
    StoreUnreachable,
    WeakKey,
    WrongKey,
)
from nacre.files import copy_owner_write, create_private, private_folder, restrict_to_owner
from nacre.storage.sqlite import rows as compressed
from nacre.storage.sqlite.damage import reason
from nacre.storage.sqlite.rows import DamagedRecord

# ChaCha20 with Poly1305: every page is authenticated, in the file, its log and its journal alike. Named on purpose:
# the library's default may change, and a store must not.
CIPHER = "chacha20"
# PBKDF2-HMAC-SHA256, as the library derives keys itself, so that a tool built on it opens the file with the passphrase
# after `PRAGMA kdf_iter = 600000`. That is the number OWASP advises; the library's own is a tenth of it. Done here,
# because the library would repeat it for every connection, and every thread has one: this way it is 0.2 s a process.
ITERATIONS = 600_000
LEAST_CHARACTERS = 8  # of a new passphrase; anything shorter is found by trying
SALT_BYTES = 16  # the file begins with it
RAW_BYTES = 32
RAW = re.compile(rf"[0-9a-fA-F]{{{2 * RAW_BYTES}}}")

PLAIN = b"SQLite format 3\x00"
HEADER_BYTES = 24
# Of the header, the bytes that stay legible: 32 a page for nonce and tag, then three constants of the format.
LEGIBLE = bytes((32, 64, 32, 32))
NEW = bytes(HEADER_BYTES)
PROOFS = 3  # tries: another process may be writing the first page at that moment


@dataclass(frozen=True, slots=True)
class Key:
    """A passphrase, or a key of 32 bytes as 64 hex digits, which needs no derivation. It is never shown."""

    secret: str = field(repr=False)

    @property
    def is_raw(self) -> bool:
        return RAW.fullmatch(self.secret) is not None

    def check_strength(self) -> None:
        """Asked when a file gets this key, never when one is opened with it. Raises `WeakKey`."""
        if not self.is_raw and len(self.secret.strip()) < LEAST_CHARACTERS:
            raise WeakKey(LEAST_CHARACTERS)

    def raw(self, salt: bytes) -> str:
        """In hex, with the salt, as the driver takes it."""
        known = self.secret if self.is_raw else derived(self.secret, salt)
        return f"raw:{known}{salt.hex()}"


@lru_cache(maxsize=8)
def derived(passphrase: str, salt: bytes) -> str:
    from hashlib import pbkdf2_hmac  # milliseconds that a plain store need not wait for

    return pbkdf2_hmac("sha256", passphrase.encode(), salt, ITERATIONS, RAW_BYTES).hex()


def header(connection: apsw.Connection) -> bytes:
    """The file's first bytes; only before the key is given. Read through the driver: were the file opened and closed
    beside it, the system would drop the locks that this process holds on it."""
    return connection.read("main", 0, 0, HEADER_BYTES)[1]


def is_plain(header: bytes) -> bool:
    return header.startswith(PLAIN)


def is_encrypted(header: bytes) -> bool:
    return not is_plain(header) and header.endswith(LEGIBLE)


def unlock(connection: apsw.Connection, path: Path, key: Key | None) -> None:
    """Comes before anything is read. Without a key an encrypted file is not touched: the driver would take its pages
    for plain ones, and what a crash left to be rolled back would be lost."""
    start = header(connection)
    if key is None:
        if is_encrypted(start):
            raise WrongKey(path, key_set=False)
        return
    if is_plain(start):
        raise NotEncrypted(path)
    if start == NEW or is_encrypted(start):
        salt = os.urandom(SALT_BYTES) if start == NEW else start[:SALT_BYTES]
        if start != NEW:
            prove(connection, path, key, salt)
        apply(connection, key, salt)


def apply(connection: apsw.Connection, key: Key, salt: bytes) -> None:
    connection.pragma("cipher", CIPHER)
    connection.pragma("key", key.raw(salt))


def prove(connection: apsw.Connection, path: Path, key: Key, salt: bytes) -> None:
    """Tries the key on the file alone, before the connection reads its log. A log that a crash left behind is read by
    whoever opens it first; with a wrong key nothing in it can be read, it would pass for empty, and a writer with the
    right key would write over it."""
    place = f"{Path(connection.filename).absolute().as_uri()}?mode=ro&immutable=1"
    for _ in range(PROOFS):
        checker = apsw.Connection(place, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        try:
            apply(checker, key, salt)
            checker.pragma("schema_version")
            return
        except (apsw.NotADBError, apsw.CorruptError) as error:
            reason = error
        finally:
            checker.close()
    raise WrongKey(path, key_set=True) from reason


def set_checkpoint_on_close(connection: apsw.Connection, *, on: bool) -> None:
    """The last connection that closes a file moves what is in its log into it, and removes the log. SQLite finds the
    log by the file's name: a connection whose file was replaced meanwhile would move the log of the new file into the
    old one, and what others wrote would be lost."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0 if on else 1)


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

-- One vector a row: a search reads the few hundred that it compares exactly, and nothing else.
CREATE TABLE vector(chunk INTEGER PRIMARY KEY, space NOT NULL, owner INTEGER NOT NULL, halves BLOB NOT NULL);
CREATE INDEX vector_space ON vector(space);
-- Derived from them: sign bits, packed, and for each space what they are relative to. See vectors.py.
CREATE TABLE signs(
    row INTEGER PRIMARY KEY, space NOT NULL, last INTEGER NOT NULL, count INTEGER NOT NULL,
    chunks BLOB NOT NULL, owners BLOB NOT NULL, bits BLOB NOT NULL
);
CREATE UNIQUE INDEX signs_last ON signs(space, last, count);
CREATE TABLE centre(
    number INTEGER PRIMARY KEY AUTOINCREMENT, space NOT NULL UNIQUE, mean BLOB NOT NULL,
    vectors INTEGER NOT NULL, rescored INTEGER NOT NULL
);
-- What was removed, so that a process that has the others in memory need not read them all again.
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


# Measured with four writers and two readers on one file: no "locked" error at 10 s, and waits of milliseconds.
BUSY_SECONDS = 10.0
PASSING_SECONDS = 0.5  # a question must not hang while another process imports
CACHE_KIB = 8192
PRAGMAS = (
    f"cache_size=-{CACHE_KIB}",
    "temp_store=memory",
    "synchronous=full",
    "secure_delete=on",  # "fast" leaves the pages of a long purged text as they were
)


CANNOT_WRITE = (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError, apsw.IOError)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    try:
        yield
    except apsw.BusyError as error:
        raise StoreBusy(path, BUSY_SECONDS) from error
    except apsw.FullError as error:
        raise StoreFull(path) from error
    except (apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise StoreReadOnly(path) from error
    except apsw.NotADBError as error:
        raise NotAStore(path, str(error)) from error
    except (apsw.CantOpenError, apsw.IOError) as error:
        raise io_error(path, error) from error
    except (apsw.CorruptError, apsw.ConstraintError, DamagedRecord, UnicodeDecodeError, zlib.error) as error:
        raise StoreDamaged(path, str(error) if isinstance(error, apsw.Error) else reason(error)) from error
    except apsw.Error as error:
        if "JSON" in str(error) or "schema" in str(error):
            raise StoreDamaged(path, str(error)) from error
        raise StorageError(f"{path} could not do this ({error}). Run `nacre doctor` to examine it.") from error
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{error.object!r} holds half of a surrogate pair, which no text can; remove it.") from error


@contextmanager
def in_passing(connection: apsw.Connection) -> Iterator[None]:
    """For a write whose loss harms nobody: it waits neither for the disk nor long for another writer."""
    connection.set_busy_timeout(round(PASSING_SECONDS * 1000))
    connection.execute("PRAGMA synchronous = normal")
    try:
        yield
    finally:
        connection.execute("PRAGMA synchronous = full")
        connection.set_busy_timeout(round(BUSY_SECONDS * 1000))


def io_error(path: Path, error: apsw.Error) -> StorageError:
    if not os.access(path.parent, os.W_OK):
        return StoreReadOnly(path)
    return StoreUnreachable(path, str(error))


class Connections:
    """A connection for each thread, closed with its thread or all together. A forked process opens its own."""

    def __init__(self, path: Path, key: Key | None = None) -> None:
        _all.add(self)
        self.path = path
        self.key = key
        self._local = threading.local()
        self._open: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._closed = False

    def get(self) -> apsw.Connection:
        held: apsw.Connection | None = getattr(self._local, "held", None)
        if held is not None:
            return held
        if self._closed:
            raise StorageError(f"The store {self.path} is closed; open it again.")
        connection = self._connect()
        self._local.held = connection
        with self._lock:
            self._open.add(connection)
        return connection

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for connection in list(self._open):
                connection.close()
            self._open.clear()
        self._local = threading.local()

    def disown(self) -> None:
        """In a forked child: lets go of what the parent opened without a trace on the file.

        SQLite counts its locks a process, and a child inherits the counts but not the locks: beside an inherited
        connection its own would be unprotected, and another process might tidy the file away under it.
        """
        inherited = list(self._open)
        self._lock, self._local, self._open = threading.Lock(), threading.local(), weakref.WeakSet()
        for connection in inherited:
            let_go(connection)

    def _connect(self) -> apsw.Connection:
        check_place(self.path)
        with translated(self.path):
            try:
                return self._connect_to_write()
            except CANNOT_WRITE:
                # Only where nothing can be written: a passing fault, as while the file is replaced, is no reason.
                connection = None if writable(self.path) else self._connect_to_read()
                if connection is None:
                    raise
                return connection

    def _connect_to_write(self) -> apsw.Connection:
        while True:
            make_private(self.path)
            connection = apsw.Connection(str(self.path))
            set_checkpoint_on_close(connection, on=False)  # until it is certain that this is the store's file
            fresh = header(connection) == NEW
            try:
                self._prepare(connection)
                if not overtaken(connection):
                    set_checkpoint_on_close(connection, on=True)
                    return connection
            except (apsw.Error, NacreError) as error:
                if not overtaken(connection) and not (fresh and made_meanwhile(self.path, error)):
                    connection.close()
                    raise
            connection.close()

    def _connect_to_read(self) -> apsw.Connection | None:
        """Where file, folder or disk are read-only; None where even that is impossible.

        Beside a writer, who keeps the files of the log there, the log is read too. Without one SQLite would want to
        make them; told that the file lies still, it needs none. A log that somebody left must not be passed over.
        """
        log = self.path.with_name(self.path.name + "-wal")
        still = [] if log.exists() and log.stat().st_size else ["mode=ro&immutable=1"]
        for mode in ("mode=ro", *still):
            connection: apsw.Connection | None = None
            try:
                place = f"{self.path.absolute().as_uri()}?{mode}"
                connection = apsw.Connection(place, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
                self._prepare_to_read(connection)
                return connection
            except CANNOT_WRITE:
                if connection is not None:
                    connection.close()
        return None

    def _prepare_to_read(self, connection: apsw.Connection) -> None:
        connection.set_busy_timeout(round(BUSY_SECONDS * 1000))
        unlock(connection, self.path, self.key)
        check_ours(connection, self.path)
        if version(connection) < CURRENT:
            raise StoreReadOnly(self.path)  # it would have to be brought up to date first
        compressed.register(connection)
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")

    def _prepare(self, connection: apsw.Connection) -> None:
        connection.set_busy_timeout(round(BUSY_SECONDS * 1000))
        if self.key is not None and header(connection) == NEW:
            self.key.check_strength()
        unlock(connection, self.path, self.key)
        check_ours(connection, self.path)
        if version(connection) < CURRENT:
            patiently(lambda: prepare(connection, self.path))
        patiently(lambda: share(connection))
        compressed.register(connection)
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")


def writable(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def check_place(path: Path) -> None:
    if path.is_dir():
        raise StoreUnreachable(path, "it is a directory")
    try:
        private_folder(path.parent)
    except OSError as error:
        raise StoreUnreachable(path, error.strerror or str(error)) from error


def make_private(path: Path) -> None:
    """Creates the store's file for its owner alone, or corrects the modes of an existing store.

    SQLite gives the side files the mode of the store. They keep it when the store's mode changes: after `chmod 400`,
    a read and `chmod 600` every write would fail. One thread at a time: closing the new file would release the locks of
    a thread that has opened it in the meantime.
    """
    with _making, suppress(OSError):  # the driver reports what is wrong
        if not create_private(path):
            restrict_to_owner(path)
            for part in ("-wal", "-shm", "-journal"):
                beside = path.with_name(path.name + part)
                restrict_to_owner(beside)
                copy_owner_write(path, beside)


def patiently(attempt: Step) -> None:
    """Turning on WAL needs the file alone for a moment and does not wait for it as other statements do."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return attempt()
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def made_meanwhile(path: Path, error: Exception) -> bool:
    """Whether a file that was empty when it was opened has become the store of another process, with its own salt."""
    if not isinstance(error, apsw.NotADBError):
        return False
    start = header(apsw.Connection(str(path)))
    return is_plain(start) or is_encrypted(start)


def overtaken(connection: apsw.Connection) -> bool:
    """Whether another file has taken the place of the one that was opened: the store was encrypted, say, meanwhile.

    Asked when the file is shared (`schema.share`): from then on nobody can replace it under us.
    """
    moved = array("i", [0])
    connection.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, moved.buffer_info()[0])
    return bool(moved[0])


_making = threading.Lock()
_all: weakref.WeakSet[Connections] = weakref.WeakSet()
_inherited_in_use: list[
    apsw.Connection
] = []  # a parent's, in use at the fork: to close them here could harm it, so they stay open


def let_go(connection: apsw.Connection) -> None:
    with suppress(apsw.Error):
        if not connection.in_transaction:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.close()
            return
    _inherited_in_use.append(connection)


def disown_all() -> None:
    global _making
    _making = threading.Lock()  # another thread of the parent may have held it
    for connections in list(_all):
        connections.disown()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=disown_all)
