"""Memories and what is derived from them, in as few words as a test can bear."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import apsw
import numpy as np

from nacre import MemoryStore
from nacre.model import Filter, JournalEntry, Memory, Operation
from nacre.model.journal import MEMORY
from nacre.model.memory import images
from nacre.protocols import (
    ALL,
    AnyChange,
    Backend,
    Change,
    Chunk,
    Committed,
    Data,
    Derived,
    EmbedderBound,
    EmbedderIdentity,
    JournalDropped,
    Order,
    Reader,
    Scrubbed,
    SpaceRenamed,
    TermChange,
    TermSet,
    Vectors,
    Words,
)
from nacre.storage.sqlite.rows import only_row
from nacre.storage.sqlite.search import VECTOR_STATE, Mirror, VectorIndex, VectorState

DIMENSIONS = 8
SPACE = "here"


class Clock:
    """Shows the time that a test sets; a question of the time takes none."""

    def __init__(self, now: float = 1_750_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def memory(id: str = "m1", text: str = "", **fields: Any) -> Memory:
    return Memory(id=id, text=text or f"text of {id}", space=fields.pop("space", SPACE), **fields)


def unit(*numbers: float) -> Vectors:
    row = np.zeros(DIMENSIONS, np.float32)
    row[: len(numbers)] = numbers
    return row / np.float32(np.linalg.norm(row))


def vectors_now(mirror: Mirror, file: apsw.Connection, dimensions: int) -> VectorIndex:
    """What a search beginning now sees of the space."""
    vectors_now = VectorState(*only_row(file, f"SELECT {VECTOR_STATE.format('?1')}", mirror.space))
    return mirror.current(file, vectors_now, dimensions)


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


class Steps:
    """Commits one change after the other; what is put waits for its journal entry, or changes the present in place."""

    def __init__(self, store: Backend) -> None:
        self._store = store
        self._waiting: dict[tuple[str, str], tuple[Memory | None, Derived | None]] = {}

    def put(self, kept: Memory, found: Derived | None = None) -> None:
        _, known = self._waiting.get((kept.space, kept.id), (None, None))
        self._waiting[kept.space, kept.id] = (kept, known if found is None else found)

    def remove(self, space: str, id: str) -> None:
        self._waiting[space, id] = (None, None)

    def append(self, entries: Sequence[JournalEntry]) -> None:
        for each in entries:
            if each.kind == MEMORY and (each.space, each.memory_id) in self._waiting:
                self._commit(*self._change(each.space, each.memory_id), operation=each.operation)
            else:
                told = TermChange(each.space, each.kind, each.memory_id, each.before, each.after, written=False)
                self._commit(told, operation=each.operation)

    def scrub_journal(self, space: str, id: str) -> None:
        self.finish(Scrubbed(space, id))

    def forget_journal(self, space: str, upto: int) -> int:
        return self.finish(JournalDropped(space, upto))

    def rename_space(self, old: str, new: str) -> None:
        self.finish(SpaceRenamed(old, new))

    def put_term(self, kind: str, name: str, data: Data | None) -> None:
        self.finish(TermSet(kind, name, data))

    def bind_embedder(self, identity: EmbedderIdentity) -> None:
        self.finish(EmbedderBound(identity))

    def change_embedder(self, identity: EmbedderIdentity) -> None:
        self.finish(EmbedderBound(identity, anew=True))

    def finish(self, *changes: AnyChange) -> int:
        """Writes what waits, then these; returns how many entries were dropped."""
        before: dict[tuple[str, str], Memory] = {}
        for space in {space for space, _ in self._waiting}:
            ids = [id for of, id in self._waiting if of == space]
            before |= {(space, each.id): each for each in self._store.get_many(space, ids)}
        waiting = [Change(before.get(key), *pair) for key, pair in self._waiting.items() if key in before or pair[0]]
        self._waiting.clear()
        return self._commit(*waiting, *changes)

    def _change(self, space: str, id: str) -> list[Change]:
        before, (after, found) = self._store.get(space, id), self._waiting.pop((space, id))
        return [Change(before, after, found)] if before or after else []

    def _commit(self, *changes: AnyChange, operation: Operation | None = None) -> int:
        done = self._store.commit(changes, None, operation, lambda: operation.at if operation else 0.0)
        assert isinstance(done, Committed)
        return done.dropped


@contextmanager
def writing(store: Backend) -> Iterator[Steps]:
    steps = Steps(store)
    yield steps
    steps.finish()


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
            before = store.get(kept.space, kept.id)
            transaction.put(kept, found)
            transaction.append([change_entry(before, kept, at)])
    return store.seq_at(kept.space, float("inf"))


def removed(store: Backend, *ids: str, space: str = SPACE, at: float = 1.0) -> int:
    with writing(store) as transaction:
        for id in ids:
            before = store.get(space, id)
            transaction.remove(space, id)
            transaction.append([change_entry(before, None, at)])
    return store.seq_at(space, float("inf"))


def change_entry(before: Memory | None, after: Memory | None, at: float) -> JournalEntry:
    subject, operation = after or before, Operation("write", "tester", at, f"b{at:g}")
    assert subject is not None
    return JournalEntry(0, operation, subject.space, subject.id, *images(before, after))


def existing(store: MemoryStore, id: str) -> Memory:
    """What the store has under the id, which must be there."""
    memory = store.get(id)
    assert memory is not None, f"there is no {id}"
    return memory


def ids(found: Sequence[Any]) -> list[str]:
    return [each.id for each in found]
