"""The tables in SQL: a memory as rows, and a filter as a condition on them that means what `Filter.admits` means."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nacre.model import Condition, Filter
from nacre.model.filter import DOTTED, LIST_FIELDS, TEXT_FIELDS, Scalar, above, check_field
from nacre.storage.tables import RECORD, from_json, table_of

OPEN = 2**63 - 1  # `seq_to` of what is at present
NOW = 2**62  # the entry that stands for the present state: above all that are written, below `OPEN`
NOWHERE = 0  # the number of a space that does not exist
NEVER_STORED = f"\ufdd0{os.urandom(16).hex()}"  # in place of what cannot be asked for; nobody can know it to store it
SELECTED = ", ".join(f"{table_of(name)}.{name}" for name in RECORD)
JOIN_MEMORY = " JOIN memory ON memory.space_id = version.space_id AND memory.key = version.key"
JOIN_CONTENT = " JOIN content ON content.space_id = version.space_id AND content.number = version.content"
BY_ID = f"memory JOIN version ON version.space_id = memory.space_id AND version.key = memory.key{JOIN_CONTENT}"
RECORDS = f"version{JOIN_MEMORY}{JOIN_CONTENT}"
NUMBERS_BY_KIND = ("polarity", "position", "access_count")  # whole numbers: compared exactly
COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def of_state(table: str) -> str:
    """The condition that a row of a table with `seq_from` and `seq_to` belongs to the space and state asked about."""
    return f"{table}.space_id = %(space)s AND {table}.seq_from <= %(seq)s AND {table}.seq_to > %(seq)s"


@dataclass(slots=True)
class Clause:
    """A condition on `version`, the values of its parameters, and the tables that it needs beside it."""

    space: str  # its name
    parts: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)  # of it, what asks other tables
    values: dict[str, Any] = field(default_factory=dict)
    tables: set[str] = field(default_factory=set)
    prefix: str = "p"  # of the names of parameters, where a statement has several clauses

    @property
    def sql(self) -> str:
        return " AND ".join(self.parts)

    def joined(self, *more: str, on: str = "") -> str:
        """The tables of a query that also reads from `more`; `on` says how they are joined to one that comes before.

        Tables are joined in the order in which they are written (`join_collapse_limit`): the planner cannot know
        how few rows are meant before the tables were analysed. What asks other tables is decided first.
        """
        needed = {*self.tables, *more}
        first = "version"
        if self.lists:
            first = (
                f"(SELECT * FROM version WHERE version.space_id = %(space)s AND {' AND '.join(self.lists)}) AS version"
            )
        joins = (JOIN_MEMORY if "memory" in needed else "") + (JOIN_CONTENT if "content" in needed else "")
        return f"{first}{f' ON {on}' if on else ''}{joins}"

    def bind(self, value: object, kind: str) -> str:
        """A parameter of the statement with this value, which any session may be asked with."""
        name = f"{self.prefix}{len(self.values)}"
        self.values |= askable({name: value})
        return f"%({name})s::{kind}"


def askable(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a question, with `NEVER_STORED` in place of strings that the server cannot read and nothing stored
    can have: those with a NUL or with half of a surrogate pair."""
    return {
        name: [askable_string(each) for each in value] if isinstance(value, list) else askable_string(value)
        for name, value in values.items()
    }


def askable_string(value: Any) -> Any:
    if not isinstance(value, str) or (value.isascii() and "\0" not in value):
        return value
    return value if "\0" not in value and value == value.encode(errors="ignore").decode() else NEVER_STORED


def clause(space: str, where: Filter, prefix: str = "p") -> Clause:
    """The values `space` (its number) and `seq` are given with the query."""
    made = Clause(space, [of_state("version")], prefix=prefix)
    for condition in where.conditions:
        (made.lists if condition.field in LIST_FIELDS else made.parts).append(condition_sql(condition, made))
    return made


def condition_sql(condition: Condition, made: Clause) -> str:
    name, op = condition.field, condition.op
    check_field(name)  # again, at the last place before it is part of a statement
    wanted = condition.value if isinstance(condition.value, tuple) else (condition.value,)
    if name in LIST_FIELDS:
        return list_condition_sql(name, op, wanted, made)
    if name.startswith("metadata."):
        return metadata_condition_sql(name, op, wanted, made)
    column = column_of(name, made)
    if op == "unset":
        unset = f"{column} = ''" if name in TEXT_FIELDS else f"{column} IS NULL"
        return unset if condition.value else f"NOT ({unset})"
    if op in ("eq", "in", "ne", "not_in"):
        return negated_if(op in ("ne", "not_in"), membership_sql(name, column, wanted, made))
    if op == "under":
        return dotted_sql(column, op, wanted, made)
    if op == "contains":
        return f"strpos({column}, {made.bind(wanted[0], 'text')}) > 0"
    value = made.bind(wanted[0], "text") if name in TEXT_FIELDS else number(name, wanted[0], made)
    compared = f"{comparable(name, column)} {COMPARISONS[op.removesuffix('_or_unset')]} {value}"
    return f"({column} IS NULL OR {compared})" if op.endswith("_or_unset") else compared


