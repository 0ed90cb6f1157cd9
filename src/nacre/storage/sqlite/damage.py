"""Damaged records: finds them, names them, and hides them from a connection so that all others can be read."""

from __future__ import annotations

import logging
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw

from nacre.storage import tables
from nacre.storage.sqlite.rows import LAST_SEQ, LATER_VERSIONS, PLACE_BITS, RECORDS, SELECTED, from_row, only_row
from nacre.storage.tables import DamagedRecord

log = logging.getLogger("nacre.damage")

PAGE = 500
REMEDY = "Run `nacre doctor --fix`, which moves it aside."
READ_FAULTS = (apsw.Error, UnicodeDecodeError)  # what a statement on a damaged file may raise
UNREADABLE = (DamagedRecord, UnicodeDecodeError, zlib.error, apsw.CorruptError)
# The last column is not part of a record, but a search reads it.
READ = f"SELECT {SELECTED}, version.role FROM main.{RECORDS} WHERE version.row"
SIGN = "row, key, seq_from"  # of a version: its row number may be given again
# How often the file was repaired in place: what a connection hides may be sound since.
REPAIRS = "(SELECT coalesce(max(value), 0) FROM main.meta WHERE key = 'repairs')"
NOTE_REPAIR = "INSERT INTO meta VALUES ('repairs', 1) ON CONFLICT DO UPDATE SET value = value + 1"
# Columns as raw bytes: a text that is not UTF-8 would make the driver refuse the whole row.
NAME = (
    "SELECT CAST((SELECT name FROM space WHERE number = version.space) AS BLOB),"
    " CAST((SELECT id FROM memory WHERE memory.key = version.key) AS BLOB) FROM main.version WHERE row = ?"
)


def damaged_rows(connection: apsw.Connection) -> dict[int, str]:
    """The row numbers of the versions that cannot be read, each with the reason.

    Raises `apsw.CorruptError` where the table itself cannot be walked.
    """
    numbers = connection.execute("SELECT row FROM main.version NOT INDEXED ORDER BY row").fetchall()
    rows = [int(row) for (row,) in numbers]  # type: ignore[arg-type]
    damaged = dict.fromkeys(misnumbered(connection), "its row has a number that is not its own")
    for start in range(0, len(rows), PAGE):
        page = rows[start : start + PAGE]
        if not all_readable(connection, page):
            damaged |= {row: reason for row in page if (reason := fault(connection, row))}
    return damaged


def misnumbered(connection: apsw.Connection) -> list[int]:
    """The rows of versions to which their content does not lead: no search can find them."""
    sql = f"SELECT row FROM main.version NOT INDEXED WHERE row <> content AND row < {LATER_VERSIONS}"
    return [int(row) for (row,) in connection.execute(sql).fetchall()]  # type: ignore[arg-type]


def all_readable(connection: apsw.Connection, page: Sequence[int]) -> bool:
    try:
        read = connection.execute(f"{READ} BETWEEN ? AND ?", (page[0], page[-1])).fetchall()
        return len([from_row(row[:-1]) for row in read]) == len(page)
    except UNREADABLE:
        return False


def fault(connection: apsw.Connection, row: int) -> str:
    """Why the record cannot be read; empty when it can."""
    try:
        from_row(connection.execute(f"{READ} = ?", (row,)).fetchall()[0][:-1])
    except IndexError:
        return "its row cannot be found"
    except UNREADABLE as error:
        return reason(error)
    return ""


def reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "a text in it is not UTF-8"
    if isinstance(error, zlib.error):
        return "its compressed text cannot be unpacked"
    if isinstance(error, apsw.CorruptError):
        return "a part of the file that holds it is damaged"
    return str(error)


def out_of_reach(connection: apsw.Connection) -> int:
    """How many memories nobody can write, because their own row says that they are gone, or in another space."""
    sql = (
        "SELECT count(*) FROM main.version CROSS JOIN memory ON memory.key = version.key"
        " WHERE version.seq_to IS NULL AND (memory.gone <> 0 OR memory.space <> version.space)"
    )
    return int(connection.execute(sql).fetchall()[0][0])  # type: ignore[arg-type]


def without_first(connection: apsw.Connection) -> int:
    """How many contents no search finds, because it would find them by their first version, and that is lost."""
    first = "(SELECT 1 FROM main.version WHERE row = content.number)"
    return int(only_row(connection, f"SELECT count(*) FROM content WHERE NOT EXISTS {first}")[0])


def without_present(connection: apsw.Connection) -> list[int]:
    """The keys of memories that nobody has removed: their present version is lost."""
    last = "(SELECT max(seq_to) FROM main.version WHERE version.key = memory.key)"
    sql = (
        "SELECT key FROM main.memory WHERE gone = 0"
        " AND NOT EXISTS (SELECT 1 FROM main.version WHERE version.key = memory.key AND seq_to IS NULL)"
        " AND NOT EXISTS (SELECT 1 FROM journal"
        f" WHERE place = (memory.space << {PLACE_BITS}) + {last} AND journal.key = memory.key AND NOT new)"
    )
    return [int(key) for (key,) in connection.execute(sql).fetchall()]  # type: ignore[arg-type]


