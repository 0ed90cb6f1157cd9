"""Copies the whole file while others write to it: under another name, examined, and only then under its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import apsw

from nacre.errors import InvalidInput, NotAStore, StorageError, StoreBusy, StoreDamaged, StoreUnreachable
from nacre.files import create_private, log_of, private_folder, restrict_to_owner, size_of
from nacre.storage.sqlite import connection as connecting
from nacre.storage.sqlite import schema
from nacre.storage.sqlite.connection import (
    CIPHER,
    SALT_BYTES,
    UNFINISHED_REKEY,
    Key,
    check_place,
    header,
    is_encrypted,
    log_size,
    overtaken,
    patiently,
    require_file_of_log,
    set_checkpoint_on_close,
    sweep,
    translated,
    unlock,
)
from nacre.storage.sqlite.damage import broken_structure

UNFINISHED = ".part"
# What SQLite keeps beside a file: left behind by another one, it would be read as part of the copy.
BESIDE = ("-wal", "-shm", "-journal")


def copy_to(connection: apsw.Connection, source: Path, target: Path, key: Key | None = None) -> None:
    """A copy of an encrypted store opens with the same key."""
    temporary = target.with_name(f".{target.name}.{uuid4().hex[:8]}{UNFINISHED}")
    try:
        check_free(target)
        private_folder(target.parent)
        create_private(temporary)
        with translated(target):
            copied(connection, temporary, key)
            examine(temporary, key, source)
        to_disk(temporary)
        temporary.replace(target)
        folder_to_disk(target.parent)
    except StorageError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"No copy can be written to {target} ({reason}); choose another place.") from error
    finally:
        for part in ("", *BESIDE):
            with suppress(OSError):
                temporary.with_name(temporary.name + part).unlink(missing_ok=True)


def check_free(target: Path) -> None:
    taken = next((part for part in ("", *BESIDE) if target.with_name(target.name + part).exists()), None)
    if taken is not None:
        raise InvalidInput(f"{target}{taken} is there already, and a copy never replaces anything; give another name.")


def copied(connection: apsw.Connection, target: Path, key: Key | None) -> None:
    destination = apsw.Connection(str(target))
    try:
        unlock(destination, target, key)
        destination.pragma("page_size", connection.pragma("page_size"))  # an encrypted one takes no other
        # All pages in one step are one snapshot, beside which others go on writing; a copy in several steps begins
        # again with every write, and beside a busy writer would never end.
        with destination.backup("main", connection, "main") as backup:
            backup.step(-1)
    finally:
        destination.close()


def examine(copy: Path, key: Key | None, source: Path | None = None) -> None:
    """Every page, and each index against its table. Raises `StoreDamaged`, which names the source."""
    connection = apsw.Connection(str(copy))
    try:
        unlock(connection, copy, key)
        if int(connection.pragma("application_id")) != schema.APPLICATION_ID:
            raise NotAStore(copy, "the copy is no store of ours")
        fault = next(broken_structure(connection, 1), "")
        if fault:
            raise StoreDamaged(source or copy, f"no copy was made: {fault}")
    finally:
        connection.close()


def to_disk(file: Path) -> None:
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())


def folder_to_disk(folder: Path) -> None:
    """So that the name survives a power cut too; not every system lets a folder be opened."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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
            fresh = file.with_name(f".{file.name}.{uuid4().hex[:8]}{UNFINISHED_REKEY}")
            try:
                write_copy(file, path, old, fresh, new)
                take_place(fresh, file, holder)
            finally:
                fresh.unlink(missing_ok=True)
    except StorageError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"The key of {path} was not changed ({reason}); fix that and repeat.") from error


