"""Says a Filter in SQL, with exactly the meaning of `Filter.admits`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from nacre.model import Condition, Filter
from nacre.model.filter import DOTTED, LIST_FIELDS, Scalar, Value, above, check_field
from nacre.storage.sqlite.compressed import PLAIN_TEXT
from nacre.storage.sqlite.rows import SQLValue

MANY = 500  # a statement takes only so many values of its own
SPARSE = ("session", "superseded_by")  # indexed where they are set, which a bound value does not say
ORDERS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
LISTS = {
    "tags": "SELECT name AS value FROM tag WHERE tag.row = memory.row",
    "contexts": "SELECT name AS value FROM context WHERE context.row = memory.row AND applies = 1",
    "anti_contexts": "SELECT name AS value FROM context WHERE context.row = memory.row AND applies = 0",
    "entities": "SELECT value FROM json_each(memory.lists, '$.entities')",
    "links.to": "SELECT target AS value FROM link WHERE link.row = memory.row",
    "links.rel": "SELECT rel AS value FROM link WHERE link.row = memory.row",
}


def conditions(space: str, where: Filter) -> tuple[str, list[SQLValue]]:
    parts, values = ["memory.space = ?"], [space]
    given: list[SQLValue] = list(values)
    for condition in where.conditions:
        part, more = said(condition)
        parts.append(part)
        given.extend(more)
    return " AND ".join(parts), given


def said(condition: Condition) -> tuple[str, list[SQLValue]]:
    check_field(condition.field)  # again, at the last place before it is part of a statement
    if condition.field in LIST_FIELDS:
        return said_of_list(LISTS[condition.field], condition.op, several(condition.value))
    column = said_field(condition.field)
    if condition.op in ("in", "not_in"):
        return said_membership(column, condition.op, several(condition.value))
    if condition.op == "under":
        return said_under(column, several(condition.value))
    if condition.op == "unset":
        unset = f"({column} IS NULL OR {column} = '')"
        return (unset if condition.value else f"NOT {unset}"), []
    value = plain(condition.value)
    if condition.op == "eq" and condition.field in SPARSE and value:
        return f"({column} IS ? AND {column} <> '')", [value]
    if condition.op in ("eq", "ne"):
        return f"{column} IS {'NOT ' if condition.op == 'ne' else ''}?", [value]
    if condition.op == "contains":
        return f"instr({column}, ?) > 0", [value]
    compared = f"{column} {ORDERS[condition.op.removesuffix('_or_unset')]} ?"
    return (f"({column} IS NULL OR {compared})" if condition.op.endswith("_or_unset") else compared), [value]


def said_field(name: str) -> str:
    if name == "text":
        return PLAIN_TEXT
    if not name.startswith("metadata."):
        return f"memory.{name}"
    path = f"""'$.metadata."{name.removeprefix("metadata.")}"'"""
    plain_kind = f"json_type(memory.lists, {path}) NOT IN ('object', 'array')"
    return f"(CASE WHEN {plain_kind} THEN json_extract(memory.lists, {path}) END)"


def said_membership(column: str, op: str, wanted: list[SQLValue]) -> tuple[str, list[SQLValue]]:
    given = [value for value in wanted if value is not None]
    among, values = ", ".join("?" for _ in given), given
    if len(given) > MANY:
        among, values = "SELECT value FROM json_each(?)", [json.dumps(given)]
    inside = f"({column} IS NOT NULL AND {column} IN ({among}))"
    if None in wanted:
        inside = f"({inside} OR {column} IS NULL)"
    return (inside if op == "in" else f"NOT {inside}"), [*values]


def said_of_list(rows: str, op: str, wanted: list[SQLValue]) -> tuple[str, list[SQLValue]]:
    if op == "unset":
        return f"{'NOT ' if wanted[0] else ''}EXISTS ({rows})", []
    if op in DOTTED:
        higher = [plain(name) for name in sorted(map(str, above(wanted)))] if op == "along" else []  # type: ignore[arg-type]
        among, values = said_under("+value", wanted, higher)
        return f"EXISTS (SELECT 1 FROM ({rows}) WHERE {among})", values
    # The plus keeps a column of text from reading the number 5 as "5".
    among = f"+value IN ({', '.join('?' for _ in wanted)})"
    if op == "all":
        return f"(SELECT count(DISTINCT value) FROM ({rows}) WHERE {among}) = {len(set(wanted))}", wanted
    return f"{'NOT ' if op == 'none' else ''}EXISTS (SELECT 1 FROM ({rows}) WHERE {among})", wanted


def said_under(
    column: str, names: list[SQLValue], exactly: Sequence[SQLValue] = ()
) -> tuple[str, list[SQLValue]]:  # fmt: skip
    parts = ["0", *(f"{column} IS ?" for _ in exactly)]
    values = list(exactly)
    for name in names:
        parts.append(f"{column} IS ?")
        values.append(name)
        if isinstance(name, str):
            parts.append(f"({column} >= ? AND {column} < ?)")
            values += [f"{name}.", f"{name}/"]  # the slash is the sign after the dot
    return f"({' OR '.join(parts)})", values


def several(value: Value) -> list[SQLValue]:
    return [plain(item) for item in value] if isinstance(value, tuple) else [plain(value)]


def plain(value: Value | Scalar) -> SQLValue:
    return int(value) if isinstance(value, bool) else value  # type: ignore[return-value]
