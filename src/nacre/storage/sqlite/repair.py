"""Repairs a damaged store: keeps every record that can be read, and sets aside what cannot."""

from __future__ import annotations

import json
import os
import shutil
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import apsw

from nacre.errors import NotAStore, StorageError, StoreBusy, StoreDamaged, WrongKey
from nacre.files import create_private
from nacre.storage.sqlite import connection as schema
from nacre.storage.sqlite import damage
from nacre.storage.sqlite.backup import (
    BESIDE,
    UNFINISHED_REKEY,
    alone,
    examine,
    folder_to_disk,
    keep_damaged,
    open_existing,
    sweep,
    take_place,
    to_disk,
)
from nacre.storage.sqlite.connection import Connections, Key, header, is_encrypted, translated, unlock
from nacre.storage.sqlite.rows import COLUMNS, SELECTED, DamagedRecord, from_row
from nacre.storage.sqlite.store import SQLiteTransaction

STAMP = "%Y%m%dT%H%M%SZ"
COPIED_AT_ONCE = 1 << 20
MOST_PROBED = 5_000_000  # row numbers; a damaged counter may tell of many more than there can be
FAULTS = (apsw.Error, DamagedRecord, UnicodeDecodeError, StoreDamaged)


@dataclass(frozen=True, slots=True)
class Repaired:
    """`set_aside` names the records that went to the table `quarantine`, `lost` those of which nothing could be read.

    `kept` is the damaged file as it was, where a new one had to take its place.
    """

    set_aside: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    kept: Path | None = None


def repair(path: Path, key: Key | None, now: float) -> Repaired:
    """In place where that suffices; else what can be read goes into a new file, and the old one is kept beside it.

    Words and vectors are not computed again here: records that need it are pending. Raises `StoreBusy` where a new
    file is needed and somebody has the store open.
    """
    file = path.resolve()
    try:
        with translated(path):
            done = repaired_in_place(path, key, now)
            return done if done is not None else rebuilt(file, path, key, now)
    except StorageError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"{path} was not repaired ({reason}); mend that and repeat.") from error


def repaired_in_place(path: Path, key: Key | None, now: float) -> Repaired | None:
    """None, and nothing is changed, where damage would remain."""
    connections = Connections(path, key)
    try:
        connection = connections.get()
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute("REINDEX")
            aside = [set_aside(connection, row, why, now) for row, why in damage.damaged_rows(connection).items()]
            sound = not any(damage.broken_structure(connection, 1)) and not any(damage.unreadable_tables(connection))
            connection.execute("COMMIT" if sound else "ROLLBACK")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return Repaired(set_aside=tuple(aside)) if sound else None
    except (StoreBusy, WrongKey):
        raise
    except (*FAULTS, NotAStore):
        return None
    finally:
        connections.close()


def set_aside(connection: apsw.Connection, row: int, why: str, now: float) -> str:
    """Moves a damaged record, as far as it can be read, to the table `quarantine`; returns its name."""
    space, id = damage.name(connection, row)
    quarantine(connection, space, id, why, now, raw_columns(connection, row))
    chunks = connection.execute("SELECT id FROM chunk WHERE row = ? AND embedded", (row,)).fetchall()
    if chunks:
        from nacre.storage.sqlite import vectors

        vectors.remove(connection, space, [int(chunk) for (chunk,) in chunks])  # type: ignore[arg-type]
    for table in ("tag", "context", "link", "chunk"):
        connection.execute(f"DELETE FROM {table} WHERE row = ?", (row,))
    connection.execute("DELETE FROM word WHERE rowid = ?", (row,))
    connection.execute("DELETE FROM main.memory WHERE row = ?", (row,))
    return id


def quarantine(
    connection: apsw.Connection, space: str, id: str, why: str, now: float, columns: dict[str, object]
) -> None:
    connection.execute(
        "INSERT INTO quarantine(space, id, reason, at, columns) VALUES (?, ?, ?, ?, ?)",
        (space, id, why, now, json.dumps(columns, ensure_ascii=False)),
    )


def raw_columns(connection: apsw.Connection, row: int) -> dict[str, object]:
    """Each column that can be read: texts as they are, or in hex where they are none."""
    columns: dict[str, object] = {}
    for column in COLUMNS:
        try:
            kind, value = connection.execute(
                f"SELECT typeof({column}), CASE typeof({column}) WHEN 'text' THEN CAST({column} AS BLOB)"
                f" ELSE {column} END FROM main.memory WHERE row = ?",
                (row,),
            ).fetchall()[0]
        except (apsw.Error, IndexError):
            continue
        columns[column] = readable(str(kind), value)
    return columns


def readable(kind: str, value: Any) -> object:
    if not isinstance(value, bytes):
        return value
    with suppress(UnicodeDecodeError):
        if kind == "text":
            return value.decode()
    return {"hex": value.hex()}


