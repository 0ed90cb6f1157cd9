"""Connections to a store's file: encryption keys, opening, waiting, and SQLite's errors as our own."""

from __future__ import annotations

import logging
import os
import random
import re
import threading
import time
import weakref
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from glob import escape
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import apsw

from nacre.errors import (
    EXAMINE,
    InvalidInput,
    NacreError,
    NotAStore,
    NotEncrypted,
    StorageError,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreInUseAtFork,
    StoreReadOnly,
    StoreUnreachable,
    WeakKey,
    WrongKey,
)
from nacre.files import copy_owner_write, create_private, log_of, private_folder, restrict_to_owner, size_of
from nacre.storage.sqlite import rows, schema
from nacre.storage.sqlite.damage import reason
from nacre.storage.tables import DamagedRecord

log = logging.getLogger("nacre")

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
# Another process may be writing the first page at the moment when a key is tried on it, and be held up in the middle:
# the pauses, in seconds, before it is tried again. A wrong key is refused after all of them.
PROOF_PAUSES = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.0)


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
    for plain ones, and what a crash left to be rolled back would be lost. The file may come from somebody else, so
    that no view or trigger in it may call a function or a virtual table that could do harm."""
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
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
    for pause in PROOF_PAUSES:
        checker = apsw.Connection(place, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        try:
            apply(checker, key, salt)
            checker.pragma("schema_version")
            return
        except apsw.CorruptError:
            return  # the key has opened the first page, which tells of more pages than the file has
        except apsw.NotADBError as error:
            reason = error
        finally:
            checker.close()
        time.sleep(pause)
    raise WrongKey(path, key_set=True) from reason


def set_checkpoint_on_close(connection: apsw.Connection, *, on: bool) -> None:
    """The last connection that closes a file moves what is in its log into it, and removes the log. SQLite finds the
    log by the file's name: a connection whose file was replaced meanwhile would move the log of the new file into the
    old one, and what others wrote would be lost."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0 if on else 1)


Step: TypeAlias = Callable[[], None]
LogState: TypeAlias = tuple[int, int, int, int]  # number of the file, its size, and when it was written
FileNumber: TypeAlias = tuple[int, int]  # of its disk, and on it; two files that exist at once never share it

BUSY_SECONDS = 10.0
# SQLite's own waiting pauses up to 100 ms between two tries: beside an import, which lets others in for a few
# milliseconds at a time, a writer could miss every gap.
PAUSE_SECONDS = 0.002
# Who needs the file alone pauses at random up to this, so that two do not meet again and again.
LONGEST_PAUSE_SECONDS = 0.02
PASSING_SECONDS = 0.5  # that a purge waits for readers to leave the write-ahead log
CACHE_KIB = 8192
LOG_BYTES = 16 << 20  # of the write-ahead log; a bulk load leaves more, which is given back when it ends
PRAGMAS = (
    f"cache_size=-{CACHE_KIB}",
    "temp_store=memory",
    "synchronous=normal",  # a commit does not wait for the disk; see `wait_for_disk`
    "secure_delete=on",  # "fast" leaves the pages of a long purged text as they were
    f"journal_size_limit={LOG_BYTES}",
)
UNFINISHED_REKEY = ".rekeyed"  # the end of the name of a file that is to take the store's place
ALONE = "exclusive"  # SQLite's mode of locking in which no other connection can use the file
LEFT_IN_LOG = "left_in_log"  # the key in `meta` while a purged text may be in the log
LEFT_IN_LOG_NOTE = (
    "What was purged is gone from the store, but still in its write-ahead log, because another process is reading. "
    "The next write after that removes it; so does closing the store everywhere."
)


