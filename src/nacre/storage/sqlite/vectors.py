"""Finds the nearest vectors in memory: sign bits first, exact cosine for the best few hundred."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

import apsw
import numpy as np
from numpy.typing import NDArray

from nacre.protocols import Vectors
from nacre.storage.sqlite.rows import DamagedRecord, only_row

Kind = TypeVar("Kind", bound=np.generic)
Numbers: TypeAlias = NDArray[np.int64]
Halves: TypeAlias = NDArray[np.float16]
Bits: TypeAlias = NDArray[np.uint64]

# How many sign-bit neighbours are scored exactly. Measured on 100,000 MiniLM vectors: at 400 the best 10 are the
# same as an exhaustive search finds, and the gather costs half a millisecond.
RESCORED = 400
RESCORED_PER_WANTED = 4
UNPACKED = 20_000  # vectors; 30 MB
NONE = np.float32(-2)  # below every cosine
SIGN = np.uint16(0x8000)
WORD_BYTES = 8


class SignIndex:
    """Grows by appending; rows are never moved under a running search."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.size = 0
        self._chunks: Numbers = np.empty(0, np.int64)
        self._owners: Numbers = np.empty(0, np.int64)
        self._halves: Halves = np.empty((0, dimensions), np.float16)
        self._unpacked: tuple[Vectors, int] = np.empty((0, dimensions), np.float32), 0  # and how many rows are filled
        self._bits: Bits = np.empty((0, words_for(dimensions)), np.uint64)
        self._alive: NDArray[np.bool_] = np.empty(0, np.bool_)

    def append(self, chunks: Numbers, owners: Numbers, halves: Halves) -> None:
        """`chunks` must rise, and all lie above what is here already."""
        start, end = self.size, self.size + len(chunks)
        if end > len(self._chunks):
            self._grow(max(end, 2 * start))
        self._chunks[start:end] = chunks
        self._owners[start:end] = owners
        self._halves[start:end] = halves
        self._bits[start:end] = signs(halves)
        self._alive[start:end] = True
        self.size = end

    def discard(self, chunks: Sequence[int]) -> None:
        gone = np.asarray(chunks, np.int64)
        places = np.searchsorted(self._chunks[: self.size], gone)
        inside = places < self.size
        places, gone = places[inside], gone[inside]
        self._alive[places[self._chunks[places] == gone]] = False

    def nearest(self, vector: Vectors, limit: int, allowed: Numbers | None = None) -> tuple[Numbers, Numbers, Vectors]:
        """Chunks, their owners and cosines, best first; only owners in `allowed` (sorted), where it is given."""
        size = self.size  # another thread may append meanwhile
        alive = self._alive[:size]
        if allowed is not None:
            alive = alive & among(self._owners[:size], allowed)
        rows = np.flatnonzero(alive)
        near = self._near(vector, max(RESCORED, RESCORED_PER_WANTED * limit), rows, size)
        cosines = self._exact(near, size) @ vector
        best = np.lexsort((self._chunks[near], -cosines))[: max(limit, 0)]
        return self._chunks[near[best]], self._owners[near[best]], cosines[best]

    def cosines(self, vector: Vectors, owners: Numbers) -> Vectors:
        """Of the best chunk of each owner, in order; 0 where there is none."""
        size = self.size
        wanted, where = np.unique(owners, return_inverse=True)
        rows = np.flatnonzero(self._alive[:size] & among(self._owners[:size], wanted))
        best = np.full(len(wanted), NONE, np.float32)
        np.maximum.at(best, np.searchsorted(wanted, self._owners[rows]), self._exact(rows, size) @ vector)
        return np.where(best == NONE, np.float32(0), best)[where]

    def of(self, owners: Numbers) -> dict[int, Vectors]:
        """The vectors of each of these owners (rising) that has some, in the order of their chunks."""
        size = self.size
        rows = np.flatnonzero(self._alive[:size] & among(self._owners[:size], owners))
        rows = rows[np.argsort(self._owners[rows], kind="stable")]
        row, starts = np.unique(self._owners[rows], return_index=True)
        parts = np.split(self._exact(rows, size), starts[1:])
        return dict(zip(row.tolist(), parts, strict=True)) if len(row) else {}

    def _exact(self, rows: Numbers, size: int) -> Vectors:
        """A small store keeps its vectors unpacked as well: widening them again costs more than comparing them."""
        if size > UNPACKED:
            return self._halves[rows].astype(np.float32)
        singles, known = self._unpacked
        if len(singles) < size:
            # With room to spare: a store that is read after every write must not copy itself each time.
            singles = enlarged(singles, max(size, 2 * len(singles)))
        if known < size:
            singles[known:size] = self._halves[known:size]
            self._unpacked = singles, size  # together: another thread may read them, or write the same rows again
        return singles[rows]

    def _near(self, vector: Vectors, wanted: int, rows: Numbers, size: int) -> Numbers:
        if len(rows) <= wanted:
            return rows
        everything = len(rows) == size
        bits = self._bits[:size] if everything else self._bits[rows]
        differing = np.bitwise_count(bits ^ signs(vector[None, :].astype(np.float16))).sum(axis=1, dtype=np.uint16)
        best = np.argpartition(differing, wanted)[:wanted]
        return best if everything else rows[best]

    def _grow(self, capacity: int) -> None:
        self._chunks = enlarged(self._chunks, capacity)
        self._owners = enlarged(self._owners, capacity)
        self._halves = enlarged(self._halves, capacity)
        self._bits = enlarged(self._bits, capacity)
        self._alive = enlarged(self._alive, capacity)