def rebuilt(file: Path, path: Path, key: Key | None, now: float) -> Repaired:
    damaged_copy = file.with_name(f"{file.name}.damaged-{time.strftime(STAMP, time.gmtime(now))}")
    if damaged_copy.exists():
        raise StorageError(f"{damaged_copy} is there already, and nothing is written over; move it and repeat.")
    fresh = file.with_name(f".{file.name}.{uuid4().hex[:8]}{UNFINISHED_REKEY}")
    with ExitStack() as held:
        holder: apsw.Connection | None = None
        try:
            holder = held.enter_context(alone(file, path, key))
            sweep(file)
            keep_bytes(file, damaged_copy)
        except (apsw.NotADBError, apsw.CorruptError, apsw.SQLError, NotAStore):
            keep_damaged(file, damaged_copy)  # nothing that could be locked
        try:
            done = salvage(file, path, key, fresh, now)
            examine(fresh, key)
            shutil.copymode(file, fresh)
            to_disk(fresh)
            put_in_place(fresh, file, holder)
        except BaseException:
            for part in ("", *BESIDE):  # the store itself is as it was
                damaged_copy.with_name(damaged_copy.name + part).unlink(missing_ok=True)
            raise
        finally:
            for part in ("", *BESIDE):
                fresh.with_name(fresh.name + part).unlink(missing_ok=True)
    return Repaired(done.set_aside, done.lost, damaged_copy)


def put_in_place(fresh: Path, file: Path, holder: apsw.Connection | None) -> None:
    if holder is not None:
        take_place(fresh, file, holder)
        return
    for part in BESIDE:
        file.with_name(file.name + part).unlink(missing_ok=True)
    fresh.replace(file)
    folder_to_disk(file.parent)


def keep_bytes(file: Path, target: Path) -> None:
    """Byte by byte through the driver: to open and close the file beside it would drop our locks on it."""
    reader = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    unfinished = target.with_name(f".{target.name}{UNFINISHED_REKEY}")
    try:
        size = file.stat().st_size
        create_private(unfinished)
        with unfinished.open("wb") as out:
            for offset in range(0, size, COPIED_AT_ONCE):
                out.write(reader.read("main", 0, offset, min(COPIED_AT_ONCE, size - offset))[1])
            out.flush()
            os.fsync(out.fileno())
        shutil.copymode(file, unfinished)
        unfinished.replace(target)
    finally:
        reader.close()
        unfinished.unlink(missing_ok=True)


def salvage(file: Path, path: Path, key: Key | None, fresh: Path, now: float) -> Repaired:
    """Everything of `file` that can be read, in a new store at `fresh`."""
    old = open_existing(file)
    create_private(fresh)
    new = apsw.Connection(str(fresh))
    try:
        unlock(old, path, key if is_encrypted(header(old)) else None)
        old.pragma("writable_schema", "on")  # a damaged definition must not hide the other tables
        unlock(new, fresh, key)
        schema.prepare(new, fresh)
        if not table_readable(old, "memory"):
            raise NotAStore(path, "nothing in it can be read")
        new.execute("BEGIN IMMEDIATE")
        carry_meta(old, new)
        for table in ("vocabulary", "dropped", "quarantine"):
            carry_table(old, new, table)
        carry_journal(old, new)
        done = carry_memories(old, new, now)
        carry_walks(old, new)
        new.execute("COMMIT")
        return done
    finally:
        old.close()
        new.close()


def table_readable(old: apsw.Connection, table: str) -> bool:
    try:
        old.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchall()
        return True
    except (apsw.CorruptError, UnicodeDecodeError):
        return True  # the table is there; some of it may be readable
    except apsw.Error:
        return False


def carry_meta(old: apsw.Connection, new: apsw.Connection) -> None:
    known = {str(row[0]): row[1] for row in walk(old, "SELECT key, value FROM meta")}
    for name, kind in (("embedder", str), ("dimensions", int), ("probe", bytes)):
        if isinstance(known.get(name), kind):
            new.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, known[name]))


def walk(old: apsw.Connection, sql: str) -> Iterator[tuple[Any, ...]]:
    """As far as it can be read; what cannot be decoded is passed over only where it ends the walk."""
    with suppress(apsw.Error, UnicodeDecodeError):
        yield from old.execute(sql)


def carry_table(old: apsw.Connection, new: apsw.Connection, table: str) -> None:
    """From both ends: what lies before and after a damaged page is kept. Texts as bytes, and only sound ones."""
    names = [str(row[1]) for row in new.execute(f"PRAGMA table_info({table})").fetchall()]
    cast = ", ".join(f"typeof({name}), CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END"
                     for name in names)  # fmt: skip
    places = ", ".join("?" for _ in names)
    backwards = ", ".join(f"{name} DESC" for name in keys(new, table))
    for order in ("", f" ORDER BY {backwards}"):
        for row in walk(old, f"SELECT {cast} FROM {table}{order}"):
            with suppress(UnicodeDecodeError, apsw.ConstraintError, ValueError):
                values = [as_text(kind, value) for kind, value in zip(row[::2], row[1::2], strict=True)]
                if table == "vocabulary" and values[2]:
                    json.loads(values[2])
                new.execute(f"INSERT OR IGNORE INTO {table} VALUES ({places})", values)