def column_of(name: str, made: Clause) -> str:
    if name == "space":
        return made.bind(made.space, "text")
    table = table_of(name)
    made.tables.add(table)
    return f"{table}.{name}"


def membership_sql(name: str, column: str, wanted: Sequence[Scalar], made: Clause) -> str:
    """Whether the column has one of the values. Those of another kind equal no value of it, as in Python."""
    parts = [f"{column} IS NULL"] if None in wanted else []
    if name in TEXT_FIELDS:
        texts = [value for value in wanted if isinstance(value, str)]
        parts += [f"{column} = ANY({made.bind(texts, 'text[]')})"] if len(texts) > 1 else []
        parts += [f"{column} = {made.bind(texts[0], 'text')}"] if len(texts) == 1 else []
    else:
        numbers = [value for value in wanted if isinstance(value, int | float)]
        parts += [f"{comparable(name, column)} = {number(name, value, made)}" for value in numbers]
    return f"({' OR '.join(parts)})" if parts else "false"


def comparable(name: str, column: str) -> str:
    if name == "pinned":
        return f"{column}::int::double precision"
    return f"{column}::numeric" if name in NUMBERS_BY_KIND else column


def number(name: str, value: object, made: Clause) -> str:
    if name in NUMBERS_BY_KIND:
        return made.bind(exact(value), "numeric")
    return made.bind(float(value), "double precision")  # type: ignore[arg-type]


def exact(value: object) -> str:
    """A number for the server as Python has it: neither 5 nor 5.0 is rounded."""
    return repr(int(value) if isinstance(value, bool) else value)


def negated_if(negated: bool, condition: str) -> str:
    return f"NOT coalesce({condition}, false)" if negated else condition


def metadata_condition_sql(name: str, op: str, wanted: Sequence[Scalar], made: Clause) -> str:
    """Texts and numbers are compared with their like alone; true is 1, and what is neither is unset."""
    value = f"(version.lists::json #> '{{metadata,{name.removeprefix('metadata.')}}}')"
    as_text = f"(CASE json_typeof({value}) WHEN 'string' THEN {value} #>> '{{}}' END)"
    as_number = (
        f"(CASE json_typeof({value}) WHEN 'number' THEN ({value} #>> '{{}}')::numeric"
        f" WHEN 'boolean' THEN ({value} #>> '{{}}')::boolean::int END)"
    )
    none = f"({as_text} IS NULL AND {as_number} IS NULL)"
    if op == "unset":
        unset = f"({none} OR coalesce({as_text} = '', false))"
        return unset if wanted[0] else f"NOT {unset}"
    parts = [none] if None in wanted else []
    for each in wanted:
        if isinstance(each, str):
            parts.append(f'{as_text} COLLATE "C" = {made.bind(each, "text")}')
        elif each is not None:
            parts.append(f"{as_number} = {made.bind(exact(each), 'numeric')}")
    return negated_if(op in ("ne", "not_in"), f"({' OR '.join(parts)})" if parts else "false")


def list_condition_sql(name: str, op: str, wanted: Sequence[Scalar], made: Clause) -> str:
    table, column = (
        ("link", "target" if name == "links.to" else "rel") if name.startswith("links.") else ("label", "name")
    )
    column = f"{table}.{column}"
    rows = f"FROM {table} WHERE {of_state(table)}" + (f" AND label.field = '{name}'" if table == "label" else "")
    texts = [value for value in dict.fromkeys(wanted) if isinstance(value, str)]
    if op == "unset":
        return f"version.key {'NOT ' if wanted[0] else ''}IN (SELECT {table}.key {rows})"
    if op == "all":
        if len(texts) < len(set(wanted)):
            return "false"  # no list holds a number
        each = (f"version.key IN (SELECT {table}.key {rows} AND {column} = {made.bind(t, 'text')})" for t in texts)
        return " AND ".join(each) or "true"
    part = dotted_sql(column, op, texts, made) if op in DOTTED else f"{column} = ANY({made.bind(texts, 'text[]')})"
    return f"version.key {'NOT ' if op == 'none' else ''}IN (SELECT {table}.key {rows} AND {part})"


def dotted_sql(column: str, op: str, names: Sequence[Scalar], made: Clause) -> str:
    """Each of the names and all below it; with "along" also all above it."""
    texts = [name for name in names if isinstance(name, str)]
    higher = sorted(map(str, above(texts))) if op == "along" else []
    parts = [f"{column} = ANY({made.bind([*texts, *higher], 'text[]')})"]
    parts += [  # the slash is the sign after the dot
        f"({column} >= {made.bind(f'{name}.', 'text')} AND {column} < {made.bind(f'{name}/', 'text')})"
        for name in texts
    ]
    return f"({' OR '.join(parts)})"


def parsed(text: str | None) -> Any:
    return None if text is None else from_json(text)
