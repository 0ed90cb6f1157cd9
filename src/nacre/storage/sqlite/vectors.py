"""Vectors in the file and in memory: sign bits find the likely nearest, exact cosines decide.

Owners are opaque numbers. Chunk numbers of a space only ever rise. Three tables, all derived from the texts:
`vector` has one row for each vector, so that the few hundred that are compared exactly can be read alone;
`signs` has the sign bits of all but the newest, packed, so that a process need not read the vectors to begin;
`centre` says for each space with many vectors what their signs are relative to, and how far signs can be trusted.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import apsw
import numpy as np
from numpy.typing import NDArray

from nacre.protocols import Vectors
from nacre.storage.sqlite.rows import DamagedRecord, SQLValue, only_row

Kind = TypeVar("Kind", bound=np.generic)
Numbers: TypeAlias = NDArray[np.int64]
Halves: TypeAlias = NDArray[np.float16]
Bits: TypeAlias = NDArray[np.uint64]  # a row for each word of 64 bits, a column for each vector
Mask: TypeAlias = NDArray[np.bool_]

log = logging.getLogger("nacre.damage")

# How many sign-bit neighbours are scored exactly. Measured on 24,000 MiniLM vectors: 99.8 % of the best 10 are among
# the 400, and reading these takes a millisecond.
RESCORED = 400
RESCORED_PER_WANTED = 4
# Where 400 lose too many, more are scored; where they would be a large part of the space, all of them.
WIDENINGS = (1, 4, 16)
LARGEST_PART = 16  # an exact scan of everything is quicker than reading one vector in so many one by one
SMALL = 4_096  # vectors: an exact scan takes a millisecond, and the mean of fewer would say little
# The check: of so many vectors, drawn from the space, the nearest ones are looked for exactly and by signs. Measured
# on 24,000 texts: 0.998 kept with MiniLM, 0.97 with the hashing embedder, 0.77 or less with bags of words.
SAMPLE = 16_384
ASKED = 64
BEST = 10
LEAST_KEPT = 0.9
GROWTH = 2  # checked again when there are so many times as many
# How far the mean may move, as a share of the variance, before signs are taken anew; at a tenth they are still even.
DRIFT = 0.1
BLOCK = 512  # vectors to a row of `signs`: 32 KB, of which a purge writes one anew; smaller ones are read more slowly
PACKED_AT_ONCE = 16_384  # by one write, so that no writer waits long: 50 ms
SLAB = 16_384  # rows that are compared at once; more do not fit into the processor's cache
REMOVALS_LOGGED = 20_000  # past this, readers load afresh rather than replay the removals
MIRRORED_BYTES = 256_000_000  # of all spaces in memory; a million signs take 65 MB
MIRRORED_SPACES = 100
BLOCKS_READ_AT_ONCE = 128  # 4 MB
WORD_BITS = 64
HALF_BYTES = 2
NO_END = 2**63 - 1
NONE = np.float32(-2)  # below every cosine
EQUAL = np.float32(1e-6)  # cosines that differ by less
FAR = np.uint16(0xFFFF)  # above every distance


# In the file


@dataclass(frozen=True, slots=True)
class Centre:
    """`rescored` is how many of the nearest by signs are compared exactly; 0 where signs lose too many neighbours."""

    number: int
    mean: Vectors
    vectors: int  # that the space had when this was measured
    rescored: int


def write(
    connection: apsw.Connection, space: SQLValue, chunks: Sequence[int], owners: Sequence[int], rows: Vectors
) -> None:
    """`chunks` must rise, and all lie above what the space holds already: readers look only past their last one."""
    halves = rows.astype("<f2")
    connection.executemany(
        "INSERT INTO vector(chunk, space, owner, halves) VALUES (?, ?, ?, ?)",
        [(chunk, space, owner, half.tobytes()) for chunk, owner, half in zip(chunks, owners, halves, strict=True)],
    )
    pack(connection, space, halves.shape[1])


def pack(connection: apsw.Connection, space: SQLValue, dimensions: int) -> None:
    """Writes the signs of what is not packed yet, in whole blocks; measures the space where it has grown enough."""
    waiting, measured = only_row(
        connection,
        "SELECT (SELECT count(*) FROM (SELECT 1 FROM vector WHERE space = ?1"
        " AND chunk > (SELECT coalesce(max(last), 0) FROM signs WHERE space = ?1) LIMIT ?2)),"
        " (SELECT vectors FROM centre WHERE space = ?1)",
        space,
        PACKED_AT_ONCE,
    )
    if waiting < (SMALL if measured is None else BLOCK):
        return
    total = waiting + only_row(connection, "SELECT coalesce(sum(count), 0) FROM signs WHERE space = ?", space)[0]
    if measured is None or total >= GROWTH * measured:
        measure(connection, space, dimensions, total)
    centre = centre_of(connection, space)
    if centre is None or len(centre.mean) != dimensions:
        return
    last = only_row(connection, "SELECT coalesce(max(last), 0) FROM signs WHERE space = ?", space)[0]
    chunks, owners, halves = read_rows(connection, space, dimensions, after=last, limit=waiting)
    bits = signs(halves, centre.mean)
    packed = [slice(start, start + BLOCK) for start in range(0, len(chunks) - len(chunks) % BLOCK, BLOCK)]
    connection.executemany(
        "INSERT INTO signs(space, last, count, chunks, owners, bits) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (space, int(chunks[part][-1]), BLOCK, *map(as_bytes, (chunks[part], owners[part], bits[:, part])))
            for part in packed
        ],
    )


def measure(connection: apsw.Connection, space: SQLValue, dimensions: int, total: int) -> None:
    """Keeps the mean while it has hardly moved; else the signs of the space are taken and packed anew."""
    drawn = sample(connection, space, dimensions)
    if not len(drawn):
        return
    mean: Vectors = drawn.mean(axis=0)
    known = centre_of(connection, space)
    if known is not None and len(known.mean) == len(mean):
        moved = float(((mean - known.mean) ** 2).sum())
        if moved <= DRIFT * max(0.0, 1.0 - float(mean @ mean)):
            mean = known.mean
        else:
            known = None
    rescored = enough(drawn, mean, max(total, len(drawn)))
    if known is not None and rescored == known.rescored:
        connection.execute("UPDATE centre SET vectors = ? WHERE space = ?", (total, space))
        return
    if known is None:
        connection.execute("DELETE FROM signs WHERE space = ?", (space,))
    # Under a new number, by which readers see that theirs is not valid any more.
    connection.execute("DELETE FROM centre WHERE space = ?", (space,))
    connection.execute(
        "INSERT INTO centre(space, mean, vectors, rescored) VALUES (?, ?, ?, ?)",
        (space, mean.astype("<f4").tobytes(), total, rescored),
    )


def sample(connection: apsw.Connection, space: SQLValue, dimensions: int) -> Vectors:
    """Vectors from all over the space."""
    first, last = only_row(
        connection,
        "SELECT (SELECT chunk FROM vector WHERE space = ?1 ORDER BY chunk LIMIT 1),"
        " (SELECT chunk FROM vector WHERE space = ?1 ORDER BY chunk DESC LIMIT 1)",
        space,
    )
    if first is None:
        return np.empty((0, dimensions), np.float32)
    places = np.unique(np.linspace(first, last, SAMPLE).astype(np.int64))
    rows = connection.execute(
        "SELECT chunk, owner, halves FROM vector WHERE chunk IN (SELECT (SELECT chunk FROM vector WHERE space = ?"
        " AND chunk >= value ORDER BY chunk LIMIT 1) FROM json_each(?))",
        (space, json.dumps(places.tolist())),
    ).fetchall()
    return arrays(rows, dimensions)[2].astype(np.float32)


def enough(drawn: Vectors, mean: Vectors, total: int) -> int:
    """How many of the nearest by signs must be scored exactly to keep nearly all of the best, in a space of `total`
    vectors of which these were drawn; 0 where nothing less than all of them is enough."""
    share = len(drawn) / total
    wanted = max(1, min(round(BEST * share), len(drawn) - 1))
    asked = np.linspace(0, len(drawn) - 1, min(ASKED, len(drawn))).astype(np.int64)
    bits = signs(drawn, mean)
    pools = [max(wanted, round(RESCORED * widening * share)) for widening in WIDENINGS]
    kept = np.zeros(len(pools))
    for cosines, place in zip(drawn[asked] @ drawn.T, asked.tolist(), strict=True):
        distances = differing(bits, bits[:, place], len(drawn))
        cosines[place], distances[place] = NONE, FAR  # itself, which any search finds
        nearest = np.argsort(distances, kind="stable")
        least = np.partition(cosines, -wanted)[-wanted] - EQUAL
        kept += [min(wanted, int(np.count_nonzero(cosines[nearest[:pool]] >= least))) for pool in pools]
    for widening, each in zip(WIDENINGS, kept, strict=True):
        rescored = RESCORED * widening
        if widening > 1 and rescored * LARGEST_PART > total:
            break
        if each >= LEAST_KEPT * wanted * len(asked):
            return rescored
    return 0


def centre_of(connection: apsw.Connection, space: SQLValue) -> Centre | None:
    """None where there is none, or it is damaged: every vector is compared then."""
    row: Any = connection.execute(
        "SELECT number, mean, vectors, rescored FROM centre WHERE space = ?", (space,)
    ).fetchone()
    try:
        return None if row is None else Centre(row[0], np.frombuffer(row[1], "<f4"), int(row[2]), int(row[3]))
    except (TypeError, ValueError):
        return None


def remove(connection: apsw.Connection, space: SQLValue, chunks: Iterable[int]) -> None:
    """Takes the vectors and their signs out, so that nothing of a purged text is left, and tells other processes."""
    gone = json.dumps(sorted(chunks))
    connection.execute("DELETE FROM vector WHERE chunk IN (SELECT value FROM json_each(?))", (gone,))
    connection.execute("INSERT INTO removed(space, chunk) SELECT ?, value FROM json_each(?)", (space, gone))
    blocks: list[tuple[Any, ...]] = connection.execute(
        "SELECT DISTINCT (SELECT last FROM signs WHERE space = ? AND last >= value ORDER BY last LIMIT 1)"
        " FROM json_each(?)",
        (space, gone),
    ).fetchall()
    for (last,) in blocks:
        if last is not None:
            pack_again(connection, space, last)
    # The mean of what is gone says something of it, too.
    connection.execute(
        "DELETE FROM centre WHERE space = ?1 AND NOT EXISTS (SELECT 1 FROM vector WHERE space = ?1)", (space,)
    )
    trim_removals(connection)


def pack_again(connection: apsw.Connection, space: SQLValue, last: int) -> None:
    """The block that ends with `last`, from the vectors that are left."""
    before = only_row(connection, "SELECT coalesce(max(last), 0) FROM signs WHERE space = ? AND last < ?", space, last)
    centre = centre_of(connection, space)
    dimensions = 0 if centre is None else len(centre.mean)
    chunks, owners, halves = read_rows(connection, space, dimensions, after=before[0], upto=last)
    if centre is None or not len(chunks):
        connection.execute("DELETE FROM signs WHERE space = ? AND last = ?", (space, last))
        return
    connection.execute(
        "UPDATE signs SET count = ?, chunks = ?, owners = ?, bits = ? WHERE space = ? AND last = ?",
        (len(chunks), *map(as_bytes, (chunks, owners, signs(halves, centre.mean))), space, last),
    )


def trim_removals(connection: apsw.Connection) -> None:
    first, last = only_row(connection, "SELECT min(seq), max(seq) FROM removed")
    if first is not None and last - first >= REMOVALS_LOGGED:
        connection.execute("DELETE FROM removed")
        start_afresh(connection)


def start_afresh(connection: apsw.Connection) -> None:
    """Makes every process read its vectors again."""
    connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'vector_epoch'")


def clear(connection: apsw.Connection) -> None:
    """Removes all vectors of all spaces, with everything that was derived from them."""
    connection.execute("DELETE FROM vector; DELETE FROM signs; DELETE FROM centre; DELETE FROM removed")
    start_afresh(connection)


def faults(connection: apsw.Connection) -> Iterator[str]:
    """What is wrong with the packed signs; they can be computed again."""
    for (space,) in connection.execute("SELECT DISTINCT space FROM signs").fetchall():
        asked = "SELECT last, count, chunks, owners, bits FROM signs WHERE space = ?"
        for last, *packed in connection.execute(asked, (space,)):
            try:
                unpacked(*packed)
            except DamagedRecord as error:
                yield f"{error} (space {space}, up to {last})"
        signed, there = only_row(
            connection,
            "SELECT sum(count), (SELECT count(*) FROM vector WHERE space = ?1 AND chunk <= max(last))"
            " FROM signs WHERE space = ?1",
            space,
        )
        if signed != there:
            yield f"signs are there for {signed} of {there} vectors (space {space})"


def read_rows(
    connection: apsw.Connection, space: SQLValue, dimensions: int, *, after: int, upto: int = NO_END, limit: int = -1
) -> tuple[Numbers, Numbers, Halves]:
    """Chunks, owners and vectors, by rising chunk."""
    return arrays(rows_after(connection, space, after, upto, limit), dimensions)


def rows_after(
    connection: apsw.Connection, space: SQLValue, after: int, upto: int, limit: int
) -> list[tuple[Any, ...]]:
    return connection.execute(
        "SELECT chunk, owner, halves FROM vector WHERE space = ? AND chunk > ? AND chunk <= ? ORDER BY chunk LIMIT ?",
        (space, after, upto, limit),
    ).fetchall()


def arrays(rows: Sequence[tuple[Any, ...]], dimensions: int) -> tuple[Numbers, Numbers, Halves]:
    size = dimensions * HALF_BYTES
    sound = [row for row in rows if isinstance(row[2], bytes) and len(row[2]) == size]
    if len(sound) < len(rows):
        # Their memories are found by their words; the doctor counts what is missing.
        log.warning(
            "%d damaged vectors are left out. Run `nacre reindex` to compute them again.", len(rows) - len(sound)
        )
    numbers, owners = (np.fromiter((row[i] for row in sound), np.int64, len(sound)) for i in range(2))
    return numbers, owners, np.frombuffer(b"".join(row[2] for row in sound), "<f2").reshape(len(sound), dimensions)


def unpacked(count: Any, chunks: Any, owners: Any, bits: Any) -> tuple[Numbers, Numbers, Bits]:
    """Raises `DamagedRecord` where they do not fit together."""
    try:
        numbers, holders = np.frombuffer(chunks, "<i8"), np.frombuffer(owners, "<i8")
        words = np.frombuffer(bits, "<u8").reshape(-1, count)
    except (TypeError, ValueError) as error:
        raise DamagedRecord("a block of signs is damaged") from error
    if len(holders) != len(numbers) or len(numbers) != count or (np.diff(numbers) <= 0).any():
        raise DamagedRecord("a block of signs is damaged")
    return numbers, holders, words


def as_bytes(array: NDArray[Any]) -> bytes:
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def signs(rows: Halves | Vectors, mean: Vectors) -> Bits:
    """On which side of the mean each number lies."""
    above = np.packbits(rows > mean, axis=1)
    words = np.zeros((len(rows), words_for(len(mean)) * WORD_BITS // 8), np.uint8)
    words[:, : above.shape[1]] = above
    return np.ascontiguousarray(words.view("<u8").T)


def words_for(dimensions: int) -> int:
    return -(-dimensions // WORD_BITS)


def differing(bits: Bits, asked: Bits, size: int) -> NDArray[np.uint16]:
    """In how many signs each of the first `size` vectors differs from what is asked for."""
    distances = np.zeros(size, np.uint16)
    for start in range(0, size, SLAB):
        slab = distances[start : start + SLAB]
        for row, word in zip(bits[:, start : min(start + SLAB, size)], asked, strict=True):
            slab += np.bitwise_count(row ^ word)
    return distances


def lowest(distances: NDArray[np.uint16], wanted: int) -> Numbers:
    """The places of the `wanted` lowest, rising; `FAR` is never among them. As many equals as fit, the first ones."""
    counts = np.bincount(distances[distances != FAR])
    limit = int(np.searchsorted(np.cumsum(counts), wanted))
    if limit >= len(counts):
        return np.flatnonzero(distances != FAR)
    below, equal = np.flatnonzero(distances < limit), np.flatnonzero(distances == limit)
    return np.sort(np.concatenate([below, equal[: wanted - len(below)]]))


# In memory


class Index:
    """One space's vectors, or their signs. Grows by appending; rows are never moved under a running search."""

    def __init__(self, dimensions: int, centre: Centre | None = None) -> None:
        self.dimensions = dimensions
        self.size = 0
        trusted = centre is not None and centre.rescored > 0 and len(centre.mean) == dimensions
        self.centre = centre if trusted else None
        self._chunks: Numbers = np.empty(0, np.int64)
        self._owners: Numbers = np.empty(0, np.int64)
        self._alive: Mask = np.empty(0, np.bool_)
        self._halves: Halves = np.empty((0, dimensions), np.float16)  # empty where signs are enough
        self._bits: Bits = np.empty((0 if self.centre is None else words_for(dimensions), 0), np.uint64)
        self._by_owner: tuple[Numbers, Numbers] = np.empty(0, np.int64), np.empty(0, np.int64)  # owners; their rows

    @property
    def bytes_held(self) -> int:
        arrays = (self._chunks, self._owners, self._alive, self._halves, self._bits, *self._by_owner)
        return sum(array.nbytes for array in arrays)

    def reserve(self, more: int) -> None:
        """Makes room once, for what is about to be appended in many parts."""
        if self.size + more > len(self._chunks):
            self._grow(self.size + more)

    def append(self, chunks: Numbers, owners: Numbers, halves: Halves) -> None:
        """`chunks` must rise, and all lie above what is here already."""
        if self.centre is not None:
            return self.append_signs(chunks, owners, signs(halves, self.centre.mean))
        end = self._place(chunks, owners)
        self._halves[self.size : end] = halves
        self.size = end
        return None

    def append_signs(self, chunks: Numbers, owners: Numbers, bits: Bits) -> None:
        end = self._place(chunks, owners)
        self._bits[:, self.size : end] = bits
        self.size = end

    def discard(self, chunks: Sequence[int]) -> None:
        gone = np.asarray(chunks, np.int64)
        places = np.searchsorted(self._chunks[: self.size], gone)
        inside = places < self.size
        places, gone = places[inside], gone[inside]
        self._alive[places[self._chunks[places] == gone]] = False

    def nearest(
        self, connection: apsw.Connection, vector: Vectors, limit: int, allowed: Numbers | None = None
    ) -> tuple[Numbers, Numbers, Vectors]:
        """Chunks, their owners and cosines, best first; only owners in `allowed` (rising), where it is given."""
        size = self.size  # another thread may append meanwhile
        rows = self._candidates(vector, max(limit, 0), allowed, size)
        rows, cosines = self._cosines(connection, rows, vector)
        if 0 < limit < len(rows):
            good = cosines >= np.partition(cosines, -limit)[-limit]
            rows, cosines = rows[good], cosines[good]
        best = np.lexsort((rows, -cosines))[: max(limit, 0)]
        return self._chunks[rows[best]], self._owners[rows[best]], cosines[best]

    def cosines(self, connection: apsw.Connection, vector: Vectors, owners: Numbers) -> Vectors:
        """Of the best chunk of each owner, in order; 0 where there is none."""
        wanted, where = np.unique(owners, return_inverse=True)
        rows, cosines = self._cosines(connection, self._rows_of(wanted, self.size), vector)
        best = np.full(len(wanted), NONE, np.float32)
        np.maximum.at(best, np.searchsorted(wanted, self._owners[rows]), cosines)
        return np.where(best == NONE, np.float32(0), best)[where]

    def _candidates(self, vector: Vectors, limit: int, allowed: Numbers | None, size: int) -> Numbers:
        """The rows that are worth an exact comparison, rising."""
        few = allowed is not None and len(allowed) * LARGEST_PART <= size
        if few:
            rows = self._rows_of(allowed, size)  # type: ignore[arg-type]
        else:
            alive = self._alive[:size]
            admitted = alive if allowed is None else alive & np.isin(self._owners[:size], allowed)
        if self.centre is None:
            return rows if few else np.flatnonzero(admitted)
        wanted = max(self.centre.rescored, RESCORED_PER_WANTED * limit * (self.centre.rescored // RESCORED))
        asked = signs(vector[None, :], self.centre.mean)[:, 0]
        if few:
            enough = len(rows) <= wanted
            return rows if enough else rows[lowest(differing(self._bits[:, rows], asked, len(rows)), wanted)]
        distances = differing(self._bits, asked, size)
        distances[~admitted] = FAR
        return lowest(distances, wanted)

    def _cosines(self, connection: apsw.Connection, rows: Numbers, vector: Vectors) -> tuple[Numbers, Vectors]:
        """Those of the rows (rising) whose vectors are there still, and their cosines."""
        if self.centre is None:
            cosines = np.empty(len(rows), np.float32)
            for start in range(0, len(rows), SLAB):
                part = slice(start, start + SLAB)
                cosines[part] = self._halves[rows[part]].astype(np.float32) @ vector
            return rows, cosines
        chunks = self._chunks[rows]
        present, _, halves = arrays(
            connection.execute(
                "SELECT vector.chunk, owner, halves FROM json_each(?) CROSS JOIN vector ON vector.chunk = value",
                (json.dumps(chunks.tolist()),),
            ).fetchall(),
            self.dimensions,
        )
        return rows[np.searchsorted(chunks, present)], halves.astype(np.float32) @ vector

    def _rows_of(self, owners: Numbers, size: int) -> Numbers:
        """The rows of these owners (rising) that are not discarded, rising."""
        holders, places = self._by_owner
        if len(places) + SLAB < size or not len(places):
            places = np.argsort(self._owners[:size], kind="stable")
            holders = self._owners[places]
            self._by_owner = holders, places  # together: another thread may read them
        first, last = np.searchsorted(holders, owners), np.searchsorted(holders, owners, side="right")
        counts = last - first
        steps = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        known = len(places)
        newer = known + np.flatnonzero(np.isin(self._owners[known:size], owners))
        rows = np.concatenate([places[steps], newer])
        rows = np.sort(rows[rows < size])
        alive: Numbers = rows[self._alive[rows]]
        return alive

    def _place(self, chunks: Numbers, owners: Numbers) -> int:
        start, end = self.size, self.size + len(chunks)
        if end > len(self._chunks):
            self._grow(max(end, start + start // 4))
        self._chunks[start:end] = chunks
        self._owners[start:end] = owners
        self._alive[start:end] = True
        return end

    def _grow(self, capacity: int) -> None:
        self._chunks = enlarged(self._chunks, capacity)
        self._owners = enlarged(self._owners, capacity)
        self._alive = enlarged(self._alive, capacity)
        if self.centre is None:
            self._halves = enlarged(self._halves, capacity)
        else:
            bits = np.empty((len(self._bits), capacity), np.uint64)
            bits[:, : self.size] = self._bits[:, : self.size]
            self._bits = bits


def enlarged(array: NDArray[Kind], capacity: int) -> NDArray[Kind]:
    larger = np.empty((capacity, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


class Mirror:
    """One space's index, read lazily and brought up to date by what changed."""

    def __init__(self, space: SQLValue) -> None:
        self.space = space
        self._lock = threading.Lock()
        self._index = Index(0)
        self._state: tuple[Any, ...] = ()  # of no file: the first look reads everything
        self._loaded = 0  # the last chunk that was read
        self._removals = 0

    @property
    def bytes_held(self) -> int:
        return self._index.bytes_held

    def current(self, connection: apsw.Connection, dimensions: int) -> Index:
        with self._lock, connection:  # one snapshot of the file for all that is read here
            epoch, number, removals, last = only_row(
                connection,
                "SELECT (SELECT value FROM meta WHERE key = 'vector_epoch'),"
                " (SELECT number FROM centre WHERE space = ?1), (SELECT coalesce(max(seq), 0) FROM removed),"
                " (SELECT chunk FROM vector WHERE space = ?1 ORDER BY chunk DESC LIMIT 1)",
                self.space,
            )
            if (epoch, number, dimensions) != self._state:
                centre = None if number is None else centre_of(connection, self.space)
                self._index = Index(dimensions, centre)
                self._state, self._loaded, self._removals = (epoch, number, dimensions), 0, removals
            if last is not None and last > self._loaded:
                self._load(connection, self._index)
            if removals > self._removals:
                self._forget(connection, self._index, removals)
        return self._index

    def _load(self, connection: apsw.Connection, index: Index) -> None:
        if index.centre is not None:
            asked = "FROM signs WHERE space = ? AND last > ?"
            index.reserve(only_row(connection, f"SELECT coalesce(sum(count), 0) {asked}", self.space, self._loaded)[0])
            page = f"SELECT last, count, chunks, owners, bits {asked} ORDER BY last LIMIT {BLOCKS_READ_AT_ONCE}"
            while blocks := connection.execute(page, (self.space, self._loaded)).fetchall():
                for last, *packed in blocks:
                    self._load_signs(connection, index, last, packed)  # type: ignore[arg-type]
        self._load_vectors(connection, index, NO_END)

    def _load_signs(self, connection: apsw.Connection, index: Index, last: int, packed: Sequence[SQLValue]) -> None:
        try:
            chunks, owners, bits = unpacked(*packed)
            if len(bits) != words_for(index.dimensions):
                raise DamagedRecord("a block of signs is damaged")
        except DamagedRecord as error:
            log.warning("%s and computed again. Run `nacre reindex` to store it.", error)
            self._load_vectors(connection, index, last)
        else:
            new = int(np.searchsorted(chunks, self._loaded, side="right"))
            index.append_signs(chunks[new:], owners[new:], bits[:, new:])
        self._loaded = last

    def _load_vectors(self, connection: apsw.Connection, index: Index, upto: int) -> None:
        while rows := rows_after(connection, self.space, self._loaded, upto, SLAB):
            index.append(*arrays(rows, index.dimensions))
            self._loaded = rows[-1][0]

    def _forget(self, connection: apsw.Connection, index: Index, known: int) -> None:
        rows: list[tuple[Any, ...]] = connection.execute(
            "SELECT seq, chunk FROM removed WHERE seq > ? AND space = ? ORDER BY seq", (self._removals, self.space)
        ).fetchall()
        index.discard([chunk for _, chunk in rows])
        self._removals = max([known, *(seq for seq, _ in rows)])


class Mirrors:
    """The mirrors of the spaces that were searched last, within `MIRRORED_BYTES` and `MIRRORED_SPACES`."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._by_space: OrderedDict[SQLValue, Mirror] = OrderedDict()

    def of(self, space: SQLValue) -> Mirror:
        if self._process != os.getpid():
            self._begin()  # a fork copies locks that nobody in the child will release
        with self._lock:
            mirror = self._by_space.setdefault(space, Mirror(space))
            self._by_space.move_to_end(space)
            held = sum(each.bytes_held for each in self._by_space.values())
            while len(self._by_space) > 1 and (held > MIRRORED_BYTES or len(self._by_space) > MIRRORED_SPACES):
                held -= self._by_space.popitem(last=False)[1].bytes_held
            return mirror