def words_for(dimensions: int) -> int:
    return -(-dimensions // (8 * WORD_BYTES))


def signs(halves: Halves) -> Bits:
    packed = np.packbits(np.ascontiguousarray(halves).view(np.uint16) < SIGN, axis=1)
    missing = words_for(halves.shape[1]) * WORD_BYTES - packed.shape[1]
    if missing:
        packed = np.pad(packed, ((0, 0), (0, missing)))
    return np.ascontiguousarray(packed).view(np.uint64)


def among(owners: Numbers, allowed: Numbers) -> NDArray[np.bool_]:
    if not len(allowed):
        return np.zeros(len(owners), np.bool_)
    places = np.minimum(np.searchsorted(allowed, owners), len(allowed) - 1)
    same: NDArray[np.bool_] = allowed[places] == owners
    return same


def enlarged(array: NDArray[Kind], capacity: int) -> NDArray[Kind]:
    larger = np.empty((capacity, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


log = logging.getLogger("nacre.damage")

BLOCK = 256
# Single writes leave blocks of one; this many are worth gathering into a full one.
SMALL_BLOCKS = 64
# Past this, readers load afresh rather than replay the removals.
REMOVALS_LOGGED = 20_000


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
        block = connection.execute(
            "SELECT row, last FROM block WHERE space = ? AND last >= ? ORDER BY last LIMIT 1", (space, waiting[0])
        ).fetchone()
        if block is None:
            break
        here = {chunk for chunk in waiting if chunk <= block[1]}
        waiting = [chunk for chunk in waiting if chunk > block[1]]
        rewrite_without(connection, block[0], here)
        connection.executemany("INSERT INTO removed(space, chunk) VALUES (?, ?)", [(space, chunk) for chunk in here])
    trim_removals(connection)


def rewrite_without(connection: apsw.Connection, block: int, gone: set[int]) -> None:
    chunks, owners, halves = read(connection, block)
    remaining = ~np.isin(chunks, list(gone))
    if not remaining.any():
        connection.execute("DELETE FROM block WHERE row = ?", (block,))
    elif not remaining.all():
        connection.execute(
            "UPDATE block SET count = ?, chunks = ?, owners = ?, vectors = ? WHERE row = ?",
            (int(remaining.sum()), *(as_bytes(array[remaining]) for array in (chunks, owners, halves)), block),
        )


def trim_removals(connection: apsw.Connection) -> None:
    first, last = only_row(connection, "SELECT min(seq), max(seq) FROM removed")
    if first is not None and last - first >= REMOVALS_LOGGED:
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
    row = connection.execute(
        "SELECT chunks, owners, vectors FROM block WHERE space = ? AND last >= ? ORDER BY last LIMIT 1", (space, chunk)
    ).fetchone()
    if row is None:
        return np.empty(0, np.int64), np.empty((0, 0), np.float16)
    chunks, _, halves = unpacked(*row)
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
