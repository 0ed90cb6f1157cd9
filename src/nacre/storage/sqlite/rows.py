"""A memory as rows: its identity and use, its content, and a version row with everything else."""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import apsw

from nacre.model import Link, Memory
from nacre.model.filter import SCALAR_FIELDS
from nacre.model.instants import FIRST, LAST
from nacre.model.memory import LISTS, Json
from nacre.protocols import EmbedderIdentity

SQLValue: TypeAlias = str | bytes | int | float | None
Row: TypeAlias = Sequence[SQLValue]

IDENTITY = ("id", "last_accessed", "access_count")  # columns of `memory`
CONTENT = ("text", "title", "role")
SCALARS = tuple(name for name in SCALAR_FIELDS if name not in (*IDENTITY, *CONTENT, "space"))  # columns of `version`
FIELDS = ("space", *IDENTITY, *CONTENT, *SCALARS, "version", "lists")
SPACE_NAME = "(SELECT name FROM space WHERE space.number = version.space)"
SELECTED = ", ".join((
    SPACE_NAME,
    *(f"memory.{name}" for name in IDENTITY),
    *(f"content.{name}" for name in CONTENT),
    *(f"version.{name}" for name in SCALARS),
    "version.version", "version.lists",
))  # fmt: skip
# CROSS JOIN is SQLite's word for "in this order": the planner cannot know how few versions are meant.
RECORDS = "version CROSS JOIN memory ON memory.key = version.key CROSS JOIN content ON content.number = version.content"
NUMBER, OPTIONAL_NUMBER = (int, float), (int, float, type(None))
# What a sound record has in each column; a flipped byte in the file may turn one kind of value into another.
KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(FIELDS, (str,)),
    **dict.fromkeys(
        ("importance", "salience", "confidence", "polarity", "trust", "pinned", "created_at", "updated_at",
         "last_accessed", "access_count", "version"), NUMBER),
    **dict.fromkeys(
        ("valence", "arousal", "position", "occurred_at", "valid_from", "valid_until", "expires_at",
         "last_validated_at", "superseded_at"), OPTIONAL_NUMBER),
    "text": (str, bytes),
}  # fmt: skip
TIMES = tuple(FIELDS.index(name) for name in FIELDS if name.endswith("_at") or name in (
    "valid_from", "valid_until", "last_accessed"))  # fmt: skip
QUESTION_MARKS = ("?", "？")
_sound: set[tuple[type, ...]] = set()  # the combinations of kinds that were seen and are right

log = logging.getLogger("nacre.damage")


class DamagedRecord(ValueError):
    """A row that no program of ours wrote so."""


def fetch(connection: apsw.Connection, sql: str, values: Any = ()) -> list[tuple[Any, ...]]:
    return connection.execute(sql, values).fetchall()


def only_row(connection: apsw.Connection, sql: str, *values: SQLValue) -> tuple[Any, ...]:
    """For a query that always gives a row."""
    return fetch(connection, sql, values)[0]


def version_values(memory: Memory) -> list[SQLValue]:
    """The columns `SCALARS`, `lists` and `uses` of a version."""
    scalars = [int(memory.pinned) if name == "pinned" else getattr(memory, name) for name in SCALARS]
    return [*scalars, pack_lists(memory), as_json([memory.last_accessed, memory.access_count])]


def content_values(memory: Memory) -> list[SQLValue]:
    """The columns `CONTENT`, `characters` and `asks` of a content."""
    return [memory.text, memory.title, memory.role, len(memory.text), int(memory.text.endswith(QUESTION_MARKS))]


def pack_lists(memory: Memory) -> str:
    lists: dict[str, object] = {name: value for name in LISTS if (value := getattr(memory, name))}
    if memory.metadata:
        lists["metadata"] = memory.metadata
    if memory.links:
        lists["links"] = [link.to_dict() for link in memory.links]
    return as_json(lists) if lists else "{}"


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def from_row(row: Row) -> Memory:
    """Raises `DamagedRecord`, and `zlib.error` for a compressed text, where it cannot be read."""
    check_kinds(row)
    fields: dict[str, object] = dict(zip(FIELDS, row, strict=True))
    fields["pinned"] = bool(fields["pinned"])
    fields["text"] = plain_text(fields["text"])
    lists = fields.pop("lists")
    if lists != "{}":
        unpack_lists(str(lists), fields)
    return Memory(**fields)  # type: ignore[arg-type]


