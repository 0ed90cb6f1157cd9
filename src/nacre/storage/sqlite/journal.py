"""The journal: entries that point to the versions they ended and began, and their images made from those."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import apsw

from nacre.model import JournalEntry, JournalFilter, Memory, Operation
from nacre.model.difference import images
from nacre.model.journal import MEMORY
from nacre.model.memory import Json
from nacre.storage.sqlite.rows import AMONG, RECORDS, SELECTED, SQLValue, as_json, fetch, from_row

TEXTS = ("memory_id", "kind", "act", "actor", "batch", "why", "before", "after")
# As bytes: a text that is no UTF-8 would make the driver give up on all the rows.
SELECTED_ENTRY = ", ".join(("seq", "at", "old", "new", *(f"CAST({name} AS BLOB)" for name in TEXTS)))
INSERT = (
    "INSERT INTO journal(space, seq, memory_id, kind, act, actor, at, batch, why, old, new, before, after, latest)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
CONDITIONS = {
    "memory_id": "memory_id = ?",
    "batch": "batch >= ? AND batch < ?",
    "operation": "+act = ?",
    "actor": "+actor = ?",
    "since": "+at >= ?",
    "until": "+at <= ?",
    "after": "seq > ?",
    "upto": "seq <= ?",
}
# Said to the planner, which would rather walk the whole journal in the order asked for.
BY_MEMORY = " INDEXED BY journal_memory"
LAST_CHARACTER = "\U0010ffff"


def to_row(space: int, seq: int, entry: JournalEntry, versions: tuple[SQLValue, SQLValue] | None) -> list[SQLValue]:
    """`versions` are the rows that give the entry's images; without them the images themselves are stored."""
    done = entry.operation
    images: tuple[SQLValue, ...] = (None, None) if versions else (maybe_json(entry.before), maybe_json(entry.after))
    numbers = versions or (None, None)
    named = (entry.memory_id, entry.kind, done.name, done.actor, done.at, done.batch, done.why)
    return [space, seq, *named, *numbers, *images]


def latest(connection: apsw.Connection, space: int, seq: int) -> float | None:
    """No version of the state after this entry was created or changed later; None where nobody knows."""
    sql = "SELECT latest FROM journal WHERE space = ? AND seq = ?"
    return next((float(at) for (at,) in fetch(connection, sql, (space, seq))), None)


def maybe_json(fields: Mapping[str, Json] | None) -> str | None:
    return None if fields is None else as_json(dict(fields))


def read(
    connection: apsw.Connection, space: int, name: str, where: JournalFilter, *, newest_first: bool, limit: int | None
) -> list[JournalEntry]:
    parts = ["space = ?"]
    values: list[SQLValue] = [space]
    for field, part in CONDITIONS.items():
        wanted = getattr(where, field)
        if wanted is not None:
            parts.append(part)
            values += [wanted, wanted + LAST_CHARACTER] if field == "batch" else [wanted]
    index = BY_MEMORY if where.memory_id is not None else " INDEXED BY journal_batch" if where.batch else ""
    rows = fetch(
        connection,
        f"SELECT {SELECTED_ENTRY} FROM journal{index} WHERE {' AND '.join(parts)}"
        f" ORDER BY seq {'DESC' if newest_first else 'ASC'} LIMIT ?",
        (*values, -1 if limit is None else limit),
    )
    versions = versions_of(connection, {number for row in rows for number in row[2:4] if number is not None})
    return [from_entry_row(row, name, versions) for row in rows]


def versions_of(connection: apsw.Connection, numbers: set[int]) -> dict[int, Memory]:
    """As they were written: their uses, too. One that cannot be read is left out."""
    if not numbers:
        return {}
    sql = f"SELECT version.row, version.uses, {SELECTED} FROM {RECORDS} WHERE version.row {AMONG}"
    rows = fetch(connection, sql, (json.dumps(sorted(numbers)),))
    versions: dict[int, Memory] = {}
    for row, uses, *record in rows:
        with suppress(ValueError, TypeError, zlib.error):
            last_accessed, access_count = json.loads(uses)
            versions[row] = replace(from_row(record), last_accessed=last_accessed, access_count=access_count)
    return versions


def from_entry_row(row: Sequence[SQLValue], space: str, versions: Mapping[int, Memory]) -> JournalEntry:
    seq, at, old, new, *texts = row
    memory_id, kind, name, actor, batch, why, *stored = map(legible, texts)
    damaged = not all(isinstance(each, str) for each in (memory_id, kind, name, actor, batch, why))
    before: Mapping[str, Json] | None = None
    after: Mapping[str, Json] | None = None
    try:
        if old is not None or new is not None:
            before, after = images(*(None if each is None else versions[int(each)] for each in (old, new)))
        else:
            before, after = map(parsed, stored)
    except (KeyError, ValueError):  # one broken row must not hide the others
        damaged = True
    return JournalEntry(
        seq=int(seq),  # type: ignore[arg-type]
        operation=Operation(as_text(name), as_text(actor), number(at), as_text(batch), as_text(why)),
        space=space,
        memory_id=as_text(memory_id),
        before=None if damaged else before,
        after=None if damaged else after,
        kind=as_text(kind),
        damaged=damaged,
    )


def legible(value: SQLValue) -> SQLValue:
    """The text, or its bytes where they are none."""
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return repr(value).encode()


def parsed(image: SQLValue) -> Mapping[str, Json] | None:
    if image is None:
        return None
    fields = json.loads(image)  # type: ignore[arg-type]
    if not isinstance(fields, dict):
        raise ValueError("a journal image must be an object")
    return fields


def as_text(value: SQLValue) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def number(value: SQLValue) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def seq_at(connection: apsw.Connection, space: int, at: float) -> int:
    steady, dropped, last_at, seq = connection.execute(
        "SELECT steady, dropped, last_at, seq FROM space WHERE number = ?", (space,)
    ).fetchall()[0]
    if at >= last_at:  # type: ignore[operator]
        return int(seq)  # type: ignore[arg-type]
    # While times never fell, the last entry by time is the last by number.
    order = "at DESC, seq DESC" if steady else "seq DESC"
    row = connection.execute(
        f"SELECT seq FROM journal WHERE space = ? AND at <= ? ORDER BY {order} LIMIT 1", (space, at)
    ).fetchone()
    return int(row[0] if row else dropped)  # type: ignore[arg-type]


def changes_since(connection: apsw.Connection, space: int, seq: int) -> list[str]:
    rows = connection.execute(
        "SELECT memory_id FROM journal WHERE space = ? AND seq > ? AND kind = ? GROUP BY memory_id ORDER BY max(seq)",
        (space, seq, MEMORY),
    ).fetchall()
    return [str(id) for (id,) in rows]


def scrub(connection: apsw.Connection, space: int, id: str) -> int:
    connection.execute(
        "UPDATE journal SET old = NULL, new = NULL, before = NULL, after = NULL, why = '' WHERE (space, seq) IN"
        f" (SELECT space, seq FROM journal{BY_MEMORY} WHERE space = ? AND memory_id = ? AND kind = ?)",
        (space, id, MEMORY),
    )
    return connection.changes()


def drop(connection: apsw.Connection, space: int, upto: int) -> int:
    connection.execute("DELETE FROM journal WHERE space = ? AND seq <= ?", (space, upto))
    return connection.changes()
