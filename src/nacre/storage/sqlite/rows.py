"""The tables in SQL: a memory as rows, a filter as a condition on them, and the index of words.

A memory has its identity and use, its content, and a version row with everything else. A filter means in SQL exactly
what `Filter.admits` means, and a narrow one is answered by an index. The word index has the stems of each content, each
with the number of its space before it.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import apsw

from nacre.model import Condition, Filter, Memory
from nacre.model.filter import DOTTED, LIST_FIELDS, above, check_field
from nacre.model.instants import FIRST, LAST
from nacre.model.memory import FIELDS as MEMORY_FIELDS
from nacre.model.memory import LISTS, NAMES, Json
from nacre.protocols import EmbedderIdentity
from nacre.storage.tables import (
    CONTENT,
    EMBEDDER_KEYS,
    IDENTITY,
    PINNED,
    QUESTION_MARKS,
    RECORD,
    SCALARS,
    WHOLE_NUMBERS,
    DamagedRecord,
    SQLValue,
    distinct_stems,
    pack_lists,
    plain,
    put_lists,
    scalars_of,
    sql_values,
    unpacked_stems,
)

Row: TypeAlias = Sequence[SQLValue]

# The first version of a content has its number; the others have numbers above this: see `version` in schema.sql.
LATER_VERSIONS = 1 << 40

FIELDS = ("space", *RECORD)
USES = slice(FIELDS.index("last_accessed"), FIELDS.index("access_count") + 1)
# Where a memory's fields are among the values of a row with its lists after them.
ROW_PLACES = {name: place for place, name in enumerate((*FIELDS, *LISTS, "metadata", "links"))}
PINNED_AT, TEXT_AT = ROW_PLACES["pinned"], ROW_PLACES["text"]
by_memory_field = itemgetter(*(ROW_PLACES[name] for name in MEMORY_FIELDS))
by_name = itemgetter(*(ROW_PLACES[name] for name in NAMES))
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
Conversions: TypeAlias = tuple[tuple[int, Callable[[Any], Any]], ...]  # of the columns in these places
_sound: dict[tuple[type, ...], Conversions] = {}  # the combinations of kinds that were seen and are right

log = logging.getLogger("nacre.damage")


def fetch(connection: apsw.Connection, sql: str, values: Any = ()) -> list[tuple[Any, ...]]:
    return connection.execute(sql, values).fetchall()


def only_row(connection: apsw.Connection, sql: str, *values: SQLValue) -> tuple[Any, ...]:
    """For a query that always gives a row."""
    return fetch(connection, sql, values)[0]


def version_values(memory: Memory) -> list[SQLValue]:
    """The columns `SCALARS`, `lists` and `uses` of a version."""
    values = list(scalars_of(memory))
    values[PINNED] = int(memory.pinned)
    values += (pack_lists(memory), uses_text(memory.last_accessed, memory.access_count))
    return values


def uses_text(last_accessed: float, access_count: int) -> str:
    """The column `uses` of a version."""
    return f"[{last_accessed!r},{access_count!r}]"


def place_values(role: str, text: str) -> tuple[SQLValue, ...]:
    """The columns `role` and `asks` of a version."""
    return role, int(text.endswith(QUESTION_MARKS))


def content_values(text: str, title: str, role: str) -> list[SQLValue]:
    """The columns `CONTENT` and `characters` of a content."""
    return [text, title, role, len(text)]


def from_row(row: Row) -> Memory:
    """Raises `DamagedRecord`, and `zlib.error` for a compressed text, where it cannot be read."""
    return Memory.from_values(by_memory_field(values_of_row(row)))


class PresentVersion(NamedTuple):
    """A memory as it is now: the number of its space, how many stems it has in all, which ones, and itself."""

    space: int
    length: int
    stems: frozenset[str]
    memory: Memory


def present_versions(connection: apsw.Connection) -> Iterator[PresentVersion]:
    """One by one: they are the whole store. Raises as `from_row` does."""
    selected: Iterable[tuple[Any, ...]] = connection.execute(
        f"SELECT version.space, version.stems, version.length, content.words, {SELECTED} FROM {RECORDS}"
        " WHERE version.seq_to IS NULL"
    )
    for space, stems, length, lines, *record in selected:
        distinct = distinct_stems(*unpacked_stems(lines, 3), *unpacked_stems(stems, 2))
        yield PresentVersion(space, length, distinct, from_row(record))


def values_of_row(row: Row) -> list[object]:
    """The values of the columns `FIELDS`, and then the lists that are packed in the last of them: see `ROW_PLACES`."""
    check_kinds(row)
    values: list[object] = [*row, (), (), (), (), {}, ()]
    values[PINNED_AT] = bool(values[PINNED_AT])
    values[TEXT_AT] = plain_text(values[TEXT_AT])
    put_lists(str(row[-1]), values, ROW_PLACES)
    return values


def record_of_row(row: Row) -> tuple[Any, ...]:
    """The columns `RECORD` of a row, with values as columns that have a type would give them. Raises as `from_row`."""
    values: list[Any] = list(row)
    for place, converted in check_kinds(row):
        values[place] = converted(values[place])
    return tuple(values[1:])  # without the space


def image_values(row: Row) -> tuple[object, ...]:
    """Of the memory that `from_row` would make, without making it: its fields but the version."""
    values: tuple[object, ...] = by_name(values_of_row(row))
    return values


def check_kinds(row: Row) -> Conversions:
    """Returns what makes a record of it. Raises `DamagedRecord`."""
    kinds = tuple(map(type, row))
    if kinds not in _sound:
        for name, kind in zip(FIELDS, kinds, strict=True):
            if kind not in KINDS[name]:
                raise DamagedRecord(f"its {name} is not of the right kind")
        _sound[kinds] = conversions(kinds)
    for place in TIMES:
        at = row[place]
        if at is not None and not FIRST <= at <= LAST:  # type: ignore[operator]
            raise DamagedRecord(f"its {FIELDS[place]} is not a time")
    return _sound[kinds]


def conversions(kinds: Sequence[type]) -> Conversions:
    made: list[tuple[int, Callable[[Any], Any]]] = [(PINNED_AT, bool)]
    for place, (name, kind) in enumerate(zip(FIELDS, kinds, strict=True)):
        if name == "text" and kind is bytes:
            made.append((place, plain_text))
        elif name != "pinned" and kind in NUMBER and kind is not (wanted := int if name in WHOLE_NUMBERS else float):
            made.append((place, wanted))
    return tuple(made)


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
    """Harmless ones: the schema may call them although it is not trusted (`unlock`)."""
    innocuous = apsw.SQLITE_INNOCUOUS
    connection.create_scalar_function("plain_text", plain_text_if_legible, 1, deterministic=True, flags=innocuous)
    connection.create_scalar_function("tokens", tokens_of_line, 3, deterministic=True, flags=innocuous)


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
    and_name, values = ("", (kind,)) if name is None else (" AND name = ?", (kind, name))
    # As bytes: a text that is no UTF-8 would make the driver give up on all the rows.
    rows: list[tuple[Any, ...]] = connection.execute(
        f"SELECT CAST(name AS BLOB), CAST(data AS BLOB) FROM vocabulary WHERE kind = ?{and_name} ORDER BY name", values
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
    first, last = span(space)
    names: dict[str, SQLValue] = {"old": old, "new": new, "first": first, "last": last}
    own = "place BETWEEN :first AND :last"
    connection.execute(f"UPDATE OR REPLACE vocabulary SET kind = {RENAMED_KIND} WHERE {OWN_KIND}", names)
    connection.execute(f"UPDATE journal SET kind = {RENAMED_KIND} WHERE {own} AND {OWN_KIND}", names)
    connection.execute("UPDATE OR REPLACE vocabulary SET name = :new WHERE kind = 'space' AND name = :old", names)
    sql = f"UPDATE journal SET memory_id = :new WHERE {own} AND memory_id = :old AND kind = 'space'"
    connection.execute(sql, names)


def forget_terms(connection: apsw.Connection, space: str) -> None:
    own = f"({OWN_KIND}) OR (kind = 'space' AND name = :old)"
    connection.execute(f"DELETE FROM vocabulary WHERE {own}", {"old": space})


PLACE_BITS = 40  # see `journal` in schema.sql
LAST_SEQ = (1 << PLACE_BITS) - 1


EMBEDDER_VALUES = (
    *(f"(SELECT value FROM meta WHERE key = '{key}')" for key in EMBEDDER_KEYS),
    "EXISTS (SELECT 1 FROM content WHERE pending)",
)


def stored_embedder(connection: apsw.Connection) -> EmbedderIdentity:
    return embedder_identity(*only_row(connection, f"SELECT {', '.join(EMBEDDER_VALUES)}"))


def embedder_identity(
    name: str | None, dimensions: int | None, probe: bytes | None, measured: str | None, waiting: int
) -> EmbedderIdentity:
    return EmbedderIdentity(name or "", dimensions or 0, probe or b"", legible_object(measured), bool(waiting))


def legible_object(text: Any) -> Mapping[str, Json] | None:
    with suppress(ValueError, TypeError):
        value = json.loads(text)
        return value if isinstance(value, dict) else None
    return None


def place(space: int, seq: int) -> int:
    """Of a journal entry."""
    return (space << PLACE_BITS) + seq


def span(space: int, first: int = 0, last: int = LAST_SEQ) -> tuple[int, int]:
    """The first and the last place of some entries of a space."""
    return place(space, min(max(first, 0), LAST_SEQ)), place(space, min(max(last, 0), LAST_SEQ))


# A filter

MANY = 100  # values in a statement of its own; more are handed over as one
COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
PLAIN_TEXT = "(CASE typeof(content.text) WHEN 'blob' THEN plain_text(content.text) ELSE content.text END)"
AMONG = "IN (SELECT value FROM json_each(?))"
# A narrow condition leads the search when it admits at most this many: to sort them costs less than to walk past
# all the others in the order asked for.
NARROW = 2_000
# Looking up one version in so many by its key costs about as much as reading all of them.
WORTH_INTERSECTING = 3
# The version that the partial indexes hold, and by its key the one of the state: see `anchor` in schema.sql.
LED = "main.version AS lead CROSS JOIN version ON version.key = lead.key AND version.anchor = lead.seq_from"
ANCHORED = "anchor = seq_from"
IS_LEAD = "lead.anchor = lead.seq_from"
JOIN_MEMORY = " CROSS JOIN memory ON memory.key = version.key"
JOIN_CONTENT = " CROSS JOIN content ON content.number = version.content"


class State(NamedTuple):
    """One state of a space: the present, or that after a journal entry."""

    space: int
    seq: int | None = None

    def of(self, table: str) -> str:
        """The condition that a row of a table with `seq_from` and `seq_to` belongs to the state."""
        if self.seq is None:
            return f"{table}.seq_to IS NULL"
        seq = int(self.seq)
        return f"({table}.seq_from <= {seq} AND ({table}.seq_to IS NULL OR {table}.seq_to > {seq}))"

    @property
    def of_content(self) -> str:
        """Joins the first version of a content and the one of the state, which mostly are the same row."""
        later = "later.key = first.key AND later.content = first.content"
        return (
            f"main.version AS first CROSS JOIN version ON version.row = CASE WHEN {self.of('first')} THEN first.row"
            f" ELSE (SELECT later.row FROM main.version AS later WHERE {later} AND {self.of('later')}) END"
        )


@dataclass(slots=True)
class Clause:
    """A condition on `version` and the tables that it needs beside it; `base` is the one that is looked up first.
    `narrow` says that an index leads to all it can admit, and that these are few."""

    state: State
    parts: list[str] = field(default_factory=list)
    values: list[SQLValue] = field(default_factory=list)
    tables: set[str] = field(default_factory=set)
    base: str = "version"
    narrow: bool = False

    @property
    def sql(self) -> str:
        return " AND ".join(self.parts)

    def joined(self, *more: str) -> str:
        """The tables of a query that also reads from `more`."""
        needed = {*self.tables, *more}
        listed = "json_each(?) AS wanted CROSS JOIN " if WANTED in self.parts else ""
        first = listed + {"lead": LED, "first": self.state.of_content}.get(self.base, "version")
        return first + (JOIN_MEMORY if "memory" in needed else "") + (JOIN_CONTENT if "content" in needed else "")


# The versions of a list of contents, which is the first value of the query.
WANTED = "first.row = wanted.value"


def clause(state: State, where: Filter, *, by: str = "", by_anchor: bool = False) -> Clause:
    """`by` is the condition that the versions are found by; else those of the space are walked in some order: that of a
    partial index where `by_anchor`, or a time of such an index is asked for."""
    timed = not by and any(condition.field in LEADING_TIMES for condition in where.conditions)
    base = "first" if by.startswith("first.") else "lead" if by_anchor or timed or by.startswith("lead.") else "version"
    made = Clause(state, [by] if by else [], base=base)
    # The plus keeps the planner from the indexes that begin with the space.
    made.parts += ["+version.space = ?" if by else f"{base}.space = ?", state.of("version")]
    made.values.append(state.space)
    if made.base == "lead":
        made.parts.append(IS_LEAD)
    for condition in where.conditions:
        part, values = condition_sql(state, condition, made)
        made.parts.append(part)
        made.values += values
    return made


def narrowed(
    connection: apsw.Connection, state: State, where: Filter, *, by: str = "", by_anchor: bool = False
) -> Clause:
    """As `clause`, but by the narrowest condition that an index answers, where that is worth it."""
    best: tuple[int, str, list[SQLValue]] | None = None
    for condition in where.conditions:
        lead = leading(state, condition)
        if lead is not None:
            sql, values = lead
            limit = NARROW + 1 if best is None else best[0]
            count = int(only_row(connection, f"SELECT count(*) FROM ({sql} LIMIT {limit})", *values)[0])
            if count < limit:
                best = (count, sql, values)
    if best is None:
        return clause(state, where, by=by, by_anchor=by_anchor)
    made = clause(state, where, by=f"version.key IN ({best[1]})")
    made.values = [*best[2], *made.values]
    made.narrow = True
    return made


def intersected(connection: apsw.Connection, state: State, where: Filter, size: int) -> Clause:
    """As `clause`, for all that a filter admits in a space of this size, in any order: each condition that an index
    answers and that admits a part of them narrows what is looked up."""
    parts: list[tuple[int, str, list[SQLValue]]] = []
    limit = size // WORTH_INTERSECTING + 1
    for sql, values in filter(None, (leading(state, condition) for condition in where.conditions)):
        count = int(only_row(connection, f"SELECT count(*) FROM ({sql} LIMIT {limit})", *values)[0])
        if count < limit:
            parts.append((count, sql, values))
    if not parts:
        return clause(state, where)
    parts.sort(key=lambda part: part[0])
    made = clause(state, where, by=f"version.key IN ({' INTERSECT '.join(sql for _, sql, _ in parts)})")
    made.values = [*(value for *_, values in parts for value in values), *made.values]
    return made


def leading(state: State, condition: Condition) -> tuple[str, list[SQLValue]] | None:
    """A query for the keys that can meet the condition, through an index; None where there is none."""
    name, op, wanted = condition.field, condition.op, sql_values(condition.value)
    if name in LIST_FIELDS and op in ("any", "all", *DOTTED) and wanted:
        return leading_names(state, name, op, wanted)
    if name == "id" and op in ("eq", "in"):
        return f"SELECT key FROM memory WHERE space = ? AND id {AMONG}", [state.space, as_list(wanted)]
    if name in RANGED and op in COMPARISONS and (name != "trust" or is_doubted(op, wanted[0])):
        return (
            f"SELECT key FROM version WHERE space = ? AND {name} {COMPARISONS[op]} ? AND {RANGED[name]} AND {ANCHORED}",
            [state.space, wanted[0]],
        )
    if name in ("type", "status") and op in ("eq", "in") and all(isinstance(each, str) and each for each in wanted):
        part, values = among_sql(name, wanted)
        return f"SELECT key FROM version WHERE space = ? AND {part} AND {ANCHORED}", [state.space, *values]
    if op != "eq" or not isinstance(condition.value, str) or not condition.value:
        return None
    if name in ("session", "superseded_by"):  # indexed where they are set, which a bound value does not say
        sql = f"SELECT key FROM version WHERE space = ? AND {name} = ? AND {name} <> '' AND {ANCHORED}"
        return sql, [state.space, wanted[0]]
    return None


def is_doubted(op: str, value: SQLValue) -> bool:
    """Whether the condition admits only memories whose trust is below 1: the index has no others."""
    return isinstance(value, int | float) and ((op == "lt" and value <= 1) or (op == "le" and value < 1))


# Fields whose ranges an index answers, with the condition of that index.
RANGED = {
    "importance": "1", "confidence": "1", "trust": "trust < 1", "occurred_at": "occurred_at IS NOT NULL",
    "last_validated_at": "last_validated_at IS NOT NULL", "expires_at": "expires_at IS NOT NULL",
}  # fmt: skip


def leading_names(state: State, name: str, op: str, wanted: list[SQLValue]) -> tuple[str, list[SQLValue]]:
    table, column = table_of_list(name)
    part, values = (
        dotted_sql(column, op, wanted) if op in DOTTED else among_sql(column, wanted[: None if op == "any" else 1])
    )
    field = f" AND {table}.field = ?" if table == "label" else ""
    sql = f"SELECT {table}.key FROM {table} WHERE {table}.space = ?{field} AND {state.of(table)} AND {part}"
    return sql, [state.space, *([name] if field else []), *values]


def table_of_list(name: str) -> tuple[str, str]:
    """The table of a list's names, and their column in it."""
    if name.startswith("links."):
        return "link", "link.target" if name == "links.to" else "link.rel"
    return "label", "label.name"


