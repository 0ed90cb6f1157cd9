"""Gives a whole store another key, its first or none: a copy under the new key takes the place of the file at once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from uuid import uuid4

import apsw

from nacre.errors import NotAStore, StorageError, StoreBusy, StoreUnreachable
from nacre.files import create_private, tighten
from nacre.storage.sqlite import connection as connecting
from nacre.storage.sqlite import schema
from nacre.storage.sqlite.backup import BESIDE, examine, folder_to_disk, to_disk
from nacre.storage.sqlite.connection import overtaken, patiently, translated
from nacre.storage.sqlite.key import CIPHER, SALT_BYTES, Key, header, is_encrypted, set_checkpoint_on_close, unlock

UNFINISHED = ".rekeyed"
DELETE = "delete"
FIRST_PAGE = 4096  # bytes


def encrypted(path: Path) -> bool:
    """Whether the store at `path` is; a store that is not there is not made."""
    with translated(path):
        opened = open_existing(path)
        try:
            return is_encrypted(header(opened))
        finally:
            opened.close()


def rekey(path: Path, old: Key | None, new: Key | None) -> None:
    """Wherever it breaks off, the store opens with the old key or with the new one and has lost nothing.

    Raises `StoreBusy` when somebody else has the store open, in this process or another.

    The driver's own `PRAGMA rekey` would write over the file in place: killed on the way to no key, the store was
    destroyed in 3 of 15 tries by being opened without one, and the journal beside it holds the old pages.
    """
    if new is not None:
        new.check_strength()
    file = path.resolve()  # a link stays one, and what it leads to is replaced
    try:
        with translated(path), alone(file, path, old) as holder:
            sweep(file)
            fresh = file.with_name(f".{file.name}.{uuid4().hex[:8]}{UNFINISHED}")
            try:
                write_copy(file, path, old, fresh, new)
                take_place(fresh, file, holder)
            finally:
                fresh.unlink(missing_ok=True)
    except StorageError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"The key of {path} was not changed ({reason}); mend that and repeat.") from error


@contextmanager
def alone(file: Path, path: Path, key: Key | None) -> Iterator[apsw.Connection]:
    """While it lasts nobody writes to the file, nor gets so far as to rely on it.

    Out of WAL mode the file can only be taken when no other connection is open, and a connection counts as open only
    when it is back in that mode (`Connections`), which the held lock prevents: it waits, and then finds the file
    replaced. The driver itself refuses to write to a replaced file in any other mode.
    """
    holder = open_existing(file)
    set_checkpoint_on_close(holder, on=False)  # what it has locked may turn out to be a file that was replaced
    try:
        unlock(holder, path, key)
        schema.check_ours(holder, path)
        if int(holder.pragma("application_id")) != schema.APPLICATION_ID:
            raise NotAStore(path, "it is empty")
        if schema.version(holder) < schema.CURRENT:  # so that nobody who opens the old file has tables to write there
            patiently(lambda: schema.prepare(holder, path))
        patiently(lambda: lock(holder))
        if overtaken(holder):
            raise StoreBusy(path, connecting.BUSY_SECONDS)
    except (apsw.NotADBError, apsw.CorruptError) as error:
        replaced = overtaken(holder)
        holder.close()
        if replaced:
            raise StoreBusy(path, connecting.BUSY_SECONDS) from error
        raise
    except BaseException:
        holder.close()
        raise
    try:
        yield holder
    finally:
        holder.close()


def lock(holder: apsw.Connection) -> None:
    """Takes the file out of WAL mode and begins a transaction. Nothing of it is given back before the connection is
    closed (`locking_mode`), so that `shut_out` can follow."""
    holder.pragma("locking_mode", "normal")
    if holder.pragma("journal_mode") != DELETE:
        if overtaken(holder):
            # SQLite finds a log by the file's name: this one would be moved into a file that nobody reads any more.
            raise apsw.BusyError("the store was replaced meanwhile")
        holder.pragma("journal_mode", DELETE)
    holder.pragma("locking_mode", "exclusive")
    holder.execute("BEGIN IMMEDIATE")
    if holder.pragma("journal_mode") != DELETE:  # somebody opened the store in between
        holder.execute("ROLLBACK")
        holder.pragma("locking_mode", "normal")
        holder.pragma("schema_version")  # reads once, which gives the lock back
        raise apsw.BusyError("the store is open elsewhere")


def shut_out(holder: apsw.Connection) -> None:
    """From now on nobody can even read the file; before, others could, as `write_copy` does."""
    holder.pragma("user_version", schema.version(holder))  # changes nothing, but is written, and that needs all locks
    holder.execute("COMMIT")


def open_existing(path: Path) -> apsw.Connection:
    if not path.is_file():
        raise StoreUnreachable(path, "there is no such file")
    opened = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI)
    opened.set_busy_timeout(round(connecting.BUSY_SECONDS * 1000))
    return opened


def sweep(file: Path) -> None:
    """What a broken-off change left behind. Nobody else makes such files while we hold the store."""
    for left in file.parent.glob(f".{escape(file.name)}.*{UNFINISHED}*"):
        left.unlink(missing_ok=True)


def write_copy(file: Path, path: Path, old: Key | None, fresh: Path, new: Key | None) -> None:
    reader = open_existing(file)
    try:
        unlock(reader, path, old)
        reader.pragma("temp_store", "memory")
        vacuum_into(reader, fresh, new)
    finally:
        reader.close()
    make_shared(fresh, new)
    examine(fresh, new, path)
    shutil.copymode(file, fresh)
    tighten(fresh)
    if hasattr(os, "chown"):
        with suppress(PermissionError):  # the owner may change the key, and so may root, for the owner
            os.chown(fresh, file.stat().st_uid, file.stat().st_gid)
    to_disk(fresh)


def make_shared(fresh: Path, key: Key | None) -> None:
    opened = open_existing(fresh)
    try:
        unlock(opened, fresh, key)
        schema.share(opened)
    finally:
        opened.close()


def vacuum_into(reader: apsw.Connection, fresh: Path, key: Key | None) -> None:
    secret = f"cipher={CIPHER}&hexkey={key.raw(os.urandom(SALT_BYTES)).encode().hex()}" if key else "key="
    place = f"{fresh.as_uri()}?{secret}"
    create_private(fresh)  # empty, as the statement wants it
    try:
        reader.execute("VACUUM INTO ?", (place,))
        return
    except apsw.Error as error:
        kind = type(error)
    raise kind("the copy could not be written")  # the driver's message may tell the place, and the place the key


def take_place(fresh: Path, file: Path, holder: apsw.Connection) -> None:
    """Whoever opened the old file and waits for it must not work in it afterwards: SQLite looks for a file's log by its
    name, would find that of the new file, and write pages of the old one there. So the old file is made unreadable
    while it is still locked; who waits for it fails, finds that it was replaced, and opens the new one."""
    for part in BESIDE:  # of the old file, and of no use even to it: it is out of WAL mode, and nobody is writing
        file.with_name(file.name + part).unlink(missing_ok=True)
    if os.name == "nt":
        holder.close()  # there no open file can be replaced: whoever opens it now makes this fail, and loses nothing
        fresh.replace(file)
        return
    shut_out(holder)
    old = os.open(file, os.O_RDWR)
    try:
        fresh.replace(file)
        os.pwrite(old, bytes(FIRST_PAGE), 0)
        holder.close()
    finally:
        os.close(old)  # after the connection: to close a file takes the locks of this process on it away
    folder_to_disk(file.parent)