def keys(new: apsw.Connection, table: str) -> list[str]:
    rows: list[tuple[Any, ...]] = new.execute(f"PRAGMA table_info({table})").fetchall()
    return [str(row[1]) for row in sorted((row for row in rows if row[5]), key=lambda row: row[5])]


def as_text(kind: str, value: Any) -> Any:
    return value.decode() if kind == "text" and isinstance(value, bytes) else value


def row_numbers(old: apsw.Connection, table: str, column: str, others: Sequence[str]) -> list[int]:
    """Every number that a row may have: from both ends of the table, from what refers to it, and all in between."""
    numbers: set[int] = set()
    for sql in (
        f"SELECT {column} FROM {table} NOT INDEXED ORDER BY {column}",
        f"SELECT {column} FROM {table} NOT INDEXED ORDER BY {column} DESC",
        *others,
    ):
        numbers |= {row[0] for row in walk(old, sql) if isinstance(row[0], int) and row[0] > 0}
    counter = [row[0] for row in walk(old, f"SELECT seq FROM sqlite_sequence WHERE name = '{table}'")]
    last = max([number for number in (*numbers, *counter) if isinstance(number, int)], default=0)
    return sorted(numbers | set(range(1, min(last, MOST_PROBED) + 1)))


def carry_journal(old: apsw.Connection, new: apsw.Connection) -> None:
    columns = [str(row[1]) for row in new.execute("PRAGMA table_info(journal)").fetchall()]
    cast = ", ".join(name if name in ("seq", "at") else f"CAST({name} AS BLOB)" for name in columns)
    insert = ", ".join("?" if name in ("seq", "at") else "CAST(? AS TEXT)" for name in columns)
    for number in row_numbers(old, "journal", "seq", ()):
        for row in walk(old, f"SELECT {cast} FROM journal WHERE seq = {number}"):
            with suppress(UnicodeDecodeError, apsw.ConstraintError):
                for value in row:
                    if isinstance(value, bytes):
                        value.decode()
                new.execute(f"INSERT OR IGNORE INTO journal VALUES ({insert})", row)


def carry_memories(old: apsw.Connection, new: apsw.Connection, now: float) -> Repaired:
    names = {row[2]: row[:2] for row in walk(
        old, "SELECT CAST(space AS BLOB), CAST(id AS BLOB), row FROM memory INDEXED BY sqlite_autoindex_memory_1"
    )}  # fmt: skip
    others = ("SELECT DISTINCT row FROM chunk", "SELECT id FROM word_docsize", "SELECT DISTINCT row FROM tag")
    sure = set(names)
    aside, lost = list[str](), list[str]()
    writer = SQLiteTransaction(new)
    for row in sorted({*row_numbers(old, "memory", "row", others), *sure}):
        try:
            read = old.execute(f"SELECT {SELECTED} FROM memory WHERE row = ?", (row,)).fetchall()
            if not read:
                continue
            memory = from_row(read[0])
            writer.carry(row, memory)
        except (apsw.Error, DamagedRecord, UnicodeDecodeError, ValueError) as error:
            columns = raw_columns(old, row)
            space, id = damage.name(old, row)
            if row in names and id.startswith("row "):
                space, id = (damage.legible(part) for part in names[row])
            if columns:
                quarantine(new, space, id, damage.reason(error), now, columns)
                aside.append(id)
            elif row in sure:
                lost.append(id)
    misplaced = carry_misplaced(old, new, writer)
    return Repaired(tuple(id for id in aside if id not in misplaced), tuple(id for id in lost if id not in misplaced))


def carry_misplaced(old: apsw.Connection, new: apsw.Connection, writer: SQLiteTransaction) -> set[str]:
    """Records whose own number is damaged: a walk meets them, though no number leads to them. They get a new one."""
    pairs = ", ".join(f"typeof({name}), CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END"
                      for name in COLUMNS)  # fmt: skip
    misplaced: set[str] = set()
    for order in ("", " ORDER BY row DESC"):
        for row in walk(old, f"SELECT {pairs} FROM memory NOT INDEXED{order}"):
            with suppress(UnicodeDecodeError, zlib.error, DamagedRecord, apsw.ConstraintError):
                memory = from_row([as_text(kind, value) for kind, value in zip(row[::2], row[1::2], strict=True)])
                known = "SELECT 1 FROM memory WHERE space = ? AND id = ?"
                if not new.execute(known, (memory.space, memory.id)).fetchall():
                    writer.carry(None, memory)
                    misplaced.add(memory.id)
    return misplaced


def carry_walks(old: apsw.Connection, new: apsw.Connection) -> None:
    for row, target, rel, walks in walk(old, "SELECT row, target, rel, walks FROM link WHERE walks > 0"):
        if isinstance(walks, int):
            new.execute("UPDATE link SET walks = ? WHERE row = ? AND target = ? AND rel = ?", (walks, row, target, rel))
