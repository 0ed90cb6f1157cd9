"""A memory as a row: scalar fields as columns, the rest as one JSON object, side tables for what is searched."""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import apsw

from nacre.model import Edge, JournalEntry, JournalFilter, Link, Memory, Operation
from nacre.model.filter import SCALAR_FIELDS
from nacre.model.instants import FIRST, LAST
from nacre.model.memory import LISTS, Json

SQLValue: TypeAlias = str | bytes | int | float | None
Row: TypeAlias = Sequence[SQLValue]

COLUMNS = (*SCALAR_FIELDS, "lists")
SELECTED = ", ".join(f"memory.{name}" for name in COLUMNS)
PINNED = SCALAR_FIELDS.index("pinned")
NUMBER, OPTIONAL_NUMBER = (int, float), (int, float, type(None))
# What a sound record has in each column; a flipped byte in the file may turn one kind of value into another.
KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(COLUMNS, (str,)),
    **dict.fromkeys(
        ("importance", "salience", "confidence", "polarity", "trust", "pinned", "created_at", "updated_at",
         "last_accessed", "access_count"), NUMBER),
    **dict.fromkeys(
        ("valence", "arousal", "position", "occurred_at", "valid_from", "valid_until", "expires_at",
         "last_validated_at", "superseded_at"), OPTIONAL_NUMBER),
    "text": (str, bytes),
}  # fmt: skip
TIMES = tuple(SCALAR_FIELDS.index(name) for name in SCALAR_FIELDS if name.endswith("_at") or name in (
    "valid_from", "valid_until", "last_accessed"))  # fmt: skip
_sound: set[tuple[type, ...]] = set()  # the combinations of kinds that were seen and are right


class DamagedRecord(ValueError):
    """A row that no program of ours wrote so."""


def only_row(connection: apsw.Connection, sql: str, *values: SQLValue) -> tuple[Any, ...]:
    """For a query that always gives a row."""
    row: tuple[Any, ...] = connection.execute(sql, values).fetchall()[0]
    return row


def to_row(memory: Memory) -> list[SQLValue]:
    values: list[SQLValue] = [getattr(memory, name) for name in SCALAR_FIELDS]
    values[PINNED] = int(memory.pinned)
    values.append(pack_lists(memory))
    return values


def pack_lists(memory: Memory) -> str:
    lists: dict[str, object] = {name: value for name in LISTS if (value := getattr(memory, name))}
    if memory.metadata:
        lists["metadata"] = memory.metadata
    if memory.links:
        lists["links"] = [link.to_dict() for link in memory.links]
    return json.dumps(lists, ensure_ascii=False, separators=(",", ":")) if lists else "{}"


def from_row(row: Row) -> Memory:
    """Raises `DamagedRecord`, and `zlib.error` for a compressed text, where it cannot be read."""
    check_kinds(row)
    fields: dict[str, object] = dict(zip(COLUMNS, row, strict=True))
    fields["pinned"] = bool(fields["pinned"])
    fields["text"] = plain_text(fields["text"])
    lists = fields.pop("lists")
    if lists != "{}":
        unpack_lists(str(lists), fields)
    return Memory(**fields)  # type: ignore[arg-type]


def check_kinds(row: Row) -> None:
    kinds = tuple(map(type, row))
    if kinds not in _sound:
        for name, kind in zip(COLUMNS, kinds, strict=True):
            if kind not in KINDS[name]:
                raise DamagedRecord(f"its {name} is not of the right kind")
        _sound.add(kinds)
    for place in TIMES:
        at = row[place]
        if at is not None and not FIRST <= at <= LAST:  # type: ignore[operator]
            raise DamagedRecord(f"its {COLUMNS[place]} is not a time")


def plain_text(stored: Any) -> Any:
    """A compressed text is stored as a blob; no other text is."""
    return zlib.decompress(stored).decode() if isinstance(stored, bytes) else stored


def plain_text_if_legible(stored: Any) -> Any:
    """As `plain_text`, for a query over many records: one that cannot be unpacked must not end it."""
    try:
        return plain_text(stored)
    except (zlib.error, UnicodeDecodeError):
        return None