@contextmanager
def alone(file: Path, path: Path, key: Key | None) -> Iterator[apsw.Connection]:
    """While it lasts nobody writes to the file, nor gets so far as to rely on it.

    Out of WAL mode the file can only be taken when no other connection is open, and a connection counts as open only
    when it is back in that mode (`Connections`), which the held lock prevents: it waits, and then finds the file
    replaced. The driver itself refuses to write to a replaced file in any other mode.
    """
    require_file_of_log(file)
    with closing(open_existing(file)) as holder:
        set_checkpoint_on_close(holder, on=False)  # what it has locked may turn out to be a file that was replaced
        try:
            unlock(holder, path, key)
            if not schema.has_tables(holder, path):
                raise NotAStore(path, "it is empty")
            patiently(lambda: lock(holder))
        except (apsw.NotADBError, apsw.CorruptError) as error:
            if overtaken(holder):
                raise StoreBusy(path, connecting.BUSY_SECONDS) from error
            raise
        if overtaken(holder):
            raise StoreBusy(path, connecting.BUSY_SECONDS)
        yield holder


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
    connecting.wait_for_others(opened, connecting.BUSY_SECONDS)
    return opened


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
    restrict_to_owner(fresh)
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


def take_place(fresh: Path, file: Path, holder: apsw.Connection | None) -> None:
    """Whoever opened the old file and waits for it must not work in it afterwards: SQLite looks for a file's log by its
    name, would find that of the new file, and write pages of the old one there. So the old file is made unreadable
    while it is still locked; who waits for it fails, finds that it was replaced, and opens the new one. Without a
    `holder` there was nothing that could be locked, and nobody can be working in it."""
    for part in BESIDE:  # of the old file, and of no use even to it: it is out of WAL mode, and nobody is writing
        file.with_name(file.name + part).unlink(missing_ok=True)
    if holder is None:
        fresh.replace(file)
        folder_to_disk(file.parent)
        return
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


WAL, *_ = BESIDE


@dataclass(frozen=True, slots=True)
class Copy:
    """What a file holds that can be opened as a store; `last_at` is when something was last done in it."""

    schema: int
    encrypted: bool
    bytes_on_disk: int
    last_at: float | None
    spaces: dict[str, int]

    @property
    def memories(self) -> int:
        return sum(self.spaces.values())


def verify(file: Path, key: Key | None) -> Copy:
    """Reads every page and changes nothing. Raises `NotAStore`, `WrongKey`, `SchemaMismatch` and `StorageError`."""
    with translated(file):
        opened = open_copy(file)
        try:
            secret = is_encrypted(header(opened))
            unlock(opened, file, key if secret else None)
            if not schema.has_tables(opened, file):
                raise NotAStore(file, "it is empty")
            foreign = next(schema.foreign_definitions(opened, acting=True), None)  # as when a store is opened
            if foreign is not None:
                raise StorageError(
                    f"{file} is not safe to use: Nacre did not make {foreign} in it. `nacre doctor --salvage {file}` "
                    "reads its memories into a new store without it."
                )
            lines = [str(line) for (line,) in opened.execute("PRAGMA integrity_check(1)")]
            if lines != ["ok"]:
                raise NotAStore(file, f"it is damaged: {lines[0] if lines else 'it cannot be examined'}")
            return describe(opened, file, secret)
        finally:
            opened.close()


def open_copy(file: Path) -> apsw.Connection:
    """A copy that lies still is read without a trace, from a disk that cannot be written too."""
    if not file.is_file():
        raise StorageError(f"There is no copy {file}; `nacre store backup list` shows the copies.")
    used = log_of(file).exists()
    place = f"{file.absolute().as_uri()}?{'mode=rw' if used else 'mode=ro&immutable=1'}"
    mode = apsw.SQLITE_OPEN_READWRITE if used else apsw.SQLITE_OPEN_READONLY
    opened = apsw.Connection(place, flags=mode | apsw.SQLITE_OPEN_URI)
    connecting.wait_for_others(opened, connecting.BUSY_SECONDS)
    return opened