# A version that has ended before it began, or not yet when the next one of its memory begins.
OVERLAPS = (
    "(version.seq_to <= version.seq_from OR EXISTS (SELECT 1 FROM main.version AS later WHERE later.key = version.key"
    f" AND later.seq_from BETWEEN version.seq_from + 1 AND coalesce(version.seq_to, {LAST_SEQ}) - 1))"
)


def overlapping(connection: apsw.Connection) -> int:
    return int(only_row(connection, f"SELECT count(*) FROM main.version NOT INDEXED WHERE {OVERLAPS}")[0])


# The tables whose rows are numbered when they are written, each with the column of its numbers.
NUMBERED = {"memory": "key", "content": "number", "chunk": "id"}
LAST = "coalesce((SELECT seq FROM sqlite_sequence WHERE name = '{0}'), 0)"
HIGHEST = "coalesce((SELECT max({1}) FROM main.{0}), 0)"


def numbers_to_raise(connection: apsw.Connection) -> dict[str, int]:
    """The highest number of each table whose last one, as the file says it, is lower: it would be given again."""
    raised = {}
    for table in NUMBERED.items():
        last, highest = only_row(connection, f"SELECT {LAST.format(*table)}, {HIGHEST.format(*table)}")
        if last < highest:
            raised[table[0]] = int(highest)
    return raised


def counted_names(connection: apsw.Connection) -> dict[str, tuple[int, int]]:
    """Of the names and links of the present: how many there are, and how many the memories have. Raises where a
    version cannot be read."""
    labels = links = 0
    for lists, stems in connection.execute("SELECT lists, stems FROM main.version NOT INDEXED WHERE seq_to IS NULL"):
        fields = dict[str, Any]()
        tables.unpack_lists(str(lists), fields)
        labels += len(tables.listed_names(fields, tables.unpacked_stems(stems, 2)))
        links += len({(link.to, link.rel) for link in fields.get("links", ())})
    counted = "SELECT (SELECT count(*) FROM main.label WHERE seq_to IS NULL), (SELECT count(*) FROM main.link"
    there = only_row(connection, f"{counted} WHERE seq_to IS NULL)")
    return {"label": (there[0], labels), "link": (there[1], links)}


def beyond_journal(connection: apsw.Connection) -> dict[int, int]:
    """The highest journal number that a version has, by space, where the space itself knows no number so high: new
    entries would use numbers again. A number that no store can reach is a flipped bit."""
    number = "max(seq_from, coalesce(seq_to, 0))"
    sql = (
        f"SELECT number, highest FROM present JOIN (SELECT version.space, max({number}) AS highest FROM main.version"
        f" NOT INDEXED WHERE {number} <= {LAST_SEQ >> 1} GROUP BY 1) AS named ON named.space = number"
        " WHERE highest > seq"
    )
    return dict(connection.execute(sql).fetchall())  # type: ignore[arg-type]


FAR = 64  # numbers: a damaged page holds fewer entries


def missing_entries(connection: apsw.Connection, without_row: Collection[int] = ()) -> int:
    """How many entries the journal lacks: their numbers have no gaps. `without_row` are the spaces whose own row is
    lost, and with it how far their journal was compacted: what is before their first entry is not counted. A
    number far above all others, which not both an entry and a version have, is a flipped bit."""
    version = "SELECT space, {} FROM main.version"
    entries = by_space(connection, "SELECT space, seq FROM journal")
    named = by_space(connection, f"{version.format('seq_from')} UNION ALL {version.format('seq_to')}")
    spaces: list[tuple[Any, ...]] = connection.execute("SELECT number, seq, dropped FROM space").fetchall()
    missing = 0
    for space, seq, dropped in spaces:
        held = entries[space]
        first = min(held) - 1 if held and space in without_row else dropped
        known = held | named[space] | {first}
        near = (each for before, each in pairwise(sorted(known)) if each - before <= FAR)
        last = max((*near, *(held & named[space])), default=0)
        span = range(first + 1, max(seq, last) + 1)
        missing += len(span) - sum(each in span for each in held)
    return missing


def by_space(connection: apsw.Connection, sql: str) -> defaultdict[Any, set[int]]:
    numbers = defaultdict[Any, set[int]](set)
    for space, number in connection.execute(sql):
        if isinstance(number, int):
            numbers[space].add(number)
    return numbers