def unpack_lists(packed: str, fields: dict[str, object]) -> None:
    try:
        lists = json.loads(packed)
        for name, value in lists.items():
            if name == "links":
                fields[name] = tuple(Link.from_dict(link) for link in value)
            elif name in LISTS and all(isinstance(each, str) for each in value):
                fields[name] = tuple(value)
            elif name == "metadata" and isinstance(value, dict):
                fields[name] = value
            else:
                raise DamagedRecord(f"its field {name} cannot be")
    except DamagedRecord:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DamagedRecord("its lists are not legible") from error


LEAST = 512  # bytes; a shorter text has too little in common with itself
WORTH_IT = 0.8  # of its size: what shrinks less stays as it is
PLAIN_TEXT = "(CASE typeof(memory.text) WHEN 'blob' THEN plain_text(memory.text) ELSE memory.text END)"


def register(connection: apsw.Connection) -> None:
    connection.create_scalar_function("plain_text", unpacked, 1, deterministic=True)


def unpacked(*values: Any) -> Any:
    return plain_text_if_legible(*values)


def compress(connection: apsw.Connection, space: str, ids: Sequence[str]) -> int:
    """How many texts now take less space."""
    rows = connection.execute(
        "SELECT row, text FROM memory WHERE space = ? AND id IN (SELECT value FROM json_each(?))"
        " AND typeof(text) = 'text' AND length(text) >= ?",
        (space, json.dumps(list(ids)), LEAST),
    ).fetchall()
    packed = [(zlib.compress(str(text).encode(), 9), row, len(str(text).encode())) for row, text in rows]
    smaller = [(blob, row) for blob, row, size in packed if len(blob) < WORTH_IT * size]
    connection.executemany("UPDATE main.memory SET text = ? WHERE row = ?", smaller)
    return len(smaller)


log = logging.getLogger("nacre.damage")


def words_of(connection: apsw.Connection, kind: str, name: str | None = None) -> dict[str, Mapping[str, Json]]:
    narrowed, values = ("", (kind,)) if name is None else (" AND name = ?", (kind, name))
    # As bytes: a text that is no UTF-8 would make the driver give up on all the rows.
    rows: list[tuple[Any, ...]] = connection.execute(
        f"SELECT CAST(name AS BLOB), CAST(data AS BLOB) FROM vocabulary WHERE kind = ?{narrowed} ORDER BY name", values
    ).fetchall()
    terms: dict[str, Mapping[str, Json]] = {}
    for raw, data in rows:
        try:
            read = json.loads(data) if data else {}
            if not isinstance(read, dict):
                raise ValueError("a term has fields by name")
            terms[raw.decode()] = read
        except (ValueError, AttributeError):
            log.warning("The term %r of the kind %s is damaged and left out. Run `nacre doctor --fix`.", raw, kind)
    return terms


TABLES = ("memory", "vector", "signs", "centre", "removed", "journal")
# A kind of words that is one space's own is called KIND/SPACE; only the first slash is no part of the space's name.
OWN_KIND = "instr(kind, '/') > 0 AND substr(kind, instr(kind, '/') + 1) = :old"
RENAMED_KIND = "substr(kind, 1, instr(kind, '/')) || :new"


def rename(connection: apsw.Connection, old: str, new: str) -> None:
    names = {"old": old, "new": new}
    for table in TABLES:
        connection.execute(f"UPDATE main.{table} SET space = :new WHERE space = :old", names)
    connection.execute("UPDATE OR REPLACE dropped SET space = :new WHERE space = :old", names)
    for table in ("vocabulary", "journal"):
        connection.execute(f"UPDATE OR REPLACE {table} SET kind = {RENAMED_KIND} WHERE {OWN_KIND}", names)
    connection.execute("UPDATE OR REPLACE vocabulary SET name = :new WHERE kind = 'space' AND name = :old", names)
    # Every process reads its vectors again: those in memory are known by the space's name.
    connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'vector_epoch'")