FILE_GONE = "its file was deleted or moved while it was open"
FILE_GONE_REMEDY = "Put the file back, or restart this program to begin a new store."
FILE_REPLACED = "another file took its place while it was open, and its write-ahead log may be of either"
FOREIGN_LOG_REMEDY = (
    "End every program that has it open and start it again; if you replaced the file by hand, first move away"
)
LOG_LEFT_REMEDY = (
    "Put the file back, or end this program: `nacre doctor --fix` then brings back what the write-ahead log beside it "
    "holds, and without that log a new store begins."
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
        raise refused_file(path, error) from error
    except (apsw.CantOpenError, apsw.IOError) as error:
        raise io_error(path, error) from error
    except (apsw.CorruptError, apsw.ConstraintError, DamagedRecord, UnicodeDecodeError, zlib.error) as error:
        raise StoreDamaged(path, str(error) if isinstance(error, apsw.Error) else reason(error)) from error
    except apsw.Error as error:
        if any(sign in str(error) for sign in ("JSON", "schema", "no such")):  # or a definition in it is damaged
            raise StoreDamaged(path, str(error)) from error
        raise StorageError(f"SQLite could not complete the operation on {path} ({error}).{EXAMINE}") from error
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"The text has half of a surrogate pair at position {error.start}, which no text can hold; remove it."
        ) from error


def refused_file(path: Path, error: apsw.Error) -> NotAStore:
    from nacre.storage.sqlite.lost_records import holds_rows  # needed for no sound file

    return StoreDamaged(path, "its header cannot be read") if holds_rows(path) else NotAStore(path, str(error))


def wait_for_others(connection: apsw.Connection, seconds: float) -> None:
    """How long a statement of this connection waits when another one holds the file."""
    deadline = 0.0

    def again(tries: int) -> bool:
        nonlocal deadline
        now = time.monotonic()
        deadline = deadline if tries else now + seconds
        if now >= deadline:
            return False
        time.sleep(PAUSE_SECONDS)
        return True

    connection.set_busy_handler(again)


def io_error(path: Path, error: apsw.Error) -> StorageError:
    if not os.access(path.parent, os.W_OK):
        return StoreReadOnly(path)
    if lacks_room(error):
        return StoreFull(path)
    return StoreUnreachable(path, str(error))


def lacks_room(error: apsw.Error) -> bool:
    """Whether there was no room on the disk for the file by which connections share the log."""
    return getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_SHMSIZE


def empty_log(connection: apsw.Connection, seconds: float) -> bool:
    """Moves the write-ahead log into the file and cuts it to nothing; False when others need it for longer."""
    wait_for_others(connection, seconds)
    try:
        busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
        return not busy
    except apsw.BusyError:
        return False
    finally:
        wait_for_others(connection, BUSY_SECONDS)


def wait_for_disk(connection: apsw.Connection, path: Path) -> None:
    """Until everything that was committed is on the disk. Done here and not by `synchronous=full`, because uses are
    committed without it, and switching would take a statement before most operations. SQLite locks other files than
    its log, so that opening and closing it takes no lock away."""
    try:
        log = os.open(connection.filename_wal, os.O_RDWR)
    except FileNotFoundError:  # it was moved into the file, which includes all this
        return
    try:
        os.fsync(log)
    except OSError as error:
        reason = f"what was written last may not be on the disk: {error.strerror or error}"
        raise StoreUnreachable(path, reason) from error
    finally:
        os.close(log)


def log_size(path: Path) -> int:
    return size_of(log_of(path))


def require_file_of_log(path: Path) -> None:
    """SQLite deletes the log of a file that is missing or empty, and with it what was written last. Raises
    `StoreDamaged`. The log is looked at first: another process may be making the store, and its file has a page before
    its log has one."""
    file = Path(os.path.realpath(path))  # SQLite keeps the log beside what a link leads to
    if log_size(file) and not size_of(file):
        raise StoreDamaged(path, f"only its write-ahead log {log_of(file).name} has content")


class Keeper:
    """The cursor of a thread that keeps its snapshots: always the same, since APSW 3.54.0 never frees a cursor beside
    which another one is used. It is closed with its thread, or its connection would stay open."""

    def __init__(self, cursor: apsw.Cursor) -> None:
        self.cursor = cursor
        self.keeps = False

    def __del__(self) -> None:
        with suppress(apsw.Error):
            self.cursor.close(force=True)


