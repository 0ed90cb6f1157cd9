"""Lists as arrays of the server. The driver looks at every item of a list to find its type, which takes longer than all
else that a batch of memories costs on this side; here the type is known."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import chain
from struct import pack
from typing import TYPE_CHECKING, Any

import numpy as np
from psycopg import DataError
from psycopg.adapt import Dumper
from psycopg.pq import Format

if TYPE_CHECKING:
    from nacre.storage.postgres.connection import Connection

TEXT, BIG, DOUBLE, REAL, BOOLEAN, BYTES, VECTOR = (
    "text", "bigint", "double precision", "real", "boolean", "bytea", "halfvec",
)  # fmt: skip
ABSENT = b"\xff\xff\xff\xff"  # the length of an item that is null
TRUTHS = {True: b"\0\0\0\1\1", False: b"\0\0\0\1\0", None: ABSENT}


class Column:
    """The values of one column, for a parameter of an array type."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values


class Texts(Column): ...


class Bigs(Column): ...


class Doubles(Column): ...


class Reals(Column): ...


class Booleans(Column): ...


class ByteStrings(Column): ...


class HalfVectors(Column):
    """Rows of numbers, or their 16-bit floats in bytes, lower byte first; or None."""


COLUMNS: dict[str, type[Column]] = {
    TEXT: Texts, BIG: Bigs, DOUBLE: Doubles, REAL: Reals, BOOLEAN: Booleans, BYTES: ByteStrings, VECTOR: HalfVectors,
}  # fmt: skip


def column(kind: str, values: Sequence[Any]) -> Column:
    return COLUMNS[kind](values)


class TextsDumper(Dumper):
    """Writes them as the server prints an array, which is quicker than a length before each."""

    def dump(self, obj: Texts) -> bytes:
        values = obj.values
        if None in values:
            inner = ",".join("NULL" if value is None else f'"{escaped(value)}"' for value in values)
        else:
            inner = '","'.join(values)
            if "\\" in inner or inner.count('"') > 2 * (len(values) - 1):
                inner = '","'.join(map(escaped, values))
            inner = f'"{inner}"' if values else ""
        if "\0" in inner:
            raise DataError("a text has a character that PostgreSQL cannot store")
        return f"{{{inner}}}".encode()


def escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


class BinaryDumper(Dumper):
    """Of items in the server's own format, each after its length."""

    format = Format.BINARY
    item_type: int

    def dump(self, obj: Column) -> bytes:
        if not len(obj.values):
            return pack("!iiI", 0, 0, self.item_type)
        has_nulls = self.has_nulls(obj.values)
        items = self.with_nulls(obj.values) if has_nulls else self.items(obj.values)
        return pack("!iiIii", 1, has_nulls, self.item_type, len(obj.values), 1) + items

    def has_nulls(self, values: Sequence[Any]) -> bool:
        return None in values

    @abstractmethod
    def items(self, values: Sequence[Any]) -> bytes: ...

    def with_nulls(self, values: Sequence[Any]) -> bytes:
        return b"".join(ABSENT if value is None else self.items([value]) for value in values)


class NumbersDumper(BinaryDumper):
    number: str

    def items(self, values: Sequence[Any]) -> bytes:
        made = np.empty(len(values), np.dtype([("length", ">i4"), ("value", self.number)]))
        made["length"] = np.dtype(self.number).itemsize
        made["value"] = values
        return made.tobytes()


class BooleansDumper(BinaryDumper):
    def items(self, values: Sequence[Any]) -> bytes:
        return b"".join([TRUTHS[value] for value in values])


class ByteStringsDumper(BinaryDumper):
    def items(self, values: Sequence[Any]) -> bytes:
        return b"".join(chain.from_iterable((pack("!i", len(value)), value) for value in values))


class HalfVectorsDumper(BinaryDumper):
    """A vector is its number of dimensions, two bytes that are not used, and its numbers."""

    def has_nulls(self, values: Sequence[Any]) -> bool:
        return any(value is None for value in values)  # a vector compares each of its numbers

    def items(self, values: Sequence[Any]) -> bytes:
        if len(set(map(len, values))) > 1:
            return self.with_nulls(values)
        in_bytes = isinstance(values[0], bytes)
        rows = np.frombuffer(b"".join(values), "<f2").reshape(len(values), -1) if in_bytes else np.asarray(values)
        count, width = rows.shape
        kind = np.dtype([("length", ">i4"), ("dimensions", ">i2"), ("unused", ">i2"), ("row", ">f2", (width,))])
        made = np.zeros(count, kind)
        made["length"], made["dimensions"], made["row"] = kind.itemsize - 4, width, rows
        return made.tobytes()


def register(connection: Connection, vector: int, vectors: int) -> None:
    """With the numbers that this server gives to the type of a vector and to arrays of it."""

    def add(kind: type[Column], base: type[Dumper], array: str | int, **attributes: Any) -> None:
        types = connection.adapters.types
        if isinstance(array, str):
            info = types[array]
            array, attributes["item_type"] = info.array_oid, info.oid
        connection.adapters.register_dumper(kind, type(f"Bound{base.__name__}", (base,), {**attributes, "oid": array}))

    add(Texts, TextsDumper, "text")
    add(Bigs, NumbersDumper, "int8", number=">i8")
    add(Doubles, NumbersDumper, "float8", number=">f8")
    add(Reals, NumbersDumper, "float4", number=">f4")
    add(Booleans, BooleansDumper, "bool")
    add(ByteStrings, ByteStringsDumper, "bytea")
    add(HalfVectors, HalfVectorsDumper, vectors, item_type=vector)
