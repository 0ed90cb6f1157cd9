"""A memory as a row: scalar fields as columns, the rest as one JSON object, side tables for what is searched."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any, TypeAlias

import apsw

from nacre.model import Link, Memory
from nacre.model.filter import SCALAR_FIELDS
from nacre.model.memory import LISTS

SQLValue: TypeAlias = str | bytes | int | float | None
Row: TypeAlias = Sequence[SQLValue]

COLUMNS = (*SCALAR_FIELDS, "lists")
SELECTED = ", ".join(f"memory.{name}" for name in COLUMNS)
PINNED = SCALAR_FIELDS.index("pinned")


def only_row(connection: apsw.Connection, sql: str, *values: SQLValue) -> tuple[Any, ...]:
    """For a query that always gives a row."""
    row: tuple[Any, ...] = connection.execute(sql, values).fetchall()[0]
    return row


def to_row(memory: Memory) -> list[SQLValue]:
    whole: list[SQLValue] = [getattr(memory, name) for name in SCALAR_FIELDS]
    whole[PINNED] = int(memory.pinned)
    whole.append(pack_lists(memory))
    return whole


def pack_lists(memory: Memory) -> str:
    lists: dict[str, object] = {name: found for name in LISTS if (found := getattr(memory, name))}
    if memory.metadata:
        lists["metadata"] = memory.metadata
    if memory.links:
        lists["links"] = [link.to_dict() for link in memory.links]
    return json.dumps(lists, ensure_ascii=False, separators=(",", ":")) if lists else "{}"


def from_row(row: Row) -> Memory:
    given: dict[str, object] = dict(zip(COLUMNS, row, strict=True))
    given["pinned"] = bool(given["pinned"])
    given["text"] = plain_text(given["text"])
    lists = given.pop("lists")
    if lists != "{}":
        unpack_lists(str(lists), given)
    return Memory(**given)  # type: ignore[arg-type]


def plain_text(kept: Any) -> Any:
    """A text that is kept compressed is a blob, which no other text ever is."""
    return zlib.decompress(kept).decode() if isinstance(kept, bytes) else kept


def unpack_lists(packed: str, given: dict[str, object]) -> None:
    for name, value in json.loads(packed).items():
        if name == "links":
            given[name] = tuple(Link.from_dict(link) for link in value)
        else:
            given[name] = tuple(value) if name in LISTS else value
