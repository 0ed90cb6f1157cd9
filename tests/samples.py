"""Memories and what is derived from them, in as few words as a test can bear."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from typing import Any, cast

import apsw
import numpy as np

from nacre.model import Filter, JournalEntry, Memory, Operation
from nacre.model.memory import images
from nacre.protocols import ALL, Backend, Chunk, Derived, Order, Reader, Vectors, Words
from nacre.storage.commit import Transaction, TransactionalBackend
from nacre.storage.sqlite.rows import only_row
from nacre.storage.sqlite.search import STAND, Mirror, Stand, VectorIndex

DIMENSIONS = 8
SPACE = "here"


def memory(id: str = "m1", text: str = "", **fields: Any) -> Memory:
    return Memory(id=id, text=text or f"text of {id}", space=fields.pop("space", SPACE), **fields)


def unit(*numbers: float) -> Vectors:
    row = np.zeros(DIMENSIONS, np.float32)
    row[: len(numbers)] = numbers
    return row / np.float32(np.linalg.norm(row))


def vectors_now(mirror: Mirror, file: apsw.Connection, dimensions: int) -> VectorIndex:
    """What a search beginning now sees of the space."""
    stand = Stand(*only_row(file, f"SELECT {STAND.format('?1')}", mirror.space))
    return mirror.current(file, stand, dimensions)


def derived(text: str = "", *rows: Vectors, tags: str = "", title: str = "") -> Derived:
    """Words as given; one chunk a vector, ten characters each."""
    chunks = tuple(Chunk(10 * i, 10 * i + 10, digest_of(f"{text}/{i}")) for i in range(len(rows)))
    return Derived(Words(title=title, text=text, tags=tags), chunks, np.stack(rows) if rows else None)


def digest_of(piece: str) -> bytes:
    return blake2b(piece.encode(), digest_size=16).digest()


def entry(memory_id: str = "m1", *, batch: str = "b1", space: str = SPACE, **fields: Any) -> JournalEntry:
    act = Operation(fields.pop("operation", "remember"), "tester", fields.pop("at", 1.0), batch, fields.pop("why", ""))
    return JournalEntry(
        fields.pop("seq", 0), act, space, memory_id, fields.pop("before", None), fields.pop("after", None)
    )


def writing(store: Backend) -> AbstractContextManager[Transaction]:
    """What the backend's `commit` writes with."""
    return cast("TransactionalBackend", store).transaction()


def present(transaction: Transaction, space: str, id: str) -> Memory | None:
    return next(iter(transaction.get_many(space, [id])), None)


def put(store: Backend, *pairs: tuple[Memory, Derived | None] | Memory) -> None:
    with writing(store) as transaction:
        for pair in pairs:
            kept, found = pair if isinstance(pair, tuple) else (pair, None)
            transaction.put(kept, found)


def listed(
    store: Reader, space: str, where: Filter = ALL, *, order: Order = "newest", limit: int = 10_000, offset: int = 0
) -> list[Memory]:
    return store.page(space, where, order=order, limit=limit, offset=offset).memories


def written(store: Backend, *pairs: tuple[Memory, Derived | None] | Memory, at: float = 1.0) -> int:
    """Puts them with a journal entry each, as an operation does; returns the number of the last entry."""
    with writing(store) as transaction:
        for pair in pairs:
            kept, found = pair if isinstance(pair, tuple) else (pair, None)
            before = present(transaction, kept.space, kept.id)
            transaction.put(kept, found)
            transaction.append([change_entry(before, kept, at)])
    return store.seq_at(kept.space, float("inf"))


def removed(store: Backend, *ids: str, space: str = SPACE, at: float = 1.0) -> int:
    with writing(store) as transaction:
        for id in ids:
            before = present(transaction, space, id)
            transaction.remove(space, id)
            transaction.append([change_entry(before, None, at)])
    return store.seq_at(space, float("inf"))


def change_entry(before: Memory | None, after: Memory | None, at: float) -> JournalEntry:
    subject, operation = after or before, Operation("write", "tester", at, f"b{at:g}")
    assert subject is not None
    return JournalEntry(0, operation, subject.space, subject.id, *images(before, after))


def ids(found: Sequence[Any]) -> list[str]:
    return [each.id for each in found]
