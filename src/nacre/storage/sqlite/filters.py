"""A Filter in SQL, with exactly the meaning of `Filter.admits`, and the indexes that answer a narrow one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import apsw

from nacre.model import Condition, Filter
from nacre.model.filter import DOTTED, LIST_FIELDS, Scalar, Value, above, check_field
from nacre.storage.sqlite.rows import CONTENT, IDENTITY, SPACE_NAME, SQLValue, only_row

MANY = 100  # values in a statement of its own; more are handed over as one
COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
PLAIN_TEXT = "(CASE typeof(content.text) WHEN 'blob' THEN plain_text(content.text) ELSE content.text END)"
AMONG = "IN (SELECT value FROM json_each(?))"
# A narrow condition leads the search when it admits at most this many: to sort them costs less than to walk past
# all the others in the order asked for.
NARROW = 2_000
MEMORY = " CROSS JOIN memory ON memory.key = version.key"
CONTENTS = " CROSS JOIN content ON content.number = version.content"


@dataclass(frozen=True, slots=True)
class State:
    """One state of a space: the present, or that after a journal entry."""

    space: int
    seq: int | None = None

    def of(self, table: str) -> str:
        """The condition that a row of a table with `seq_from` and `seq_to` belongs to the state."""
        if self.seq is None:
            return f"{table}.seq_to IS NULL"
        seq = int(self.seq)
        return f"({table}.seq_from <= {seq} AND ({table}.seq_to IS NULL OR {table}.seq_to > {seq}))"


@dataclass(slots=True)
class Clause:
    """A condition on `version` and the tables that it needs beside it."""

    parts: list[str] = field(default_factory=list)
    values: list[SQLValue] = field(default_factory=list)
    tables: set[str] = field(default_factory=set)

    @property
    def sql(self) -> str:
        return " AND ".join(self.parts)

    def joined(self, *more: str) -> str:
        """The tables of a query that also reads from `more`."""
        needed = {*self.tables, *more}
        return "version" + (MEMORY if "memory" in needed else "") + (CONTENTS if "content" in needed else "")


BY_CONTENT = f"version.content {AMONG}"  # the first value of the query is a list of contents


def clause(state: State, where: Filter, *, by: str = "") -> Clause:
    """`by` is the condition that the versions are found by; else those of the space are walked in some order."""
    made = Clause([by] if by else [])
    # The plus keeps the planner from the indexes that begin with the space.
    made.parts += [f"{'+' if made.parts else ''}version.space = ?", state.of("version")]
    made.values.append(state.space)
    for condition in where.conditions:
        part, values = said(state, condition, made.tables)
        made.parts.append(part)
        made.values += values
    return made


def narrowed(connection: apsw.Connection, state: State, where: Filter, *, by: str = "") -> Clause:
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
        return clause(state, where, by=by)
    made = clause(state, where, by=f"version.key IN ({best[1]})")
    made.values = [*best[2], *made.values]
    return made


def leading(state: State, condition: Condition) -> tuple[str, list[SQLValue]] | None:
    """A query for the keys that can meet the condition, through an index; None where there is none."""
    name, op, wanted = condition.field, condition.op, several(condition.value)
    if name in LIST_FIELDS and op in ("any", "all", *DOTTED) and wanted:
        return leading_names(state, name, op, wanted)
    if name == "id" and op in ("eq", "in"):
        return f"SELECT key FROM memory WHERE space = ? AND id {AMONG}", [state.space, as_list(wanted)]
    if name in RANGED and op in COMPARISONS and (name != "trust" or is_doubted(op, wanted[0])):
        return (
            f"SELECT key FROM version WHERE space = ? AND {name} {COMPARISONS[op]} ? AND {RANGED[name]}",
            [state.space, wanted[0]],
        )
    if op != "eq" or not isinstance(condition.value, str) or not condition.value:
        return None
    if name in ("type", "status"):
        return f"SELECT key FROM version WHERE space = ? AND {name} = ?", [state.space, condition.value]
    if name in ("session", "superseded_by"):  # indexed where they are set, which a bound value does not say
        return f"SELECT key FROM version WHERE space = ? AND {name} = ? AND {name} <> ''", [state.space, wanted[0]]
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
    table, column = names_of(name)
    part, values = (
        said_dotted(column, op, wanted) if op in DOTTED else said_among(column, wanted[: None if op == "any" else 1])
    )
    field = f" AND {table}.field = ?" if table == "label" else ""
    sql = f"SELECT {table}.key FROM {table} WHERE {table}.space = ?{field} AND {state.of(table)} AND {part}"
    return sql, [state.space, *([name] if field else []), *values]


def names_of(name: str) -> tuple[str, str]:
    """The table of a list's names, and their column in it."""
    if name.startswith("links."):
        return "link", "link.target" if name == "links.to" else "link.rel"
    return "label", "label.name"


