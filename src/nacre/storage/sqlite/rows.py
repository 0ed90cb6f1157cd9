"""A memory as a row: scalar fields as columns, the rest as one JSON object, side tables for what is searched."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any, TypeAlias

import apsw

from nacre.model import Link, Memory
from nacre.model.filter import SCALAR_FIELDS
from nacre.model.instants import FIRST, LAST
from nacre.model.memory import LISTS

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
    """Raises `DamagedRecord`, and `zlib.error` for a compressed text, where it cannot be read."""
    check_kinds(row)
    given: dict[str, object] = dict(zip(COLUMNS, row, strict=True))
    given["pinned"] = bool(given["pinned"])
    given["text"] = plain_text(given["text"])
    lists = given.pop("lists")
    if lists != "{}":
        unpack_lists(str(lists), given)
    return Memory(**given)  # type: ignore[arg-type]


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


def plain_text(kept: Any) -> Any:
    """A text that is kept compressed is a blob, which no other text ever is."""
    return zlib.decompress(kept).decode() if isinstance(kept, bytes) else kept


def plain_text_if_legible(kept: Any) -> Any:
    """As `plain_text`, for a query over many records: one that cannot be unpacked must not end it."""
    try:
        return plain_text(kept)
    except (zlib.error, UnicodeDecodeError):
        return None


def unpack_lists(packed: str, given: dict[str, object]) -> None:
    try:
        lists = json.loads(packed)
        for name, value in lists.items():
            if name == "links":
                given[name] = tuple(Link.from_dict(link) for link in value)
            elif name in LISTS and all(isinstance(each, str) for each in value):
                given[name] = tuple(value)
            elif name == "metadata" and isinstance(value, dict):
                given[name] = value
            else:
                raise DamagedRecord(f"its field {name} cannot be")
    except DamagedRecord:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DamagedRecord("its lists are not legible") from error
