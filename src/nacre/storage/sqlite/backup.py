"""Copies the whole file while others write to it: under another name, examined, and only then under its own."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import apsw

from nacre.errors import InvalidInput, NotAStore, StorageError, StoreDamaged
from nacre.files import create_private, private_folder
from nacre.storage.sqlite import schema
from nacre.storage.sqlite.connection import translated
from nacre.storage.sqlite.damage import broken_structure
from nacre.storage.sqlite.key import Key, unlock

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
        found = next(broken_structure(connection, 1), "")
        if found:
            raise StoreDamaged(source or copy, f"no copy was made: {found}")
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