def said(state: State, condition: Condition, tables: set[str]) -> tuple[str, list[SQLValue]]:
    check_field(condition.field)  # again, at the last place before it is part of a statement
    if condition.field in LIST_FIELDS:
        return said_of_list(state, condition.field, condition.op, several(condition.value))
    column = column_of(condition.field, tables)
    if condition.op in ("in", "not_in"):
        return said_membership(column, condition.op, several(condition.value))
    if condition.op == "under":
        return said_dotted(column, "under", several(condition.value))
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


INDEXED_TIMES = ("created_at", "updated_at", "occurred_at")


def column_of(name: str, tables: set[str]) -> str:
    if name == "text":
        tables.add("content")
        return PLAIN_TEXT
    if name == "space":
        return SPACE_NAME
    if name in IDENTITY or name in CONTENT:
        table = "memory" if name in IDENTITY else "content"
        tables.add(table)
        return f"+{table}.{name}"
    if not name.startswith("metadata."):
        return f"version.{name}" if name in INDEXED_TIMES else f"+version.{name}"
    path = f"""'$.metadata."{name.removeprefix("metadata.")}"'"""
    plain_kind = f"json_type(version.lists, {path}) NOT IN ('object', 'array')"
    return f"(CASE WHEN {plain_kind} THEN json_extract(version.lists, {path}) END)"


def said_membership(column: str, op: str, wanted: list[SQLValue]) -> tuple[str, list[SQLValue]]:
    part, values = said_among(column, [value for value in wanted if value is not None])
    inside = f"({column} IS NOT NULL AND {part})"
    if None in wanted:
        inside = f"({inside} OR {column} IS NULL)"
    return (inside if op == "in" else f"NOT {inside}"), values


def said_among(column: str, wanted: Sequence[SQLValue]) -> tuple[str, list[SQLValue]]:
    if len(wanted) > MANY:
        return f"{column} {AMONG}", [as_list(wanted)]
    return f"{column} IN ({', '.join('?' for _ in wanted)})", list(wanted)


def said_of_list(state: State, name: str, op: str, wanted: list[SQLValue]) -> tuple[str, list[SQLValue]]:
    table, column = names_of(name)
    # The plus keeps the planner to the index by key: the others would be searched anew for each version.
    rows = f"FROM {table} WHERE {table}.key = version.key AND {state.of(table)}"
    values: list[SQLValue] = []
    if table == "label":
        rows, values = f"{rows} AND +label.field = ?", [name]
    if op == "unset":
        return f"{'NOT ' if wanted[0] else ''}EXISTS (SELECT 1 {rows})", values
    part, more = said_dotted(f"+{column}", op, wanted) if op in DOTTED else said_among(f"+{column}", wanted)
    if op == "all":
        return f"(SELECT count(DISTINCT {column}) {rows} AND {part}) = {len(set(wanted))}", [*values, *more]
    return f"{'NOT ' if op == 'none' else ''}EXISTS (SELECT 1 {rows} AND {part})", [*values, *more]


def said_dotted(column: str, op: str, names: list[SQLValue]) -> tuple[str, list[SQLValue]]:
    """Each of the names and all below it; with "along" also all above it."""
    higher = sorted(map(str, above(names))) if op == "along" else []  # type: ignore[arg-type]
    exact, values = said_among(column, [*names, *higher])
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


def several(value: Value) -> list[SQLValue]:
    return [plain(item) for item in value] if isinstance(value, tuple) else [plain(value)]


def plain(value: Value | Scalar) -> SQLValue:
    return int(value) if isinstance(value, bool) else value  # type: ignore[return-value]


def as_list(values: Sequence[SQLValue]) -> str:
    return json.dumps(list(values))