def check_kinds(row: Row) -> None:
    kinds = tuple(map(type, row))
    if kinds not in _sound:
        for name, kind in zip(FIELDS, kinds, strict=True):
            if kind not in KINDS[name]:
                raise DamagedRecord(f"its {name} is not of the right kind")
        _sound.add(kinds)
    for place in TIMES:
        at = row[place]
        if at is not None and not FIRST <= at <= LAST:  # type: ignore[operator]
            raise DamagedRecord(f"its {FIELDS[place]} is not a time")


def check_columns(names: Sequence[str], rows: Sequence[Row]) -> None:
    """As `check_kinds`, for rows of some columns."""
    for name, column in zip(names, zip(*rows, strict=True), strict=False):
        if not {type(value) for value in column} <= set(KINDS[name]):
            raise DamagedRecord(f"its {name} is not of the right kind")
        known = [value for value in column if value is not None] if FIELDS.index(name) in TIMES else []
        if known and not (min(known) >= FIRST and max(known) <= LAST):
            raise DamagedRecord(f"its {name} is not a time")


def plain_text(stored: Any) -> Any:
    """A compressed text is stored as a blob; no other text is."""
    return zlib.decompress(stored).decode() if isinstance(stored, bytes) else stored


def plain_text_if_legible(*stored: Any) -> Any:
    """As `plain_text`, for a query over many records: one that cannot be unpacked must not end it."""
    try:
        return plain_text(*stored)
    except (zlib.error, UnicodeDecodeError):
        return None


def register(connection: apsw.Connection) -> None:
    connection.create_scalar_function("plain_text", plain_text_if_legible, 1, deterministic=True)


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


def compress(connection: apsw.Connection, space: int, ids: Sequence[str]) -> int:
    """How many texts now take less space."""
    rows = connection.execute(
        "SELECT content.number, content.text FROM memory CROSS JOIN version ON version.key = memory.key"
        " AND version.seq_to IS NULL CROSS JOIN content ON content.number = version.content"
        " WHERE memory.space = ? AND memory.gone = 0 AND memory.id IN (SELECT value FROM json_each(?))"
        " AND typeof(content.text) = 'text' AND length(content.text) >= ?",
        (space, json.dumps(list(ids)), LEAST),
    ).fetchall()
    packed = [(zlib.compress(str(text).encode(), 9), row, len(str(text).encode())) for row, text in rows]
    smaller = [(blob, row) for blob, row, size in packed if len(blob) < WORTH_IT * size]
    connection.executemany("UPDATE content SET text = ? WHERE number = ?", smaller)
    return len(smaller)


def vocabulary(connection: apsw.Connection, kind: str, name: str | None = None) -> dict[str, Mapping[str, Json]]:
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


# A kind of terms that is one space's own is called KIND/SPACE; only the first slash is no part of the space's name.
OWN_KIND = "instr(kind, '/') > 0 AND substr(kind, instr(kind, '/') + 1) = :old"
RENAMED_KIND = "substr(kind, 1, instr(kind, '/')) || :new"


def rename_terms(connection: apsw.Connection, old: str, new: str, space: int) -> None:
    names: dict[str, SQLValue] = {"old": old, "new": new, "space": space}
    connection.execute(f"UPDATE OR REPLACE vocabulary SET kind = {RENAMED_KIND} WHERE {OWN_KIND}", names)
    connection.execute(f"UPDATE journal SET kind = {RENAMED_KIND} WHERE space = :space AND {OWN_KIND}", names)
    connection.execute("UPDATE OR REPLACE vocabulary SET name = :new WHERE kind = 'space' AND name = :old", names)


def forget_terms(connection: apsw.Connection, space: str) -> None:
    own = f"({OWN_KIND}) OR (kind = 'space' AND name = :old)"
    connection.execute(f"DELETE FROM vocabulary WHERE {own}", {"old": space})


EMBEDDER_KEYS = ("embedder", "dimensions", "probe")  # of the table `meta`


def stored_embedder(connection: apsw.Connection) -> EmbedderIdentity:
    rows = connection.execute(f"SELECT key, value FROM meta WHERE key IN {EMBEDDER_KEYS}").fetchall()
    known: dict[str, Any] = {str(key): value for key, value in rows}
    name, dimensions, probe = (known.get(key) for key in EMBEDDER_KEYS)
    return EmbedderIdentity(name or "", dimensions or 0, probe or b"")