def condition_sql(state: State, condition: Condition, made: Clause) -> tuple[str, list[SQLValue]]:
    check_field(condition.field)  # again, at the last place before it is part of a statement
    if condition.field in LIST_FIELDS:
        return list_condition_sql(state, condition.field, condition.op, sql_values(condition.value))
    column = column_of(condition.field, made)
    if condition.op in ("in", "not_in"):
        return membership_sql(column, condition.op, sql_values(condition.value))
    if condition.op == "under":
        return dotted_sql(column, "under", sql_values(condition.value))
    if condition.op == "unset":
        unset = f"({column} IS NULL OR {column} = '')"
        return (unset if condition.value else f"NOT {unset}"), []
    value = plain(condition.value)
    if condition.op in ("eq", "ne"):
        return f"{column} IS {'NOT ' if condition.op == 'ne' else ''}?", [value]
    if condition.op == "contains":
        return f"instr({column}, ?) > 0", [value]
    compared = f"{column} {COMPARISONS[condition.op.removesuffix('_or_unset')]} ?"
    return (f"({column} IS NULL OR {compared})" if condition.op.endswith("_or_unset") else compared), [value]


LEADING_TIMES = ("created_at", "occurred_at")


def column_of(name: str, made: Clause) -> str:
    if name == "text":
        made.tables.add("content")
        return PLAIN_TEXT
    if name == "space":
        return SPACE_NAME
    if name in IDENTITY or name in CONTENT:
        table = "memory" if name in IDENTITY else "content"
        made.tables.add(table)
        return f"+{table}.{name}"
    if not name.startswith("metadata."):
        indexed = {"lead": LEADING_TIMES, "version": ("updated_at",)}.get(made.base, ())
        return f"{made.base}.{name}" if name in indexed else f"+version.{name}"
    path = f"""'$.metadata."{name.removeprefix("metadata.")}"'"""
    plain_kind = f"json_type(version.lists, {path}) NOT IN ('object', 'array')"
    return f"(CASE WHEN {plain_kind} THEN json_extract(version.lists, {path}) END)"


