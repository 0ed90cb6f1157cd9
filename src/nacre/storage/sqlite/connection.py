"""Opens the file once a thread, and turns the driver's errors into ours."""

from __future__ import annotations

import os
import threading
import time
import weakref
import zlib
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from nacre.errors import (
    InvalidInput,
    NacreError,
    NotAStore,
    StorageError,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
    StoreUnreachable,
)
from nacre.files import create_private, private_folder, tighten
from nacre.storage.sqlite import compressed, schema
from nacre.storage.sqlite.damage import reason
from nacre.storage.sqlite.key import (
    NEW,
    Key,
    header,
    is_encrypted,
    is_plain,
    set_checkpoint_on_close,
    unlock,
)
from nacre.storage.sqlite.rows import DamagedRecord

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
        schema.check_ours(connection, self.path)
        if schema.version(connection) < schema.CURRENT:
            raise StoreReadOnly(self.path)  # it would have to be brought up to date first
        compressed.register(connection)
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")

    def _prepare(self, connection: apsw.Connection) -> None:
        connection.set_busy_timeout(round(BUSY_SECONDS * 1000))
        if self.key is not None and header(connection) == NEW:
            self.key.check_strength()
        unlock(connection, self.path, self.key)
        schema.check_ours(connection, self.path)
        if schema.version(connection) < schema.CURRENT:
            patiently(lambda: schema.prepare(connection, self.path))
        patiently(lambda: schema.share(connection))
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
    """SQLite gives the files beside a store the mode of the store itself. One thread at a time: to close the file that
    was just made would take away the locks of a thread that had opened it meanwhile."""
    with _making, suppress(OSError):  # the driver says what is wrong, in its own words
        if not create_private(path):
            for part in ("", "-wal", "-shm", "-journal"):
                tighten(path.with_name(path.name + part))


def patiently(attempt: schema.Step) -> None:
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
    found = header(apsw.Connection(str(path)))
    return is_plain(found) or is_encrypted(found)


def overtaken(connection: apsw.Connection) -> bool:
    """Whether another file has taken the place of the one that was opened: the store was encrypted, say, meanwhile.

    Asked when the file is shared (`schema.share`): from then on nobody can replace it under us.
    """
    moved = array("i", [0])
    connection.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, moved.buffer_info()[0])
    return bool(moved[0])


_making = threading.Lock()
_all: weakref.WeakSet[Connections] = weakref.WeakSet()
_kept: list[apsw.Connection] = []  # a parent's, in use at the fork: to close them here could harm it, so they stay open


def let_go(connection: apsw.Connection) -> None:
    with suppress(apsw.Error):
        if not connection.in_transaction:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.close()
            return
    _kept.append(connection)


def disown_all() -> None:
    global _making
    _making = threading.Lock()  # another thread of the parent may have held it
    for connections in list(_all):
        connections.disown()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=disown_all)