class Connections:
    """A connection for each thread, closed with its thread or all together. A forked process opens its own. When
    another file takes the store's place, the next use opens that one."""

    def __init__(self, path: Path, key: Key | None = None, forget: Sequence[Step] = ()) -> None:
        """`forget` lets go of what was read from a file that is no longer the store's."""
        _all.add(self)
        self.path = path.absolute()  # the process may change its folder
        self.key = key
        self._forget = forget
        self._file: FileNumber | None = None  # of what is open
        self._log_path = log_of(self.path)
        self._log: LogState | None = None  # as it was at the end of the last use
        self._local = threading.local()
        self._open: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._closed = False
        self._idle = threading.Condition()
        self._left_in_log = False
        self._busy: Counter[int] = Counter()  # how deep each thread is in a use

    @contextmanager
    def use(self) -> Iterator[apsw.Connection]:
        """This thread's connection; the store is not closed under it."""
        thread = threading.get_ident()
        with self._idle:
            if thread not in self._busy:
                self._leave_replaced_file()
            self._busy[thread] += 1
        try:
            yield self.get()
        finally:
            with self._idle:
                self._busy[thread] -= 1
                if not self._busy[thread]:
                    self._release_alone()
                    self._log = log_state(self._log_path)
                    del self._busy[thread]
                    self._idle.notify_all()

    @contextmanager
    def snapshot(self, sql: str, values: Any) -> Iterator[tuple[Any, ...]]:
        """The only row of a query, within a `use`. All that this thread reads meanwhile is of the same state of the
        file: that of a statement which has not ended, unless it is that of a snapshot or transaction around it."""
        connection, keeper = self.get(), self._local.keeper
        if connection.in_transaction or keeper.keeps:
            yield connection.execute(sql, values).fetchall()[0]
            return
        keeper.keeps = True
        try:
            # Fetched alone: reading on would end the statement, and the snapshot.
            yield keeper.cursor.execute(sql, values).fetchone()
        finally:
            keeper.keeps = False
            with suppress(apsw.Error):  # what has ended it already was raised above
                keeper.cursor.fetchall()

    @contextmanager
    def in_passing(self, connection: apsw.Connection) -> Iterator[None]:
        """For a write of this thread whose loss harms nobody: it waits for no other writer."""
        wait_for_others(connection, 0.0)
        try:
            yield
        finally:
            wait_for_others(connection, BUSY_SECONDS)

    def after_commit(self, connection: apsw.Connection, *, scrubbed: bool) -> None:
        """Keeps the write-ahead log small, and empties it of what was scrubbed.

        While somebody reads an earlier state, the log has to stay: a note says so, and every later write tries again.
        """
        if scrubbed or self._left_in_log:
            emptied = empty_log(connection, PASSING_SECONDS if scrubbed else 0.0)
            if emptied and self._left_in_log:
                connection.execute(f"DELETE FROM meta WHERE key = '{LEFT_IN_LOG}'")
            elif not emptied and not self._left_in_log:
                connection.execute(f"INSERT OR REPLACE INTO meta VALUES ('{LEFT_IN_LOG}', 1)")
                log.warning("%s: %s", self.path, LEFT_IN_LOG_NOTE)
            self._left_in_log = not emptied
        elif log_size(self.path) > LOG_BYTES:
            empty_log(connection, 0.0)

    def sweep(self) -> None:
        """Removes what a change of key, or a repair, left behind when it was killed: a copy of the whole store, perhaps
        without its encryption. None is under way: each needs the file alone, and this connection is open."""
        with self.use() as connection:
            if not connection.readonly("main"):
                sweep(self.path.resolve())

    def note_left_in_log(self) -> None:
        """Asks the file, when it is opened, whether a purged text was left in the log."""
        with translated(self.path), self.use() as connection:
            sql = f"SELECT 1 FROM meta WHERE key = '{LEFT_IN_LOG}'"
            try:
                self._left_in_log = bool(connection.execute(sql).fetchall())
            except apsw.BusyError:  # somebody restores a backup: the next write empties the log, and finds out
                self._left_in_log = True

    def get(self) -> apsw.Connection:
        held: apsw.Connection | None = getattr(self._local, "held", None)
        if held is not None and not self._closed:
            return held
        if self._closed:
            raise StorageError(f"The store {self.path} is closed; open it again.")
        self._log_path = log_of(Path(os.path.realpath(self.path)))  # SQLite keeps it beside what a link leads to
        connection, there = self._connect_to_known_file()
        self._local.alone = connection.pragma("locking_mode") == ALONE
        self._local.held, self._local.keeper = connection, Keeper(connection.cursor())
        with self._lock:
            self._file = self._file or there
            self._open.add(connection)
        return connection

    def _connect_to_known_file(self) -> tuple[apsw.Connection, FileNumber | None]:
        """Whoever opens a store may wait for a command that replaces its file, and gets the new one then: with the
        number of the old one its log would be taken for that of a replaced file, and moved away from those who use it.
        The number is of what was opened only if it is the same before and after."""
        while True:
            before = file_number(self.path)
            connection = self._connect()
            after = file_number(self.path)
            if before in (None, after):  # a new store's file has none before
                return connection, after
            connection.close()

    def _release_alone(self) -> None:
        """Lets others have the file again, and the next use find out whether there is room now."""
        if getattr(self._local, "alone", False):
            with self._lock:
                self._open.discard(self._local.held)
            self._local.held.close()
            self._local.held = self._local.keeper = None
            self._local.alone = False

    def _leave_replaced_file(self) -> None:
        """SQLite would go on in the file that it has opened, also when that one has no name any more: what is written
        there is lost with the last process that has it open. A missing file is not made anew, nor is an empty one taken
        for a new store, because somebody may be about to put another one there."""
        there = file_number(self.path)
        if self._closed or self._file in (None, there):
            return
        if there is None:
            left = log_state(self._log_path)
            raise StoreUnreachable(self.path, FILE_GONE, LOG_LEFT_REMEDY if left else FILE_GONE_REMEDY)
        if not self._idle.wait_for(lambda: not self._busy, BUSY_SECONDS):
            raise StoreBusy(self.path, BUSY_SECONDS, "thread")
        if self._file in (None, there):  # another thread was here meanwhile
            return
        if log_state(self._log_path) not in (None, self._log):
            raise StoreUnreachable(self.path, FILE_REPLACED, f"{FOREIGN_LOG_REMEDY} {self._log_path}.")
        self._close_all()  # first: two connections to one name, of two files, would share a log
        self._left_in_log = True  # the next write finds out what was left
        for step in self._forget:
            step()
        log.info("Another file has taken the place of %s; it is opened now.", self.path)

    def close(self) -> None:
        """Waits for other threads that are inside a use; from now on every new use is refused."""
        self._closed = True
        self._wait_for_others(BUSY_SECONDS)
        self._close_all()

    def _close_all(self) -> None:
        """SQLite leaves the log of a replaced file alone, as it finds it by a name that is another file's now."""
        with self._lock:
            for connection in list(self._open):
                connection.close()
            self._open.clear()
        self._local = threading.local()
        self._keep_log_of_replaced_file()
        self._file = self._log = None

    def _keep_log_of_replaced_file(self) -> None:
        """Moves it aside: who opens the new file would write the pages of the old one into it. Only a log that nobody
        has written to since it was last used here is surely that of the old file."""
        there = file_number(self.path)
        if None in (there, self._file, self._log) or there == self._file or log_state(self._log_path) != self._log:
            return
        kept = self._log_path.with_name(f"{self.path.name}.replaced-{uuid4().hex[:8]}-wal")
        with suppress(OSError):
            self._log_path.replace(kept)
            log.warning(
                "Another file has taken the place of %s. What was written to the old one last is kept in %s; "
                "`nacre doctor --salvage` reads it.",
                self.path,
                kept,
            )

    def _wait_for_others(self, seconds: float) -> None:
        own = threading.get_ident()
        with self._idle:
            if self._idle.wait_for(lambda: not self._busy.keys() - {own}, seconds):
                return
            for connection in list(self._open):
                connection.interrupt()
            self._idle.wait_for(lambda: not self._busy.keys() - {own}, seconds)

    def hold_for_fork(self, deadline: float) -> bool:
        """Lets no thread begin a use before `release_after_fork`; True when other threads ended theirs in time."""
        own = threading.get_ident()
        self._idle.acquire()
        return self._idle.wait_for(lambda: not self._busy.keys() - {own}, max(0.0, deadline - time.monotonic()))

    def release_after_fork(self) -> None:
        self._idle.release()

    def disown(self, *, in_use: bool) -> None:
        """In a forked child: lets go of what the parent opened without a trace on the file.

        SQLite counts its locks a process, and a child inherits the counts but not the locks: beside an inherited
        connection its own would be unprotected, and another process might tidy the file away under it. What another
        thread used at the fork cannot even be closed: that thread may hold locks inside SQLite for ever.
        """
        own, depth = threading.get_ident(), self._busy[threading.get_ident()]
        inherited = list(self._open)
        self._lock, self._local, self._open = threading.Lock(), threading.local(), weakref.WeakSet()
        self._idle, self._busy = threading.Condition(), Counter({own: depth} if depth else {})
        for connection in inherited:
            if in_use or not let_go(connection):
                _inherited_in_use.append(connection)
                _unusable.add(self.path)

    def _connect(self) -> apsw.Connection:
        if self.path in _unusable:
            raise StoreInUseAtFork(self.path)
        check_place(self.path)
        with translated(self.path):
            try:
                return self._connect_to_write()
            except CANNOT_WRITE as error:
                if lacks_room(error):
                    return self._connect_alone()
                # Only where nothing can be written: a passing fault, as while the file is replaced, is no reason.
                connection = None if writable(self.path) else self._connect_to_read()
                if connection is None:
                    raise
                return connection

    def _connect_alone(self) -> apsw.Connection:
        """In its mode of locking alone SQLite keeps the lock for reading while it waits for that for writing: two that
        wait so would wait for each other. So whoever does not get the file closes it, and tries again."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return self._connect_to_write(alone=True)
            except apsw.BusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(random.uniform(PAUSE_SECONDS, LONGEST_PAUSE_SECONDS))

    def _connect_to_write(self, *, alone: bool = False) -> apsw.Connection:
        """`alone` shares the file with nobody, which needs no room on the disk until something is written."""
        while True:
            require_file_of_log(self.path)
            if self.key is not None and not size_of(self.path):
                self.key.check_strength()  # before it is made: a refused key leaves no file behind
            make_private(self.path)
            connection = apsw.Connection(str(self.path))
            set_checkpoint_on_close(connection, on=False)  # until it is certain that this is the store's file
            fresh = header(connection) == NEW
            try:
                self._prepare(connection, alone=alone)
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
        make them; opened as immutable, the file needs none. A log that somebody left must not be passed over.
        """
        still = [] if log_size(self.path) else ["mode=ro&immutable=1"]
        for mode in ("mode=ro", *still):
            connection: apsw.Connection | None = None
            try:
                place = f"{self.path.as_uri()}?{mode}"
                connection = apsw.Connection(place, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
                self._prepare_to_read(connection)
                return connection
            except CANNOT_WRITE:
                if connection is not None:
                    connection.close()
        return None

    def _prepare_to_read(self, connection: apsw.Connection) -> None:
        wait_for_others(connection, BUSY_SECONDS)
        unlock(connection, self.path, self.key)
        if not schema.has_tables(connection, self.path):
            raise StoreReadOnly(self.path)
        schema.require_own_triggers(connection, self.path)
        configure(connection)

    def _prepare(self, connection: apsw.Connection, *, alone: bool) -> None:
        seconds = 0.0 if alone else BUSY_SECONDS
        wait_for_others(connection, seconds)
        unlock(connection, self.path, self.key)
        if alone:
            connection.pragma("locking_mode", ALONE)
        if not schema.has_tables(connection, self.path):
            patiently(lambda: schema.prepare(connection, self.path), seconds)
        schema.require_own_triggers(connection, self.path)
        patiently(lambda: schema.share(connection), seconds)
        wait_for_others(connection, BUSY_SECONDS)
        configure(connection)


def configure(connection: apsw.Connection) -> None:
    """Gives it our SQL functions and `PRAGMAS`."""
    rows.register(connection)
    # Plans do not depend on bound values. Otherwise a statement is prepared anew whenever these change, because they
    # might decide whether a partial index can be used: a fifth of the time of a search.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def sweep(file: Path) -> None:
    """Removes what an interrupted change of key left behind. The caller must know that none is running."""
    for left in file.parent.glob(f".{escape(file.name)}.*{UNFINISHED_REKEY}*"):
        left.unlink(missing_ok=True)


def writable(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def check_place(path: Path) -> None:
    if path.is_dir():
        raise StoreUnreachable(path, "it is a directory")
    try:
        private_folder(path.parent)
    except OSError as error:
        raise StoreUnreachable(path, error.strerror or str(error)) from error


def log_state(path: Path) -> LogState | None:
    """None for a log that is missing or empty."""
    try:
        there = path.stat()
    except OSError:
        return None
    return (there.st_dev, there.st_ino, there.st_size, there.st_mtime_ns) if there.st_size else None


def file_number(path: Path) -> FileNumber | None:
    """None where no file is, or an empty one."""
    try:
        there = path.stat()
    except OSError:
        return None
    return (there.st_dev, there.st_ino) if there.st_size else None


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


def patiently(attempt: Step, seconds: float = BUSY_SECONDS) -> None:
    """Turning on WAL needs the file alone for a moment and does not wait for it as other statements do."""
    deadline = time.monotonic() + seconds
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

    Asked when the file is shared (`schema.share`): from then on no command of ours replaces it under us. What others
    do to it is noticed by `Connections.use`.
    """
    moved = array("i", [0])
    connection.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, moved.buffer_info()[0])
    return bool(moved[0])


_making = threading.Lock()
_all: weakref.WeakSet[Connections] = weakref.WeakSet()
# A parent's, in use at the fork. They stay open: to close them here could harm the parent.
_inherited_in_use: list[apsw.Connection] = []
_unusable: set[Path] = set()  # the files of those
_held: list[Connections] = []  # during a fork
_idle_at_fork = True
FORK_SECONDS = 2.0  # that a fork waits for other threads to end what they are doing; they take milliseconds


def let_go(connection: apsw.Connection) -> bool:
    """Closes an inherited connection, unless it is inside a transaction."""
    with suppress(apsw.Error):
        if not connection.in_transaction:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.close()
            return True
    return False


def before_fork() -> None:
    """Waits until no other thread is inside SQLite, whose own locks would stay locked in the child for ever."""
    global _idle_at_fork
    deadline = time.monotonic() + FORK_SECONDS
    _held[:] = _all
    idle = [connections.hold_for_fork(deadline) for connections in _held]
    _idle_at_fork = all(idle)


def after_fork_in_parent() -> None:
    for connections in _held:
        connections.release_after_fork()
    _held.clear()


def after_fork_in_child() -> None:
    global _making
    _making = threading.Lock()  # another thread of the parent may have held it
    for connections in _held:
        connections.disown(in_use=not _idle_at_fork)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=before_fork, after_in_parent=after_fork_in_parent, after_in_child=after_fork_in_child)