def membership_sql(column: str, op: str, wanted: list[SQLValue]) -> tuple[str, list[SQLValue]]:
    part, values = among_sql(column, [value for value in wanted if value is not None])
    inside = f"({column} IS NOT NULL AND {part})"
    if None in wanted:
        inside = f"({inside} OR {column} IS NULL)"
    return (inside if op == "in" else f"NOT {inside}"), values


def among_sql(column: str, wanted: Sequence[SQLValue]) -> tuple[str, list[SQLValue]]:
    if len(wanted) > MANY:
        return f"{column} {AMONG}", [as_list(wanted)]
    return f"{column} IN ({', '.join('?' for _ in wanted)})", list(wanted)


def list_condition_sql(state: State, name: str, op: str, wanted: list[SQLValue]) -> tuple[str, list[SQLValue]]:
    table, column = table_of_list(name)
    # The plus keeps the planner to the index by key: the others would be searched anew for each version.
    rows, column = f"FROM link WHERE link.key = version.key AND {state.of('link')}", f"+{column}"
    if table == "label":
        rows, column = f"FROM {listed(name)} WHERE 1", "listed.value"
    if op == "unset":
        return f"{'NOT ' if wanted[0] else ''}EXISTS (SELECT 1 {rows})", []
    part, values = dotted_sql(column, op, wanted) if op in DOTTED else among_sql(column, wanted)
    if op == "all":
        return f"(SELECT count(DISTINCT {column}) {rows} AND {part}) = {len(set(wanted))}", values
    return f"{'NOT ' if op == 'none' else ''}EXISTS (SELECT 1 {rows} AND {part})", values