def forget_terms(connection: apsw.Connection, space: str) -> None:
    own = f"({OWN_KIND}) OR (kind = 'space' AND name = :old)"
    connection.execute(f"DELETE FROM vocabulary WHERE {own}", {"old": space})


ENTRY_COLUMNS = "space, memory_id, act, actor, at, batch, why, before, after, kind"
# As bytes: a text that is no UTF-8 would make the driver give up on all the rows.
ENTRY_SELECTED = ", ".join(f"CAST({name} AS BLOB)" if name != "at" else name for name in ENTRY_COLUMNS.split(", "))
INSERT = f"INSERT INTO journal({ENTRY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
CONDITIONS = {
    "memory_id": "memory_id = ?",
    "batch": "batch >= ? AND batch < ?",
    "operation": "act = ?",
    "actor": "actor = ?",
    "since": "at >= ?",
    "until": "at <= ?",
    "after": "seq > ?",
    "upto": "seq <= ?",
}
LAST_CHARACTER = "\U0010ffff"


def append(connection: apsw.Connection, entries: Sequence[JournalEntry]) -> None:
    connection.executemany(INSERT, [entry_to_row(entry) for entry in entries])


def read(
    connection: apsw.Connection, space: str, where: JournalFilter, *, newest_first: bool, limit: int | None
) -> list[JournalEntry]:
    parts = ["space = ?"]
    values: list[SQLValue] = [space]
    for name, part in CONDITIONS.items():
        wanted = getattr(where, name)
        if wanted is not None:
            parts.append(part)
            values += [wanted, wanted + LAST_CHARACTER] if name == "batch" else [wanted]
    rows = connection.execute(
        f"SELECT seq, {ENTRY_SELECTED} FROM journal WHERE {' AND '.join(parts)}"
        f" ORDER BY seq {'DESC' if newest_first else 'ASC'} LIMIT ?",
        (*values, -1 if limit is None else limit),
    ).fetchall()
    return [entry_from_row(row) for row in rows]


def written_by(connection: apsw.Connection, space: str, at: float) -> int:
    row = connection.execute(
        "SELECT seq FROM journal WHERE space = ? AND at <= ? ORDER BY seq DESC LIMIT 1", (space, at)
    ).fetchone()
    return int(row[0]) if row else begins(connection, space)[0]


def last_at(connection: apsw.Connection, space: str) -> float:
    row = connection.execute("SELECT at FROM journal WHERE space = ? ORDER BY seq DESC LIMIT 1", (space,)).fetchone()
    return float(row[0]) if row else begins(connection, space)[1]


def begins(connection: apsw.Connection, space: str) -> tuple[int, float]:
    row = connection.execute("SELECT seq, at FROM dropped WHERE space = ?", (space,)).fetchone()
    return (int(row[0]), float(row[1])) if row else (0, 0.0)


def scrub(connection: apsw.Connection, space: str, id: str) -> int:
    connection.execute(
        "UPDATE journal SET before = NULL, after = NULL, why = ''"
        " WHERE space = ? AND memory_id = ? AND kind = 'memory'",
        (space, id),
    )
    return connection.changes()


def drop(connection: apsw.Connection, space: str, upto: int) -> int:
    connection.execute(
        "INSERT OR REPLACE INTO dropped SELECT space, seq, at FROM journal WHERE space = ? AND seq <= ?"
        " ORDER BY seq DESC LIMIT 1",
        (space, upto),
    )
    connection.execute("DELETE FROM journal WHERE space = ? AND seq <= ?", (space, upto))
    return connection.changes()


def entry_to_row(entry: JournalEntry) -> tuple[SQLValue, ...]:
    done = entry.operation
    images = (as_json(entry.before), as_json(entry.after))
    return entry.space, entry.memory_id, done.name, done.actor, done.at, done.batch, done.why, *images, entry.kind


def as_json(fields: Mapping[str, Json] | None) -> str | None:
    return None if fields is None else json.dumps(dict(fields), ensure_ascii=False, separators=(",", ":"))


