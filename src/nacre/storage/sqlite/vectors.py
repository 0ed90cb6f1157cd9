"""Vectors in the file, packed in blocks, and their mirror in memory that follows what other processes write."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import apsw
import numpy as np

from nacre.ports import Vectors
from nacre.storage.sign_index import Halves, Numbers, SignIndex
from nacre.storage.sqlite.rows import DamagedRecord, only_row

log = logging.getLogger("nacre.damage")

BLOCK = 256
# Single writes leave blocks of one; this many are worth gathering into a full one.
SMALL_BLOCKS = 64
# Past this, readers load afresh rather than replay the removals.
REMOVALS_KEPT = 20_000


def write(connection: apsw.Connection, space: str, chunks: Sequence[int], owners: Sequence[int], rows: Vectors) -> None:
    """`chunks` must rise, and all lie above what the space holds already: readers look only past their last one."""
    insert(connection, space, np.asarray(chunks, np.int64), np.asarray(owners, np.int64), rows.astype(np.float16))
    gather(connection, space)


def insert(connection: apsw.Connection, space: str, chunks: Numbers, owners: Numbers, halves: Halves) -> None:
    for start in range(0, len(chunks), BLOCK):
        part = slice(start, start + BLOCK)
        connection.execute(
            "INSERT INTO block(space, last, count, chunks, owners, vectors) VALUES (?, ?, ?, ?, ?, ?)",
            (space, int(chunks[part][-1]), len(chunks[part]), *(as_bytes(x[part]) for x in (chunks, owners, halves))),
        )


def gather(connection: apsw.Connection, space: str) -> None:
    newest = "SELECT row, count FROM block WHERE space = ? ORDER BY last DESC LIMIT ?"
    small = []
    for row, count in connection.execute(newest, (space, SMALL_BLOCKS)):
        if count >= BLOCK:
            return
        small.append(row)
    if len(small) < SMALL_BLOCKS:
        return
    parts = [read(connection, row) for row in reversed(small)]
    connection.execute(f"DELETE FROM block WHERE row IN ({', '.join(map(str, small))})")
    insert(connection, space, *(np.concatenate([part[i] for part in parts]) for i in range(3)))


def remove(connection: apsw.Connection, space: str, chunks: Iterable[int]) -> None:
    """Takes the vectors out of their blocks, so that nothing of a purged text is left, and tells other processes."""
    waiting = sorted(chunks)
    while waiting:
        found = connection.execute(
            "SELECT row, last FROM block WHERE space = ? AND last >= ? ORDER BY last LIMIT 1", (space, waiting[0])
        ).fetchone()
        if found is None:
            break
        here = {chunk for chunk in waiting if chunk <= found[1]}
        waiting = [chunk for chunk in waiting if chunk > found[1]]
        rewrite_without(connection, found[0], here)
        connection.executemany("INSERT INTO removed(space, chunk) VALUES (?, ?)", [(space, chunk) for chunk in here])
    trim_removals(connection)


def rewrite_without(connection: apsw.Connection, block: int, gone: set[int]) -> None:
    chunks, owners, halves = read(connection, block)
    kept = ~np.isin(chunks, list(gone))
    if not kept.any():
        connection.execute("DELETE FROM block WHERE row = ?", (block,))
    elif not kept.all():
        connection.execute(
            "UPDATE block SET count = ?, chunks = ?, owners = ?, vectors = ? WHERE row = ?",
            (int(kept.sum()), *(as_bytes(array[kept]) for array in (chunks, owners, halves)), block),
        )


def trim_removals(connection: apsw.Connection) -> None:
    first, last = only_row(connection, "SELECT min(seq), max(seq) FROM removed")
    if first is not None and last - first >= REMOVALS_KEPT:
        connection.execute("DELETE FROM removed")
        start_afresh(connection)


def start_afresh(connection: apsw.Connection) -> None:
    connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'vector_epoch'")


def read(connection: apsw.Connection, block: int) -> tuple[Numbers, Numbers, Halves]:
    return unpacked(*only_row(connection, "SELECT chunks, owners, vectors FROM block WHERE row = ?", block))


def unpacked(chunks: bytes, owners: bytes, vectors: bytes) -> tuple[Numbers, Numbers, Halves]:
    """Raises `DamagedRecord` where the three do not fit together."""
    try:
        numbers, holders = np.frombuffer(chunks, "<i8"), np.frombuffer(owners, "<i8")
        halves = np.frombuffer(vectors, "<f2").reshape(len(numbers), -1)
    except (TypeError, ValueError) as error:
        raise DamagedRecord("a block of vectors is damaged") from error
    if len(holders) != len(numbers) or not len(numbers) or (np.diff(numbers) <= 0).any():
        raise DamagedRecord("a block of vectors is damaged")
    return numbers, holders, halves


def as_bytes(array: Numbers | Halves) -> bytes:
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def block_of(connection: apsw.Connection, space: str, chunk: int) -> tuple[Numbers, Halves]:
    """The chunks and vectors of the only block that could hold this one; empty where there is none."""
    found = connection.execute(
        "SELECT chunks, owners, vectors FROM block WHERE space = ? AND last >= ? ORDER BY last LIMIT 1", (space, chunk)
    ).fetchone()
    if found is None:
        return np.empty(0, np.int64), np.empty((0, 0), np.float16)
    chunks, _, halves = unpacked(*found)
    return chunks, halves


def one(connection: apsw.Connection, space: str, chunk: int) -> Vectors | None:
    chunks, halves = block_of(connection, space, chunk)
    place = int(np.searchsorted(chunks, chunk))
    return halves[place].astype(np.float32) if place < len(chunks) and chunks[place] == chunk else None


class Mirror:
    """One space's vectors in memory, read lazily and brought up to date by what changed."""

    def __init__(self, space: str) -> None:
        self.space = space
        self._lock = threading.Lock()
        self._index = SignIndex(0)
        self._epoch = -1  # below every epoch of a file: the first look reads everything
        self._loaded = 0  # the last chunk that the blocks read so far could hold
        self._removals = 0

    def current(self, connection: apsw.Connection, dimensions: int) -> SignIndex:
        with self._lock, connection:  # one snapshot of the file for all that is read here
            epoch, removals, last = only_row(
                connection,
                "SELECT (SELECT value FROM meta WHERE key = 'vector_epoch'),"
                " (SELECT coalesce(max(seq), 0) FROM removed),"
                " (SELECT coalesce(max(last), 0) FROM block WHERE space = ?)",
                self.space,
            )
            if epoch != self._epoch:
                self._index = SignIndex(dimensions)
                self._epoch, self._loaded, self._removals = epoch, 0, removals
            if last > self._loaded:
                self._load(connection, self._index)
            if removals > self._removals:
                self._forget(connection, self._index, removals)
        return self._index

    def _load(self, connection: apsw.Connection, index: SignIndex) -> None:
        for last, *packed in connection.execute(
            "SELECT last, chunks, owners, vectors FROM block WHERE space = ? AND last > ? ORDER BY last",
            (self.space, self._loaded),
        ):
            try:
                chunks, owners, halves = unpacked(*packed)
                if halves.shape[1] != index.dimensions:
                    raise DamagedRecord("a block of vectors is damaged")
            except DamagedRecord as error:
                # The memories of this block are found by their words; the doctor counts what is missing.
                log.warning("%s and left out. Run `nacre reindex` to compute it again.", error)
                self._loaded = last
                continue
            new = int(np.searchsorted(chunks, self._loaded, side="right"))
            index.append(chunks[new:], owners[new:], halves[new:])
            self._loaded = last

    def _forget(self, connection: apsw.Connection, index: SignIndex, known: int) -> None:
        rows: list[tuple[Any, ...]] = connection.execute(
            "SELECT seq, chunk FROM removed WHERE seq > ? AND space = ? ORDER BY seq", (self._removals, self.space)
        ).fetchall()
        index.discard([chunk for _, chunk in rows])
        self._removals = max([known, *(seq for seq, _ in rows)])