def name(connection: apsw.Connection, row: int) -> tuple[str, str]:
    """The record's space and id, as far as they can be read."""
    try:
        space, id = connection.execute(NAME, (row,)).fetchall()[0]
    except (apsw.Error, IndexError):
        return "", f"row {row}"
    return legible(space), legible(id) or f"row {row}"


def legible(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else "" if value is None else str(value)


def walk(connection: apsw.Connection, sql: str) -> Iterator[tuple[Any, ...]]:
    """The rows up to the first that cannot be read."""
    with suppress(*READ_FAULTS):
        yield from connection.execute(sql)


def hide(connection: apsw.Connection, path: Path, known: set[int]) -> bool:
    """Hides the damaged records from this connection; False when there is none that was not hidden already.

    A temporary view with the table's name stands before the table: every query reads it, and no query is slower where
    nothing is damaged. Writers name `main.version`. `known` are the records that were named before, by any connection.
    """
    damaged = damaged_rows(connection)
    if not damaged.keys() - hidden(connection):
        return False
    known.intersection_update(damaged)
    for row, why in damaged.items():
        if row not in known:
            known.add(row)
            space, id = name(connection, row)
            log.warning("The record %s (space %s) in %s is damaged and left out: %s. %s", id, space, path, why, REMEDY)
    connection.execute("DROP VIEW IF EXISTS temp.version")
    connection.execute(
        f"CREATE TEMP VIEW version AS SELECT * FROM main.version WHERE {none_of(connection, damaged)}"
        f" OR {REPAIRS} <> {only_row(connection, f'SELECT {REPAIRS}')[0]}"
    )
    return True


def none_of(connection: apsw.Connection, damaged: Collection[int]) -> str:
    """The condition that a version is none of these. Its row number alone does not say so: when a damaged version is
    purged or compacted away, another one may get its number."""
    signs = [sign for row in damaged for sign in walk(connection, f"SELECT {SIGN} FROM main.version WHERE row = {row}")]
    signed = [sign for sign in signs if all(isinstance(number, int) for number in sign)]
    unsigned = ", ".join(map(str, set(damaged) - {row for row, *_ in signed}))
    others = f"row NOT IN ({unsigned}) AND ({SIGN}) NOT IN (VALUES {', '.join(map(str, signed)) or '(0, 0, 0)'})"
    return f"row NOT IN ({', '.join(map(str, damaged))}) OR {others}"


def hidden(connection: apsw.Connection) -> set[int]:
    if not connection.execute("SELECT 1 FROM temp.sqlite_schema WHERE name = 'version'").fetchall():
        return set()
    rows = connection.execute(
        "SELECT row FROM main.version NOT INDEXED EXCEPT SELECT row FROM temp.version"
    ).fetchall()  # fmt: skip
    return {int(row) for (row,) in rows}  # type: ignore[arg-type]


# What hangs on the records, with its texts: these tables are small rows that a search reads without the record.
TEXTS = {
    "space": ("name",),
    "present": ("name",),
    "label": ("field", "name"),
    "link": ("target", "rel", "kind"),
    "vocabulary": ("kind", "name", "data"),
    "journal": ("memory_id", "act", "actor", "batch", "kind"),
}


def unreadable_tables(connection: apsw.Connection) -> Iterator[str]:
    for table, columns in TEXTS.items():
        try:
            for values in connection.execute(f"SELECT {', '.join(columns)} FROM main.{table}"):
                if not all(isinstance(value, str | None) for value in values):
                    raise DamagedRecord("a value in it is not a text")
        except UNREADABLE as error:
            yield f"the table `{table}` cannot be read ({reason(error)})"


@contextmanager
def one_snapshot(connection: apsw.Connection) -> Iterator[None]:
    """All that is read meanwhile is of the same state of the file. Some faults of the disk end the transaction by
    themselves; to end it again would hide them."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def broken_structure(connection: apsw.Connection, most: int = 5) -> Iterator[str]:
    """What SQLite's own examination finds, of tables against indexes too, in one snapshot."""
    try:
        with one_snapshot(connection):
            # The examination of the word index trusts what the connection remembers of it, also when others have
            # written since; a search in the same transaction makes it look again.
            with suppress(apsw.Error):
                connection.execute("SELECT rowid FROM word WHERE word MATCH 'any' LIMIT 1").fetchall()
            lines = connection.execute(f"PRAGMA main.integrity_check({most})").fetchall()
    except UNREADABLE as error:
        lines = [(str(error),)]
    yield from (" ".join(str(line).split()) for (line,) in lines if line != "ok")


def check_records(connection: apsw.Connection) -> str:
    """What is wrong with a table of records or one of its indexes; empty when each row is in all of them."""
    for table in ("memory", "version", "content"):
        lines = [str(line) for (line,) in connection.execute(f"PRAGMA main.integrity_check('{table}')")]
        if lines != ["ok"]:
            return lines[0] if lines else "it cannot be examined"
    return ""