def entry_from_row(row: Sequence[SQLValue]) -> JournalEntry:
    seq, space, memory_id, name, actor, at, batch, why, before, after, kind = row
    space, memory_id, name, actor, batch, why, kind = map(legible, (space, memory_id, name, actor, batch, why, kind))
    damaged = not all(isinstance(each, str) for each in (space, memory_id, name, actor, batch, why, kind))
    images: list[Mapping[str, Json] | None] = []
    for image in (before, after):
        try:
            images.append(parsed(image))
        except ValueError:  # one broken row must not hide the others
            damaged = True
    return JournalEntry(
        seq=int(seq),  # type: ignore[arg-type]
        operation=Operation(as_text(name), as_text(actor), number(at), as_text(batch), as_text(why)),
        space=as_text(space),
        memory_id=as_text(memory_id),
        before=None if damaged else images[0],
        after=None if damaged else images[1],
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


EDGE_COLUMNS = "memory.id, link.target, link.rel, link.weight, link.walks"
# CROSS JOIN keeps SQLite from beginning at the other table: the planner cannot know how few ids are asked for.
FROM_SOURCES = "memory CROSS JOIN link ON link.row = memory.row"
FROM_TARGETS = "link CROSS JOIN memory ON memory.row = link.row"
AMONG = "IN (SELECT value FROM json_each(?))"


def edges(
    connection: apsw.Connection,
    space: str,
    out_of: Sequence[str] | None,
    into: Sequence[str] | None,
    rels: Sequence[str] | None,
) -> list[Edge]:
    narrowed = {"memory.id": out_of, "link.target": into, "link.rel": rels}
    values = {column: json.dumps(list(names)) for column, names in narrowed.items() if names is not None}
    begin = FROM_TARGETS if out_of is None and values else FROM_SOURCES
    # The plus keeps every other column from leading than the first: half of all ties may be called the same, and each
    # of a thousand sources would be looked up with each of a thousand targets.
    named = [f"{'+' if place else ''}{column} {AMONG}" for place, column in enumerate(values)]
    wanted = " AND ".join(("memory.space = ?", *named))
    rows: list[tuple[Any, ...]] = connection.execute(
        f"SELECT {EDGE_COLUMNS} FROM {begin} WHERE {wanted} ORDER BY memory.row, link.target, link.rel",
        (space, *values.values()),
    ).fetchall()
    return [Edge(*row) for row in rows]


def walked(connection: apsw.Connection, space: str, edges: Sequence[Edge]) -> None:
    connection.execute(
        "UPDATE link SET walks = walks + 1 WHERE (row, target, rel) IN ("
        " SELECT memory.row, pair.value ->> 1, pair.value ->> 2 FROM json_each(?) AS pair"
        " CROSS JOIN memory ON memory.space = ? AND memory.id = pair.value ->> 0)",
        (json.dumps([edge[:3] for edge in edges]), space),
    )


def put(connection: apsw.Connection, row: int, links: Sequence[Link]) -> None:
    """What stays keeps its count of walks."""
    current = {(link.to, link.rel) for link in links}
    stored = connection.execute("SELECT target, rel FROM link WHERE row = ?", (row,)).fetchall()
    gone: list[tuple[SQLValue, ...]] = [(row, *pair) for pair in stored if pair not in current]
    if gone:
        connection.executemany("DELETE FROM link WHERE row = ? AND target = ? AND rel = ?", gone)
    if links:
        connection.executemany(
            "INSERT INTO link(row, target, rel, weight) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET weight = excluded.weight",
            [(row, link.to, link.rel, link.weight) for link in links],
        )


def replaced_by(connection: apsw.Connection, space: str, id: str) -> list[Memory]:
    rows = connection.execute(
        f"SELECT {SELECTED} FROM memory WHERE space = ? AND superseded_by = ? AND superseded_by <> ''"
        " ORDER BY created_at, row",
        (space, id),
    ).fetchall()
    return [from_row(row) for row in rows]