def describe(opened: apsw.Connection, file: Path, secret: bool) -> Copy:
    spaces = opened.execute("SELECT name, memories FROM present WHERE memories > 0 ORDER BY name").fetchall()
    last = opened.execute("SELECT max(at) FROM journal").fetchone()
    return Copy(
        schema=schema.version(opened),
        encrypted=secret,
        bytes_on_disk=file.stat().st_size,
        last_at=float(last[0]) if last and isinstance(last[0], int | float) else None,
        spaces={str(space): int(count) for space, count in spaces},  # type: ignore[arg-type]
    )


def restore(path: Path, copy: Path, previous: Path, key: Key | None, copy_key: Key | None) -> Path | None:
    """The store at `path` becomes what `copy` holds, under the store's own key; the file that was there is `kept` under
    that name, which is returned, or None when there was none. Of a log without its file, the log is kept, and its name
    returned. Wherever it breaks off, the one or the other is whole.

    Raises `StoreBusy`, and changes nothing, when somebody has the store open.
    """
    file = path.resolve()
    if file.exists() and copy.exists() and file.samefile(copy):
        raise InvalidInput(f"{copy} is the store itself; name one of its copies.")
    if previous.exists() or log_of(previous).exists():
        raise InvalidInput(f"{previous} is there already, and nothing is replaced by a file that is kept; repeat.")
    verify(copy, copy_key)
    try:
        with translated(path):
            if not size_of(file):
                check_place(file)
                left = log_size(file) > 0
                if left:
                    keep_damaged(file, previous, (WAL,))
                put_in_place(file, copy, copy_key, key)
                return log_of(previous) if left else None
            return swapped(file, path, copy, previous, key, copy_key)
    except StorageError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"{path} is as it was ({reason}); fix that and repeat.") from error


def swapped(file: Path, path: Path, copy: Path, previous: Path, key: Key | None, copy_key: Key | None) -> Path:
    present_key = key if looks_encrypted(file) else None
    with ExitStack() as held:
        try:
            holder = held.enter_context(alone(file, path, present_key))
        except (apsw.NotADBError, apsw.CorruptError):
            # Nothing that could be locked: what lies there is damaged, and nobody can be working in it.
            keep_damaged(file, previous)
            put_in_place(file, copy, copy_key, key)
            return previous
        sweep(file)
        keep_beside(file, previous, present_key)
        put_in_place(file, copy, copy_key, key, holder)
    return previous


def looks_encrypted(file: Path) -> bool:
    opened = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        return is_encrypted(header(opened))
    finally:
        opened.close()


def put_in_place(
    file: Path,
    copy: Path,
    copy_key: Key | None,
    key: Key | None,
    holder: apsw.Connection | None = None,
) -> None:
    fresh = file.with_name(f".{file.name}.{uuid4().hex[:8]}{UNFINISHED_REKEY}")
    try:
        write_copy(copy, copy, copy_key if looks_encrypted(copy) else None, fresh, key)
        if file.exists():
            shutil.copymode(file, fresh)
            restrict_to_owner(fresh)
        take_place(fresh, file, holder)
    finally:
        fresh.unlink(missing_ok=True)


def keep_beside(file: Path, target: Path, key: Key | None) -> None:
    """What the store holds, read through the driver: whoever opened and closed the file beside it would take away the
    locks that this process holds on it, and others would write what is about to be replaced."""
    unfinished = target.with_name(f".{target.name}{UNFINISHED_REKEY}")
    try:
        write_copy(file, file, key, unfinished, key)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def keep_damaged(file: Path, previous: Path, parts: Sequence[str] = ("", WAL)) -> None:
    """Byte by byte: with a second name for one file, a crash before it is replaced would leave a store that can be
    opened by both, each with a log of its own, and that destroys it."""
    for part in parts:
        source, target = file.with_name(file.name + part), previous.with_name(previous.name + part)
        unfinished = target.with_name(f".{target.name}{UNFINISHED_REKEY}")
        if not source.exists():
            continue
        try:
            create_private(unfinished)
            shutil.copyfile(source, unfinished)
            to_disk(unfinished)
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