def listed(name: str) -> str:
    """A table of the names in a list of a version."""
    return f"json_each(version.lists, '$.{name}') AS listed"


def dotted_sql(column: str, op: str, names: list[SQLValue]) -> tuple[str, list[SQLValue]]:
    """Each of the names and all below it; with "along" also all above it."""
    higher = sorted(map(str, above(names))) if op == "along" else []  # type: ignore[arg-type]
    exact, values = among_sql(column, [*names, *higher])
    if len(names) > MANY:
        below = (
            f"EXISTS (SELECT 1 FROM json_each(?) AS wanted WHERE {column} >= wanted.value || '.'"
            f" AND {column} < wanted.value || '/')"
        )
        return f"({exact} OR {below})", [*values, as_list(names)]
    parts = [exact]
    for name in names:
        parts.append(f"({column} >= ? AND {column} < ?)")
        values += [f"{name!s}.", f"{name!s}/"]  # the slash is the sign after the dot
    return f"({' OR '.join(parts)})", values


def as_list(values: Sequence[SQLValue]) -> str:
    return json.dumps(list(values))


# The word index


def tokens_of_line(*arguments: Any) -> str:
    """As a function in SQL: of a space, the `words` of a content, and the number of a line in these."""
    space, words, line = arguments
    lines = str(words).split("\n", line + 1) if words else ()
    return tokens(space, lines[line]) if len(lines) > line else ""


def tokens(space: int, stems: str) -> str:
    marked = f" {space}_".join(stems.split()) if stems else ""
    return f"{space}_{marked}" if marked else ""


def phrase(space: int, term: str) -> str:
    """A term as a query of the index; whatever is in it is a word, never an operator."""
    return '"' + tokens(space, term).replace('"', '""') + '"'
