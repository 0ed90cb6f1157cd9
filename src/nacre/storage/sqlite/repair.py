"""Repairs a damaged store: keeps every record that can be read, and sets aside what cannot."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import apsw

from nacre.errors import NotAStore, StorageError, StoreBusy, StoreDamaged, WrongKey
from nacre.files import create_private, log_of, size_of
from nacre.model.instants import FIRST, LAST, stamp
from nacre.storage import tables
from nacre.storage.sqlite import damage, lost_records, rows, schema
from nacre.storage.sqlite.backup import (
    BESIDE,
    alone,
    copied,
    examine,
    keep_damaged,
    open_existing,
    take_place,
    to_disk,
)
from nacre.storage.sqlite.connection import (
    UNFINISHED_REKEY,
    Connections,
    Key,
    header,
    is_encrypted,
    sweep,
    translated,
    unlock,
)
from nacre.storage.sqlite.damage import walk
from nacre.storage.sqlite.lost_records import Remains, ScannedRows, TextRecovery, invented_name, row_for
from nacre.storage.sqlite.rows import LATER_VERSIONS, RECORDS, SELECTED, from_row
from nacre.storage.sqlite.transaction import renew_leads, write_counts
from nacre.storage.tables import (
    CONTENT,
    IDENTITY,
    SCALARS,
    Counts,
    DamagedRecord,
    SQLValue,
    counts_of,
    links_of,
    names_of,
)

COPIED_AT_ONCE = 1 << 20
FEW = 20  # rows: a damaged one among them must not speak for its table
MOST_PROBED = 5_000_000  # row numbers; a damaged counter may tell of many more than there can be
VERSION = (
    "key", "space", "seq_from", "seq_to", "anchor", "content", "version", *SCALARS, "lists", "uses", "stems", "length",
    "role", "asks",
)  # fmt: skip
VERSION_COLUMNS = ", ".join(VERSION)
# The last columns of a version.
COMPUTED = {"uses": b"", "stems": tables.packed_stems(("", "")).encode(), "length": 0, "role": "", "asks": 0}
NAMES = "SELECT key, space, CAST(id AS BLOB), gone FROM main.memory"
FAULTS = (apsw.Error, DamagedRecord, UnicodeDecodeError, StoreDamaged)


@dataclass(frozen=True, slots=True)
class Repaired:
    """`set_aside` names the records that went to the table `quarantine`, `lost` those of which nothing could be read.

    `recovered` are the memories of which only the text could be read, with what indexes know; `invented_spaces` the new
    names of spaces whose own are lost. `entries` is how many entries of the journal are lost. `kept` is the damaged
    file as it was, where a new one had to take its place.
    """

    set_aside: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    recovered: tuple[str, ...] = ()
    invented_spaces: tuple[str, ...] = ()
    entries: int = 0
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
        raise StorageError(f"{path} was not repaired ({reason}); fix that and repeat.") from error


def repaired_in_place(path: Path, key: Key | None, now: float) -> Repaired | None:
    """None, and nothing is changed, where damage would remain."""
    connections = Connections(path, key)
    try:
        connection = connections.get()
        connection.execute("BEGIN IMMEDIATE")
        try:
            own_keys, numbered = misattributed(connection), rightly_numbered(connection)
            spaces = space_names(connection)
            connection.execute("REINDEX")
            named = [space for space in spaces.items() if space[1]]
            connection.executemany("INSERT OR IGNORE INTO space(number, name) VALUES (?, ?)", named)
            restore_spaces(connection, connection)
            number_again(connection, numbered)
            continue_rows(connection)
            renew_places(connection)
            renew_uses(connection, now)
            connection.executemany("UPDATE OR IGNORE main.version SET key = ?2 WHERE row = ?1", own_keys.items())
            damaged = damage.damaged_rows(connection)
            remains = dict(filter(None, (readable_remains(connection, row) for row in damaged)))
            aside = [set_aside(connection, row, why, now) for row, why in damaged.items()]
            end_versions(connection)
            renew_leads(connection)
            ids = {key: id for key, _, id, _ in walk(connection, f"{NAMES} NOT INDEXED")} if remains else {}
            recovered = TextRecovery(connection, connection, now, remains, ids).recover(unheld(connection, remains))
            invented = invented_spaces(spaces, connection)
            renew_leads(connection)
            lost = ids_of(connection, damage.without_present(connection))
            follow_versions(connection)
            mark_entries(connection)
            renew_names(connection, anew=bool(aside or recovered))
            continue_numbers(connection, now)
            drop_orphans(connection)
            begin_journal(connection)
            sound = not any(damage.broken_structure(connection, 1)) and not any(damage.unreadable_tables(connection))
            sound = sound and not any(schema.foreign_definitions(connection))
            kept = keep_copy(path, key, now) if sound and aside else None
            connection.execute(damage.NOTE_REPAIR)
            connection.execute("COMMIT" if sound else "ROLLBACK")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        only_aside = tuple(id for id in aside if id not in recovered)
        only_lost = tuple(id for id in lost if id not in aside)
        return Repaired(only_aside, only_lost, tuple(recovered), invented, kept=kept) if sound else None
    except (StoreBusy, WrongKey):
        raise
    except (*FAULTS, NotAStore):
        return None
    finally:
        connections.close()


def set_aside(connection: apsw.Connection, row: int, why: str, now: float) -> str:
    """Moves a damaged version, as far as it can be read, to the table `quarantine`; returns the record's name. Its
    memory and names stay until the texts are recovered."""
    space, id = damage.name(connection, row)
    quarantine(connection, space, id, why, now, raw_columns(connection, row))
    connection.execute("DELETE FROM main.version WHERE row = ?", (row,))
    return id


def readable_remains(connection: apsw.Connection, row: int) -> tuple[int, Remains] | None:
    """Of a damaged version: its content, and what can be read of it; None for one of an earlier state."""
    with suppress(apsw.Error):
        sql = "SELECT content, key, seq_from, seq_to FROM main.version WHERE row = ?"
        for content, key, seq_from, seq_to in connection.execute(sql, (row,)).fetchall():
            if seq_to is None and all(isinstance(number, int) for number in (content, key, seq_from)):
                return int(content), Remains(int(key), int(seq_from), raw_columns(connection, row))  # type: ignore[arg-type]
    return None


def ids_of(connection: apsw.Connection, keys: Sequence[int]) -> list[str]:
    sql = f"SELECT CAST(id AS BLOB) FROM main.memory WHERE key {rows.AMONG}"
    return [damage.legible(id) for (id,) in rows.fetch(connection, sql, (json.dumps(list(keys)),))]


def unheld(connection: apsw.Connection, remains: Mapping[int, Remains]) -> list[int]:
    """The contents of versions that were set aside, and those that no version has."""
    sql = "SELECT number FROM content WHERE number NOT IN (SELECT content FROM main.version)"
    return sorted({*remains, *(number for (number,) in rows.fetch(connection, sql))})


def end_versions(connection: apsw.Connection) -> None:
    """Where a flipped bit has changed the end of a version, it ends where the next one of its memory begins; the last
    one, whose end no entry knows, is the present one."""
    following = "SELECT min(later.seq_from) FROM main.version AS later WHERE later.key = version.key"
    connection.execute(
        f"UPDATE main.version SET seq_to = ({following} AND later.seq_from > version.seq_from) WHERE {damage.OVERLAPS}"
    )
    connection.executemany(
        "UPDATE main.version SET seq_to = NULL WHERE key = ?1 AND seq_from ="
        " (SELECT max(seq_from) FROM main.version WHERE key = ?1) AND NOT EXISTS (SELECT 1 FROM journal WHERE"
        f" place = (version.space << {rows.PLACE_BITS}) + version.seq_to AND journal.key = ?1)",
        [(key,) for key in damage.without_present(connection)],
    )


def continue_rows(connection: apsw.Connection) -> None:
    """New rows get numbers above those of all others."""
    for table, highest in damage.numbers_to_raise(connection).items():
        connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
        connection.execute("INSERT INTO sqlite_sequence(name, seq) VALUES (?, ?)", (table, highest))


def renew_uses(connection: apsw.Connection, now: float) -> None:
    """A use that no memory can have: the memory counts as used at its last change, and as never recalled."""
    number = "typeof({}) IN ('integer', 'real')"
    changed = (
        "(SELECT updated_at FROM main.version WHERE version.key = memory.key AND seq_to IS NULL"
        f" AND {number.format('updated_at')} AND updated_at BETWEEN ?1 AND ?2)"
    )
    connection.execute(
        f"UPDATE main.memory SET last_accessed = coalesce({changed}, ?3)"
        f" WHERE NOT ({number.format('last_accessed')} AND last_accessed BETWEEN ?1 AND ?2)",
        (FIRST, LAST, now),
    )
    connection.execute(f"UPDATE main.memory SET access_count = 0 WHERE NOT {number.format('access_count')}")


def misattributed(connection: apsw.Connection) -> dict[int, int]:
    """The keys of versions, by their rows, that a flipped bit has given to another memory: the index and the journal
    agree on them against the row itself."""
    sql = (
        "SELECT version.row, indexed.key FROM main.version AS indexed INDEXED BY version_key"
        " CROSS JOIN main.version NOT INDEXED ON version.row = indexed.row"
        f" CROSS JOIN journal ON journal.place = (version.space << {rows.PLACE_BITS}) + version.seq_from"
        " WHERE indexed.key <> version.key AND journal.key = indexed.key AND journal.new"
    )
    return dict(walk(connection, sql))


def rightly_numbered(connection: apsw.Connection) -> list[int]:
    """Of the versions whose row has another number than its content says, those that the index knows under this number:
    then a flipped bit has changed the content."""
    indexed = {row for (row,) in walk(connection, "SELECT row FROM main.version INDEXED BY version_key")}
    return [row for row in damage.misnumbered(connection) if row in indexed]


def number_again(connection: apsw.Connection, rightly: Sequence[int]) -> None:
    """Makes the numbers of versions and their contents agree; `rightly` are those whose number is sound."""
    connection.executemany("UPDATE main.version SET content = row WHERE row = ?", [(row,) for row in rightly])
    connection.execute(
        f"UPDATE OR IGNORE main.version SET row = content WHERE row <> content AND row < {LATER_VERSIONS}"
    )


def renew_places(connection: apsw.Connection) -> None:
    """What a version has of its content, as the content has it; whether a compressed text asks stays as it is."""
    marks = ", ".join(f"'{mark}'" for mark in tables.QUESTION_MARKS)
    asks = f"CASE typeof(text) WHEN 'text' THEN substr(text, -1) IN ({marks}) ELSE version.asks END"
    own = f"SELECT content.role, {asks} FROM content WHERE number = version.content"
    connection.execute(f"UPDATE main.version SET (role, asks) = ({own}) WHERE (role, asks) IS NOT ({own})")


def follow_versions(connection: apsw.Connection) -> None:
    """A flipped bit may say of a memory that it is gone, or in another space; nobody could then write it. Its versions
    know better, unless another memory has its id."""
    present = "(SELECT key FROM main.version NOT INDEXED WHERE seq_to IS NULL)"
    own = "(SELECT version.space FROM main.version WHERE version.key = memory.key LIMIT 1)"
    connection.execute(f"UPDATE OR IGNORE main.memory SET space = {own} WHERE space <> {own}")
    connection.execute(f"UPDATE main.memory SET gone = key WHERE gone <> key AND key NOT IN {present}")
    connection.execute(f"UPDATE OR IGNORE main.memory SET gone = 0 WHERE gone <> 0 AND key IN {present}")


def continue_numbers(connection: apsw.Connection, now: float) -> None:
    """New entries get numbers above those of every version, also where the end of the journal is lost. Then
    everything has to be counted again."""
    beyond = damage.beyond_journal(connection)
    newest = "coalesce((SELECT max(max(created_at, updated_at)) FROM main.version WHERE space = number), 0)"
    for space, highest in beyond.items():
        connection.execute(
            "UPDATE space SET seq = ?2, (last_at, latest) ="
            f" (SELECT max(last_at, ?3), max(latest, {newest}) FROM present WHERE number = ?1) WHERE number = ?1",
            (space, highest, now),
        )


def begin_journal(connection: apsw.Connection) -> None:
    """Where the beginning of the journal is lost, it begins at its first entry, as if it had been compacted."""
    span = f"number << {rows.PLACE_BITS} AND (number << {rows.PLACE_BITS}) + {rows.LAST_SEQ}"
    first = f"(SELECT {{}} FROM journal WHERE place BETWEEN {span} ORDER BY place LIMIT 1)"
    then = "FROM main.version WHERE space = number AND seq_from <= dropped AND (seq_to IS NULL OR seq_to > dropped)"
    begun, at = f"coalesce({first.format('seq')} - 1, seq)", f"coalesce({first.format('at')}, last_at)"
    late = [row[0] for row in connection.execute(f"SELECT number FROM space WHERE {begun} > dropped").fetchall()]
    for space in late:
        connection.execute(f"UPDATE space SET dropped = {begun}, dropped_at = {at} WHERE number = ?", (space,))
        connection.execute(
            "UPDATE space SET (dropped_memories, dropped_stems) ="
            f" (SELECT count(*), coalesce(sum(length), 0) {then}) WHERE number = ?",
            (space,),
        )


def mark_entries(connection: apsw.Connection) -> None:
    """Entries that began or ended a version that is lost: no version leads to them any more, so that they have to be
    found without a key, and the empty image says that they are damaged."""
    there = "(SELECT 1 FROM main.version WHERE version.key = journal.key AND version.{} = journal.seq)"
    lost = f"(new AND NOT EXISTS {there.format('seq_from')}) OR (old AND NOT EXISTS {there.format('seq_to')})"
    connection.execute(f"UPDATE journal SET key = NULL, before = '' WHERE key IS NOT NULL AND ({lost})")


def drop_orphans(connection: apsw.Connection) -> None:
    """Contents that no version has, with what is derived from them; then everything is counted again."""
    gone = "NOT IN (SELECT content FROM main.version)"
    chunks: list[tuple[Any, ...]] = connection.execute(
        f"SELECT space, id FROM chunk WHERE content {gone} AND embedded"
    ).fetchall()
    if chunks:
        from nacre.storage.sqlite import search

        for space in {space for space, _ in chunks}:
            search.remove(connection, space, [id for of, id in chunks if of == space])
    connection.execute(f"DELETE FROM chunk WHERE content {gone}")
    connection.execute(f"DELETE FROM content WHERE number {gone}")
    complete_indexes(connection)


def complete_indexes(connection: apsw.Connection) -> None:
    """Fills a word index that is damaged or disagrees with the contents, and counts everything again."""
    renew_places(connection)
    if not words_agree(connection):
        rebuild_words(connection)
    recount(connection)


def words_agree(connection: apsw.Connection) -> bool:
    """Whether the index is sound and holds exactly the contents that have words."""
    try:
        connection.execute("INSERT INTO word(word) VALUES ('integrity-check')")
        missing = "SELECT count(*) FROM content WHERE words IS NOT NULL AND number NOT IN (SELECT id FROM word_docsize)"
        surplus = (
            "SELECT count(*) FROM word_docsize WHERE id NOT IN (SELECT number FROM content WHERE words IS NOT NULL)"
        )
        return not rows.only_row(connection, missing)[0] and not rows.only_row(connection, surplus)[0]
    except apsw.CorruptError:
        return False


def rebuild_words(connection: apsw.Connection) -> None:
    """Fills the index again from the stems that lie with the contents."""
    connection.execute("INSERT INTO word(word) VALUES ('delete-all')")
    connection.execute(
        "INSERT INTO word(rowid, title, text, role) SELECT number, tokens(space, words, 0), tokens(space, words, 1),"
        " tokens(space, words, 2) FROM content WHERE words IS NOT NULL"
    )


def recount(connection: apsw.Connection) -> None:
    """Counts the present state of every space again."""
    connection.execute("DELETE FROM counter")
    connection.execute(
        "UPDATE space SET (seq, last_at, latest, memories, stems) ="
        " (SELECT seq, last_at, latest, 0, 0 FROM present WHERE present.number = space.number)"
    )
    counts: Counts = Counter()
    terms: dict[int, Counter[str]] = defaultdict(Counter)
    totals: Counter[int] = Counter()
    lengths: Counter[int] = Counter()
    for space, length, stems, memory in rows.present_versions(connection):
        counts.update(counts_of(space, memory))
        terms[space].update(stems)
        totals[space] += 1
        lengths[space] += length
    write_counts(connection, counts, terms)
    connection.execute(
        "UPDATE space SET worded = (SELECT count(*) FROM content WHERE words IS NOT NULL AND space = space.number)"
    )
    connection.executemany(
        "UPDATE space SET memories = ?, stems = ? WHERE number = ?",
        [(n, lengths[space], space) for space, n in totals.items()],
    )


def quarantine(
    connection: apsw.Connection, space: str, id: str, why: str, now: float, columns: dict[str, object]
) -> None:
    connection.execute(
        "INSERT INTO quarantine(space, id, reason, at, columns) VALUES (?, ?, ?, ?, ?)",
        (space, id, why, now, json.dumps(columns, ensure_ascii=False)),
    )


RAW = {
    "version": "main.version WHERE row = ?",
    "content": "content WHERE number = (SELECT content FROM main.version WHERE row = ?)",
    "memory": "main.memory WHERE key = (SELECT key FROM main.version WHERE row = ?)",
}
RAW_COLUMNS = {"version": (*SCALARS, "version", "lists"), "content": CONTENT, "memory": IDENTITY}


def raw_columns(connection: apsw.Connection, row: int) -> dict[str, object]:
    """Each column of a version that can be read: texts as they are, or in hex where they are none."""
    columns: dict[str, object] = {}
    for table, source in RAW.items():
        for column in RAW_COLUMNS[table]:
            try:
                kind, value = connection.execute(
                    f"SELECT typeof({column}), CASE typeof({column}) WHEN 'text' THEN CAST({column} AS BLOB)"
                    f" ELSE {column} END FROM {source}",
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


def place_to_keep(file: Path, now: float) -> Path:
    """Of the damaged file, beside the repaired one. Raises `StorageError` where it is taken."""
    place = file.with_name(f"{file.name}.damaged-{stamp(now)}")
    if place.exists() or log_of(place).exists():
        raise StorageError(f"{place} is there already, and nothing is written over; move it and repeat.")
    return place


def keep_copy(path: Path, key: Key | None, now: float) -> Path:
    """Of the file as it is without the transaction that repairs it."""
    file = path.resolve()
    place = place_to_keep(file, now)
    unfinished = place.with_name(f".{place.name}{UNFINISHED_REKEY}")
    reader = open_existing(file)
    try:
        unlock(reader, path, key)
        create_private(unfinished)
        copied(reader, unfinished, key)
        shutil.copymode(file, unfinished)
        to_disk(unfinished)
        unfinished.replace(place)
    finally:
        reader.close()
        unfinished.unlink(missing_ok=True)
    return place


def rebuilt(file: Path, path: Path, key: Key | None, now: float) -> Repaired:
    damaged_copy = place_to_keep(file, now)
    fresh, copy = (file.with_name(f".{file.name}.{uuid4().hex[:8]}{UNFINISHED_REKEY}") for _ in range(2))
    with ExitStack() as held:
        holder: apsw.Connection | None = None
        try:
            holder = held.enter_context(alone(file, path, key))
            sweep(file)
            keep_bytes(file, damaged_copy)
        except (apsw.NotADBError, apsw.CorruptError, apsw.SQLError, NotAStore):
            keep_damaged(file, damaged_copy)  # nothing that could be locked
        try:
            keep_damaged(damaged_copy, copy)
            done = salvage(copy, path, key, fresh, now)
            examine(fresh, key)
            if file.exists():
                shutil.copymode(file, fresh)
            to_disk(fresh)
            take_place(fresh, file, holder)
        except BaseException:
            for part in ("", *BESIDE):  # the store itself is as it was
                damaged_copy.with_name(damaged_copy.name + part).unlink(missing_ok=True)
            raise
        finally:
            for part in ("", *BESIDE):
                fresh.with_name(fresh.name + part).unlink(missing_ok=True)
                copy.with_name(copy.name + part).unlink(missing_ok=True)
    return replace(done, kept=damaged_copy if damaged_copy.exists() else log_of(damaged_copy))


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
    """Everything of `file` that can be read, in a new store at `fresh`. The file is a copy, and is changed."""
    lost_records.mend_first_page(file)
    if not size_of(file):
        raise NotAStore(path, "nothing in its write-ahead log can be read; move the log away to begin a new store")
    old = open_existing(file)
    create_private(fresh)
    new = apsw.Connection(str(fresh))
    try:
        encrypted = is_encrypted(header(old))
        unlock(old, path, key if encrypted else None)
        old.pragma("writable_schema", "on")  # a damaged definition must not hide the other tables
        with suppress(apsw.Error):
            old.pragma("schema_version")
            old.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)  # a scan reads the pages of the file alone
        size = file.stat().st_size
        if encrypted:
            locked, old = old, lost_records.decrypted(old, size)
            locked.close()
            old.pragma("writable_schema", "on")
        unlock(new, fresh, key)
        schema.prepare(new, fresh)
        restore_definitions(old, new)
        rows.register(new)
        new.execute("BEGIN IMMEDIATE")
        carry_meta(old, new)
        carry_table(old, new, "vocabulary")
        if not leads_to_tables(old):
            misled, old = old, lost_records.rows_alone(old, size)
            misled.close()
            if not any(walk(old, "SELECT 1 FROM version UNION ALL SELECT 1 FROM content LIMIT 1")):
                raise NotAStore(path, "nothing in it can be read")
        rows.register(old)
        for table in ("space", "quarantine"):
            carry_table(old, new, table)
        without_row = restore_spaces(old, new)
        carry_journal(old, new)
        done = carry_memories(old, new, lost_records.scanned(old, size), now)
        renew_leads(new)
        mark_entries(new)
        follow_versions(new)
        rebuild_names(new)
        put_walks(new, walk(old, WALKS))
        rebuild_words(new)
        entries = damage.missing_entries(new, without_row)
        continue_numbers(new, now)
        recount(new)
        begin_journal(new)
        new.execute("COMMIT")
        return replace(done, entries=entries, invented_spaces=invented_spaces(space_names(old), new))
    finally:
        old.close()
        new.close()


def salvage_copy(file: Path, key: Key | None, target: Path, now: float) -> Repaired:
    """Everything that can be read of a damaged store, or of a log without one, in a new store at `target`. The damaged
    file is only read: what is not yet in it, but in its log, is read from a copy of both. Raises `NotAStore` and
    `WrongKey`, and then leaves nothing at `target`."""
    store, log = (None, file) if lost_records.is_log(file) else (file, log_of(file))
    if not file.is_file() and not log.is_file():
        raise StorageError(
            f"There is no file {file} to salvage; name the damaged store: `nacre doctor --salvage FILE`."
        )
    taken = next((each for part in ("", *BESIDE) if (each := target.with_name(target.name + part)).exists()), None)
    if taken is not None:
        raise StorageError(f"{taken} is there already, and nothing is written over; name another file.")
    with TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as folder:
        copy, fresh = Path(folder) / "damaged.db", Path(folder) / "fresh.db"
        for source, part in ((store, copy), (log, log_of(copy))):
            if source is not None and source.exists():
                shutil.copyfile(source, part)
        try:
            done = salvage(copy, file, key, fresh, now)
            examine(fresh, key)
        except apsw.Error as error:
            raise NotAStore(file, "nothing in it can be read") from error
        to_disk(fresh)
        fresh.replace(target)
    return done


def restore_definitions(old: apsw.Connection, new: apsw.Connection) -> None:
    """One wrong letter in a definition would hide its whole table, or a column. Written in a transaction that never
    ends, so that the damaged file stays as it is; the driver is made to read the definitions again."""
    sound = new.execute("SELECT sql, type, name FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    with suppress(apsw.Error):
        old.execute("BEGIN IMMEDIATE")
        old.executemany("UPDATE sqlite_schema SET sql = ?1 WHERE type = ?2 AND name = ?3 AND sql IS NOT ?1", sound)
        old.pragma("schema_version", int(old.pragma("schema_version")) + 1)
        old.execute("PRAGMA writable_schema = RESET")
        old.pragma("writable_schema", "on")


def leads_to_tables(old: apsw.Connection) -> bool:
    """Whether the definitions name each table, at a place of its own with rows of its shape. Else only the pages can
    be read."""
    tables = dict(walk(old, "SELECT name, rootpage FROM sqlite_schema WHERE type = 'table' AND rootpage"))
    places = Counter(row[0] for row in walk(old, "SELECT rootpage FROM sqlite_schema WHERE rootpage"))
    return all(places[tables.get(name)] == 1 and table_readable(old, name) for name in lost_records.SHAPES)


def table_readable(old: apsw.Connection, table: str) -> bool:
    shape = lost_records.SHAPES[table]
    try:
        first = old.execute(f"SELECT * FROM {table} NOT INDEXED LIMIT {FEW}").fetchall()
        return not first or any(all(map(isinstance, row[1:], shape[1:])) for row in first)
    except (apsw.CorruptError, UnicodeDecodeError):
        return True  # the table is there; some of it may be readable
    except apsw.Error:
        return False


def carry_meta(old: apsw.Connection, new: apsw.Connection) -> None:
    known = {str(row[0]): row[1] for row in walk(old, "SELECT key, value FROM meta")}
    for name, kind in (("embedder", str), ("dimensions", int), ("probe", bytes), ("measured", str)):
        if isinstance(known.get(name), kind):
            new.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, known[name]))


def carry_table(old: apsw.Connection, new: apsw.Connection, table: str) -> None:
    """From both ends: what lies before and after a damaged page is kept. Texts as bytes, and only sound ones; a space
    whose name is not legible gets another, because all its memories hang on it."""
    columns: list[tuple[Any, ...]] = new.execute(f"PRAGMA table_info({table})").fetchall()
    names = [str(row[1]) for row in columns]
    cast = ", ".join(f"typeof({name}), CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END"
                     for name in names)  # fmt: skip
    places, texts = ", ".join("?" for _ in names), damage.TEXTS.get(table, ())
    backwards = ", ".join(f"{row[1]} DESC" for row in columns if row[5])  # the primary key, in the order of the columns
    for order in ("", f" ORDER BY {backwards}"):
        for row in walk(old, f"SELECT {cast} FROM {table}{order}"):
            with suppress(UnicodeDecodeError, apsw.ConstraintError, ValueError):
                kinds = ("text" if name in texts else kind for name, kind in zip(names, row[::2], strict=True))
                if table == "space":
                    row = (*row[:3], damage.legible(row[3]) or invented_name(row[1]), *row[4:])
                values = [as_text(kind, value) for kind, value in zip(kinds, row[1::2], strict=True)]
                if table == "vocabulary" and values[2]:
                    json.loads(values[2])
                new.execute(f"INSERT OR IGNORE INTO {table} VALUES ({places})", values)


def restore_spaces(old: apsw.Connection, new: apsw.Connection) -> set[int]:
    """Spaces whose row is lost: by their name in the index, else by the number that memories and versions agree on.
    Returns their numbers."""
    known: list[tuple[Any, ...]] = new.execute("SELECT number FROM space").fetchall()
    for order in ("", " ORDER BY name DESC"):
        for number, name in walk(
            old, f"SELECT number, CAST(name AS BLOB) FROM space INDEXED BY sqlite_autoindex_space_1{order}"
        ):
            if isinstance(number, int) and (legible := damage.legible(name)):
                new.execute("INSERT OR IGNORE INTO space(number, name) VALUES (?, ?)", (number, legible))
    numbers = [
        {row[0] for how in (f"INDEXED BY {index}", "NOT INDEXED")
         for row in walk(old, f"SELECT DISTINCT space FROM {table} {how}") if isinstance(row[0], int) and row[0] > 0}
        for table, index in (("version", "version_updated"), ("memory", "sqlite_autoindex_memory_1"))
    ]  # fmt: skip
    for number in numbers[0] & numbers[1]:
        new.execute("INSERT OR IGNORE INTO space(number, name) VALUES (?, ?)", (number, invented_name(number)))
    present: list[tuple[Any, ...]] = new.execute("SELECT number FROM space").fetchall()
    return {row[0] for row in present if row not in known}


def space_names(connection: apsw.Connection) -> dict[int, str]:
    """By number, as far as the table or its index can be read."""
    sql = "SELECT number, CAST(name AS BLOB) FROM space"
    ways = ("NOT INDEXED", "NOT INDEXED ORDER BY number DESC", "INDEXED BY sqlite_autoindex_space_1")
    return {number: damage.legible(name) for way in ways for number, name in walk(connection, f"{sql} {way}")}


def invented_spaces(before: Mapping[int, str], new: apsw.Connection) -> tuple[str, ...]:
    """The spaces that a repair has named; `before` are the names that the damaged store had."""
    names = space_names(new).items()
    return tuple(name for number, name in names if name == invented_name(number) != before.get(number))


def as_text(kind: str, value: Any) -> Any:
    if kind != "text" or value is None:
        return value
    return value.decode() if isinstance(value, bytes) else str(value)


def row_numbers(old: apsw.Connection, table: str, column: str, others: Sequence[str]) -> list[int]:
    """Every number that a row may have: from both ends of the table, from what refers to it, and all in between. The
    first versions of contents have the numbers of these."""
    numbers: set[int] = set()
    for sql in (
        f"SELECT {column} FROM {table} NOT INDEXED ORDER BY {column}",
        f"SELECT {column} FROM {table} NOT INDEXED ORDER BY {column} DESC",
        *others,
    ):
        numbers |= {row[0] for row in walk(old, sql) if isinstance(row[0], int) and row[0] > 0}
    counted = "content" if table == "version" else table
    counter = [row[0] for row in walk(old, f"SELECT seq FROM sqlite_sequence WHERE name = '{counted}'")]
    numbers |= {number for number in counter if isinstance(number, int) and number > 0}
    for begin in (0, LATER_VERSIONS):
        last = max((number - begin for number in numbers if begin < number < begin + LATER_VERSIONS), default=0)
        numbers |= set(range(begin + 1, begin + min(last, MOST_PROBED) + 1))
    return sorted(numbers)


def carry_journal(old: apsw.Connection, new: apsw.Connection) -> None:
    """Entry by entry, from both ends and by every number that one may have."""
    carry_table(old, new, "journal")
    columns = [str(row[1]) for row in new.execute("PRAGMA table_info(journal)").fetchall()]
    plain = ("place", "at", "key", "old", "new", "latest", "memories", "stems")
    cast = ", ".join(name if name in plain else f"CAST({name} AS BLOB)" for name in columns)
    insert = ", ".join("?" if name in plain else "CAST(? AS TEXT)" for name in columns)
    spaces: list[tuple[Any, ...]] = new.execute("SELECT number, seq FROM present").fetchall()
    for space, last in spaces:
        held = {row[0] for row in new.execute("SELECT seq FROM journal WHERE place BETWEEN ? AND ?", rows.span(space))}
        for seq in set(range(1, min(last, MOST_PROBED) + 1)) - held:
            for row in walk(old, f"SELECT {cast} FROM journal WHERE place = {rows.place(space, seq)}"):
                with suppress(UnicodeDecodeError, apsw.ConstraintError):
                    for value in row:
                        if isinstance(value, bytes):
                            value.decode()
                    new.execute(f"INSERT OR IGNORE INTO journal VALUES ({insert})", row)


def carry_memories(old: apsw.Connection, new: apsw.Connection, scan: ScannedRows, now: float) -> Repaired:
    """Versions whose record can be read, under the numbers that they had; words stay, vectors are pending. Texts whose
    version is lost become memories of their own."""
    names = dict[int, tuple[Any, ...]]()
    for how in (" NOT INDEXED", " NOT INDEXED ORDER BY key DESC", " INDEXED BY sqlite_autoindex_memory_1"):
        names |= {row[0]: row[1:] for row in walk(old, f"{NAMES}{how}")}
    names = {key: (row[1], row[2].encode(), row[3]) for key, row in scan.memory.items()} | names
    of_versions = "SELECT row FROM version INDEXED BY version_updated"
    contents = row_numbers(old, "content", "number", (f"{of_versions} WHERE row < {LATER_VERSIONS}",))
    own_keys = misattributed(old)
    aside, lost, remains = list[str](), list[str](), dict[int, Remains]()
    for row in row_numbers(old, "version", "row", (of_versions,)):
        try:
            carry_version(old, new, row, names, own_keys, scan)
        except (apsw.Error, DamagedRecord, UnicodeDecodeError, ValueError, TypeError, zlib.error) as error:
            columns = raw_columns(old, row)
            remains |= dict(filter(None, [readable_remains(old, row)]))
            space, id = damage.name(old, row)
            if columns:
                quarantine(new, space, id, damage.reason(error), now, columns)
                aside.append(id)
            elif not id.startswith("row "):
                lost.append(id)
    carry_misplaced(old, new, names, scan)
    end_versions(new)
    numbers = sorted({*contents, *scan.content})
    ids = {key: id for key, (_, id, _) in names.items()}
    deleted = {key for key, (_, _, gone) in names.items() if gone}
    recovered = TextRecovery(old, new, now, remains, ids, deleted, scan.content).recover(numbers)
    sql = "SELECT id FROM memory WHERE key IN (SELECT key FROM version WHERE seq_to IS NULL)"
    present = {str(id) for (id,) in new.execute(sql).fetchall()}
    missing = {damage.legible(id) for space, id, gone in names.values() if not gone} - present - {*aside, *lost}
    lost_ids = tuple(id for id in dict.fromkeys((*lost, *sorted(missing))) if id not in present)
    return Repaired(tuple(id for id in aside if id not in present), lost_ids, tuple(recovered))


def carry_version(
    old: apsw.Connection, new: apsw.Connection, row: int, names: dict[int, tuple[Any, ...]], own_keys: dict[int, int],
    scan: ScannedRows,
) -> None:  # fmt: skip
    legible = VERSION_COLUMNS.replace("uses", "CAST(uses AS BLOB)").replace("stems", "CAST(stems AS BLOB)")
    try:
        result = old.execute(f"SELECT {legible} FROM version WHERE row = ?", (row,)).fetchall()
    except apsw.CorruptError:  # perhaps only what is computed again
        record = ", ".join(name for name in VERSION if name not in COMPUTED)
        result = old.execute(f"SELECT {record} FROM version WHERE row = ?", (row,)).fetchall()
        result = [(*each, *COMPUTED.values()) for each in result]
    for key, *rest in result:
        put_version(old, new, [row, own_keys.get(row, key), *rest], names, scan)


def put_version(
    old: apsw.Connection,
    new: apsw.Connection,
    values: Sequence[Any],
    names: dict[int, tuple[Any, ...]],
    scan: ScannedRows,
) -> None:
    """Raises what reading the record raises, where it cannot be read."""
    version = dict(zip(("row", *VERSION), values, strict=True))
    key, content = version["key"], version["content"]
    identity = row_or_scanned(
        old, f"SELECT space, gone, {', '.join(IDENTITY)} FROM memory WHERE key = ?", key,
        [(row[1], row[3], row[2], *row[4:]) for row in [scan.memory.get(key)] if row],
    )  # fmt: skip
    if not identity and key in names:  # its row is lost; the index still has its name
        space, id, gone = names[key]
        identity = [(space, gone, id.decode(), 0.0, 0)]
    texts = row_or_scanned(
        old, f"SELECT {', '.join(CONTENT)} FROM content WHERE number = ?", content,
        [row[2:5] for row in [scan.content.get(content)] if row],
    )  # fmt: skip
    if not identity or not texts:
        raise DamagedRecord("a part of it cannot be found")
    (space, gone, *known), texts_of = identity[0], texts[0]
    known[1:] = sound_uses(known[1], known[2], version["updated_at"])
    name = new.execute("SELECT name FROM space WHERE number = ?", (version["space"],)).fetchall()
    if not name:
        raise DamagedRecord("its space cannot be found")
    scalars = [version[each] for each in (*SCALARS, "version", "lists")]
    memory = from_row([name[0][0], *known, *texts_of, *scalars])
    stems = next((row[0] for row in walk(old, f"SELECT words FROM content WHERE number = {content}")), None)
    version["row"] = row_for(new, version["row"], content)
    version["anchor"] = version["seq_from"]  # in every index, whatever was there before it
    version["role"], version["asks"] = rows.place_values(memory.role, memory.text)
    version["stems"] = damage.legible(version["stems"])
    version["uses"] = damage.legible(version["uses"])
    if not is_pair(version["uses"]):
        version["uses"] = tables.as_json([memory.last_accessed, memory.access_count])
    uses = (memory.last_accessed, memory.access_count)
    put_memory(new, (key, space, memory.id, gone, *uses), names)
    pending, written = int(version["seq_to"] is None), rows.content_values(*tables.contents_of(memory))
    new.execute(
        "INSERT OR IGNORE INTO content VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (content, version["space"], texts_of[0], *written[1:], stems, pending),
    )
    if pending:
        new.execute("UPDATE content SET pending = 1 WHERE number = ?", (content,))
    marks = ", ".join("?" for _ in values)
    new.execute(f"INSERT INTO version(row, {VERSION_COLUMNS}) VALUES ({marks})", list(version.values()))


def row_or_scanned(old: apsw.Connection, sql: str, number: int, scanned: list[Any]) -> list[tuple[Any, ...]]:
    """The row of this number, or `scanned` where the way to it is damaged."""
    try:
        return old.execute(sql, (number,)).fetchall() or scanned
    except (apsw.Error, UnicodeDecodeError):
        if not scanned:
            raise
        return scanned


def put_memory(new: apsw.Connection, row: tuple[Any, ...], names: dict[int, tuple[Any, ...]]) -> None:
    """A row whose own number is damaged may stand in the place of another: then the index has the name of that one."""
    key, space, id, gone, *uses = row
    own = names.get(key, (space, id.encode(), gone))
    if own[1] != id.encode() and any(other != key and name[1] == id.encode() for other, name in names.items()):
        space, id, gone = own[0], own[1].decode(), own[2]
    new.execute(
        "INSERT OR IGNORE INTO memory(key, space, id, gone, last_accessed, access_count) VALUES (?, ?, ?, ?, ?, ?)",
        (key, space, id, gone, *uses),
    )
    if not new.execute("SELECT 1 FROM memory WHERE key = ?", (key,)).fetchall():
        raise DamagedRecord("another memory has its id")


def sound_uses(last_accessed: Any, access_count: Any, changed: Any) -> tuple[Any, Any]:
    """As `renew_uses`."""
    is_time = isinstance(last_accessed, int | float) and FIRST <= last_accessed <= LAST
    return last_accessed if is_time else changed, access_count if isinstance(access_count, int | float) else 0


def is_pair(uses: object) -> bool:
    with suppress(ValueError, TypeError):
        last_accessed, access_count = json.loads(uses)  # type: ignore[arg-type]
        return isinstance(last_accessed, int | float) and isinstance(access_count, int)
    return False


def carry_misplaced(
    old: apsw.Connection, new: apsw.Connection, names: dict[int, tuple[Any, ...]], scan: ScannedRows
) -> None:
    """Versions to which no number leads: those whose own number is damaged get a new one, and those that only a scan
    of the pages meets keep theirs."""
    pairs = ", ".join(f"typeof({name}), CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END"
                      for name in VERSION)  # fmt: skip
    for order in ("", " ORDER BY row DESC"):
        for row in walk(old, f"SELECT {pairs} FROM version NOT INDEXED{order}"):
            with suppress(UnicodeDecodeError, zlib.error, ValueError, TypeError, apsw.Error):
                values = [as_text(kind, value) for kind, value in zip(row[::2], row[1::2], strict=True)]
                key, seq_from = values[VERSION.index("key")], values[VERSION.index("seq_from")]
                known = "SELECT 1 FROM version WHERE key = ? AND seq_from = ?"
                if not new.execute(known, (key, seq_from)).fetchall():
                    put_version(old, new, [None, *values], names, scan)
    for number, scanned in scan.version.items():
        with suppress(UnicodeDecodeError, zlib.error, ValueError, TypeError, apsw.Error):
            put_version(old, new, [number, *scanned[1:]], names, scan)


Value = tuple[SQLValue, ...]  # how often a name is in its list, or a link's weight and kind


def rebuild_names(new: apsw.Connection) -> None:
    """The names and links of every version, from its lists."""
    versions: list[tuple[Any, ...]] = new.execute(
        f"SELECT version.key, version.space, version.seq_from, version.seq_to, version.stems, {SELECTED} FROM {RECORDS}"
        " ORDER BY version.key, version.seq_from"
    ).fetchall()
    for key, result in groupby(versions, key=itemgetter(0)):
        open_names: dict[tuple[str, ...], tuple[int, Value]] = {}
        ended_at: int | None = None
        for _, space, seq_from, seq_to, stems, *record in result:
            memory = from_row(record)
            has: dict[tuple[str, ...], Value] = {
                ("label", *name): (n,) for name, n in names_of(memory, tables.unpacked_stems(stems, 2)).items()
            }
            has |= {("link", *name): kept for name, kept in links_of(memory).items()}
            for name in [
                name for name, (_, value) in open_names.items() if has.get(name) != value or ended_at != seq_from
            ]:
                end_name(new, space, key, name, *open_names.pop(name), ended_at)
            open_names |= {name: (seq_from, value) for name, value in has.items() if name not in open_names}
            ended_at = seq_to
        for name, (seq_from, value) in open_names.items():
            end_name(new, space, key, name, seq_from, value, ended_at)


def end_name(
    new: apsw.Connection, space: int, key: int, name: tuple[str, ...], seq_from: int, value: Value, seq_to: int | None
) -> None:
    table, one, other = name
    places = (space, one, other, key, seq_from, seq_to)
    if table == "label":
        new.execute("INSERT OR IGNORE INTO label VALUES (?, ?, ?, ?, ?, ?, ?)", (*places, *value))
    else:
        new.execute("INSERT OR IGNORE INTO link VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)", (*places, *value))


def renew_names(connection: apsw.Connection, *, anew: bool = False) -> None:
    """Makes the names and links of all versions again where there are not as many as the memories have, or `anew`."""
    if not anew and all(there == expected for there, expected in damage.counted_names(connection).values()):
        return
    walks = list(walk(connection, WALKS))
    for table in ("label", "link"):
        connection.execute(f"DELETE FROM main.{table}")
    rebuild_names(connection)
    put_walks(connection, walks)


WALKS = "SELECT walks, key, target, rel, seq_from FROM main.link WHERE walks > 0"


def put_walks(new: apsw.Connection, walks: Iterable[tuple[Any, ...]]) -> None:
    """Of the links in the order of `WALKS`."""
    of_link = "key = ? AND target = ? AND rel = ? AND seq_from = ?"
    counted = [row for row in walks if isinstance(row[0], int)]
    new.executemany(f"UPDATE main.link SET walks = ? WHERE {of_link}", counted)
