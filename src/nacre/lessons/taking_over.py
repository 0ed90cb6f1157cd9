"""Puts a book in the place of a database that ai-lessons wrote, with all its lessons; a copy of it stays beside."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path
from uuid import uuid4

from nacre.errors import ArchiveRefused, StoreBusy
from nacre.memory_store import MemoryStore
from nacre.settings import Settings
from nacre.transfer.foreign.ai_lessons import NAME, TABLES
from nacre.transfer.foreign.import_foreign import import_foreign

KEPT = ".before-nacre"
PATIENCE = 5.0  # seconds that another program may take to finish with it


def is_older(file: Path) -> bool:
    if not file.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as old:
            return {name for (name,) in old.execute("SELECT name FROM sqlite_master")} >= {*TABLES}
    except sqlite3.DatabaseError:
        return False  # encrypted, or no database: opening it says so


def take_over(file: Path, settings: Settings) -> None:
    """The new store takes the file's place only once every lesson is in it. Raises `StoreBusy` while another program
    uses the file, and `ArchiveRefused` when a lesson cannot be kept."""
    found = file.stat().st_ino
    copy = unused(file.with_name(file.name + KEPT))
    fresh = file.with_name(f".{file.name}.{uuid4().hex}")
    with closing(sqlite3.connect(file, timeout=PATIENCE, isolation_level=None)) as old:
        hold(old, file)
        if file.stat().st_ino != found:  # somebody else has done it while we waited
            return
        try:
            with closing(sqlite3.connect(file)) as reader, closing(sqlite3.connect(copy)) as kept:
                reader.backup(kept)
            bring(copy, fresh, settings)
            fresh.replace(file)  # while nobody else can write to the old one
        finally:
            if file.stat().st_ino == found:  # the database itself is still where it was
                copy.unlink(missing_ok=True)
            for left in file.parent.glob(f"{fresh.name}*"):
                left.unlink()


def hold(old: sqlite3.Connection, file: Path) -> None:
    """Nothing of it may lie in a file beside: a new store under its name would be given that."""
    try:
        mode = old.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
        old.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        raise StoreBusy(file, PATIENCE) from error
    if mode != "delete":
        raise StoreBusy(file, PATIENCE)


def bring(copy: Path, fresh: Path, settings: Settings) -> None:
    with MemoryStore(fresh, settings=replace(settings, store=str(fresh))) as store:
        summary = import_foreign(store, NAME, copy)
    if summary.errors:
        reason = f"{summary.errors} of its lessons cannot be kept ({summary.faults[0].why})"
        raise ArchiveRefused(copy.with_name(copy.name.partition(KEPT)[0]), reason, "Mend or delete them, and repeat.")


def unused(place: Path) -> Path:
    numbered = (place.with_name(f"{place.name}-{number}") for number in count(2))
    return place if not place.exists() else next(other for other in numbered if not other.exists())
