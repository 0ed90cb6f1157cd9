"""Puts a copy of a store in the place of the store, at once, and keeps the file that was there beside it."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import apsw

from nacre.errors import InvalidInput, NotAStore, StorageError, StoreUnreachable
from nacre.files import create_private, tighten
from nacre.storage.sqlite import connection as connecting
from nacre.storage.sqlite import schema
from nacre.storage.sqlite.backup import BESIDE, folder_to_disk, to_disk
from nacre.storage.sqlite.connection import check_place, translated
from nacre.storage.sqlite.key import Key, header, is_encrypted, unlock
from nacre.storage.sqlite.rekeying import UNFINISHED, alone, sweep, take_place, write_copy

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
    """Reads every page and changes nothing. Raises `NotAStore`, `WrongKey`, `SchemaTooNew` and `StoreUnreachable`."""
    with translated(file):
        opened = open_copy(file)
        try:
            secret = is_encrypted(header(opened))
            unlock(opened, file, key if secret else None)
            schema.check_ours(opened, file)
            if int(opened.pragma("application_id")) != schema.APPLICATION_ID:
                raise NotAStore(file, "it is empty")
            found = [str(line) for (line,) in opened.execute("PRAGMA integrity_check(1)")]
            if found != ["ok"]:
                raise NotAStore(file, f"it is damaged: {found[0] if found else 'it cannot be examined'}")
            return told(opened, file, secret)
        finally:
            opened.close()


def open_copy(file: Path) -> apsw.Connection:
    """A copy that lies still is read without a trace, from a disk that cannot be written too."""
    if not file.is_file():
        raise StoreUnreachable(file, "there is no such file")
    used = file.with_name(file.name + WAL).exists()
    place = f"{file.absolute().as_uri()}?{'mode=rw' if used else 'mode=ro&immutable=1'}"
    mode = apsw.SQLITE_OPEN_READWRITE if used else apsw.SQLITE_OPEN_READONLY
    opened = apsw.Connection(place, flags=mode | apsw.SQLITE_OPEN_URI)
    opened.set_busy_timeout(round(connecting.BUSY_SECONDS * 1000))
    return opened


def told(opened: apsw.Connection, file: Path, secret: bool) -> Copy:
    spaces = opened.execute("SELECT space, count(*) FROM memory GROUP BY space ORDER BY space").fetchall()
    last = opened.execute("SELECT max(at) FROM journal").fetchone()
    return Copy(
        schema=schema.version(opened),
        encrypted=secret,
        bytes_on_disk=file.stat().st_size,
        last_at=float(last[0]) if last and isinstance(last[0], int | float) else None,
        spaces={str(space): int(count) for space, count in spaces},  # type: ignore[arg-type]
    )


def restore(path: Path, copy: Path, kept: Path, key: Key | None, copy_key: Key | None) -> Path | None:
    """The store at `path` becomes what `copy` holds, under the store's own key; the file that was there is `kept` under
    that name, which is returned, or None when there was none. Wherever it breaks off, the one or the other is whole.

    Raises `StoreBusy`, and changes nothing, when somebody has the store open.
    """
    file = path.resolve()
    if file.exists() and copy.exists() and file.samefile(copy):
        raise InvalidInput(f"{copy} is the store itself; name one of its copies.")
    if kept.exists():
        raise InvalidInput(f"{kept} is there already, and nothing is replaced by a file that is kept; repeat.")
    verify(copy, copy_key)
    try:
        with translated(path):
            if not file.exists() or file.stat().st_size == 0:
                check_place(file)
                put_in_place(file, copy, copy_key, key)
                return None
            return swapped(file, path, copy, kept, key, copy_key)
    except StorageError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"{path} is as it was ({reason}); mend that and repeat.") from error


def swapped(file: Path, path: Path, copy: Path, kept: Path, key: Key | None, copy_key: Key | None) -> Path:
    present_key = key if looks_encrypted(file) else None
    with ExitStack() as held:
        try:
            holder = held.enter_context(alone(file, path, present_key))
        except (apsw.NotADBError, apsw.CorruptError):
            # Nothing that could be locked: what lies there is damaged, and nobody can be working in it.
            keep_damaged(file, kept)
            put_in_place(file, copy, copy_key, key)
            return kept
        sweep(file)
        keep_beside(file, kept, present_key)
        put_in_place(file, copy, copy_key, key, holder)
    return kept


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
    fresh = file.with_name(f".{file.name}.{uuid4().hex[:8]}{UNFINISHED}")
    try:
        write_copy(copy, copy, copy_key if looks_encrypted(copy) else None, fresh, key)
        if file.exists():
            shutil.copymode(file, fresh)
            tighten(fresh)
        if holder is not None:
            take_place(fresh, file, holder)
        else:
            for part in BESIDE:
                file.with_name(file.name + part).unlink(missing_ok=True)
            fresh.replace(file)
            folder_to_disk(file.parent)
    finally:
        fresh.unlink(missing_ok=True)


def keep_beside(file: Path, kept: Path, key: Key | None) -> None:
    """What the store holds, read through the driver: whoever opened and closed the file beside it would take away the
    locks that this process holds on it, and others would write what is about to be replaced."""
    unfinished = kept.with_name(f".{kept.name}{UNFINISHED}")
    try:
        write_copy(file, file, key, unfinished, key)
        unfinished.replace(kept)
    finally:
        unfinished.unlink(missing_ok=True)


def keep_damaged(file: Path, kept: Path) -> None:
    """Byte by byte: with a second name for one file, a crash before it is replaced would leave a store that can be
    opened by both, each with a log of its own, and that destroys it."""
    for part in ("", WAL):
        source, target = file.with_name(file.name + part), kept.with_name(kept.name + part)
        unfinished = target.with_name(f".{target.name}{UNFINISHED}")
        if not source.exists():
            continue
        try:
            create_private(unfinished)
            shutil.copyfile(source, unfinished)
            to_disk(unfinished)
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
