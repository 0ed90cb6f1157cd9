"""Measures and packs the sign bits of a space's vectors: how far signs can be trusted, and blocks of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from nacre.protocols import Vectors
from nacre.storage.sqlite import search
from nacre.storage.sqlite.rows import only_row
from nacre.storage.sqlite.search import (
    arrays,
    centre_of,
    differing,
    likeliest,
    lowest,
    read_rows,
    sign_bits,
    unpacked,
)
from nacre.storage.tables import DamagedRecord, SQLValue

# Where 400 lose too many, they are chosen more finely, or more are scored; where those would be a large part of the
# space, all of them. How many times as many are scored, and from how many times as many they are chosen. Measured on
# a million sums of word vectors with 120 texts: of the best 10, 97 % are among the first 6,400 by counts, and 98 %
# among 1,200 that are chosen from 12,000; to choose takes a tenth of the time in which the other 5,200 are read.
WIDENINGS = ((1, 1), (1, search.CHOSEN_FROM), (3, search.CHOSEN_FROM), (16, 4))
# The check: of so many vectors, drawn from the space, the nearest ones are looked for exactly and by signs. Measured
# on 24,000 texts: 0.998 kept with MiniLM, 0.97 with the hashing embedder, 0.77 or less with bags of words.
SAMPLE = 16_384
DRAWN_AT_ONCE = 1024
ASKED = 64
BEST = 10
LEAST_KEPT = 0.9
GROWTH = 2  # checked again when there are so many times as many
# How far the mean may move, as a share of the variance, before signs are taken anew; at a tenth they are still even.
DRIFT = 0.1
EQUAL = np.float32(1e-6)  # cosines that differ by less


def pack(connection: apsw.Connection, space: SQLValue, dimensions: int, waiting: int, measured: int | None) -> None:
    """Writes the signs of what is not packed yet, in whole blocks; measures the space where it has grown enough. Others
    can write while it is measured, which takes some tenths of a second."""
    epoch = epoch_of(connection)
    total = waiting + only_row(connection, "SELECT coalesce(sum(count), 0) FROM signs WHERE space = ?", space)[0]
    known = centre_of(connection, space)
    due = measured is None or total >= GROWTH * measured or (known is not None and not is_tried(known))
    measurement = measure(connection, space, dimensions, total, known) if due else None
    if connection.in_transaction:
        pack_measured(connection, space, dimensions, waiting, known, measurement)
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        same_vectors = epoch_of(connection) == epoch  # otherwise those of another embedder were measured
        pack_measured(connection, space, dimensions, waiting, known, measurement if same_vectors else None)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def is_tried(centre: search.Centre) -> bool:
    """Whether it is a result that a measurement has now; a store may have been measured by another version."""
    return (centre.rescored // search.RESCORED, centre.chosen_from) in (*WIDENINGS, (0, 1))


def epoch_of(connection: apsw.Connection) -> int:
    """A number that changes when all vectors are computed anew."""
    return int(only_row(connection, "SELECT value FROM meta WHERE key = 'vector_epoch'")[0])


def pack_measured(
    connection: apsw.Connection,
    space: SQLValue,
    dimensions: int,
    waiting: int,
    known: search.Centre | None,
    measurement: search.Centre | None,
) -> None:
    """`known` is what the space had when it was measured; where another process has measured it since, that stands."""
    centre = centre_of(connection, space)
    if measurement is not None and (centre and centre.number) == (known and known.number):
        write_centre(connection, space, known, measurement)
        centre = centre_of(connection, space)
    if centre is None or len(centre.mean) != dimensions:
        return
    last = only_row(connection, "SELECT coalesce(max(last), 0) FROM signs WHERE space = ?", space)[0]
    chunks, owners, halves = read_rows(connection, space, dimensions, after=last, limit=waiting)
    bits = sign_bits(halves, centre.mean)
    packed = [
        slice(start, start + search.BLOCK) for start in range(0, len(chunks) - len(chunks) % search.BLOCK, search.BLOCK)
    ]
    connection.executemany(
        "INSERT INTO signs(space, last, count, chunks, owners, bits) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (space, int(chunks[part][-1]), search.BLOCK, *map(as_bytes, (chunks[part], owners[part], bits[:, part])))
            for part in packed
        ],
    )


def measure(
    connection: apsw.Connection, space: SQLValue, dimensions: int, total: int, known: search.Centre | None
) -> search.Centre | None:
    """Writes nothing. Keeps the mean that is known while it has hardly moved; the result has that one's number then."""
    drawn = sample(connection, space, dimensions)
    if not len(drawn):
        return None
    mean: Vectors = drawn.mean(axis=0, dtype=np.float32)
    number = 0
    if known is not None and len(known.mean) == len(mean):
        moved = float(((mean - known.mean) ** 2).sum())
        if moved <= DRIFT * max(0.0, 1.0 - float(mean @ mean)):
            mean, number = known.mean, known.number
    return search.Centre(number, mean, total, *enough(drawn, mean, max(total, len(drawn))))


def write_centre(
    connection: apsw.Connection, space: SQLValue, known: search.Centre | None, measurement: search.Centre
) -> None:
    """With another mean than the known one, the signs of the space are taken and packed anew."""
    total, trusted = measurement.vectors, (measurement.rescored, measurement.chosen_from)
    kept = known is not None and measurement.number == known.number
    if known is not None and kept and trusted == (known.rescored, known.chosen_from):
        connection.execute("UPDATE centre SET vectors = ? WHERE space = ?", (total, space))
        return
    if not kept:
        connection.execute("DELETE FROM signs WHERE space = ?", (space,))
    # Under a new number, by which readers see that theirs is not valid any more.
    connection.execute("DELETE FROM centre WHERE space = ?", (space,))
    connection.execute(
        "INSERT INTO centre(space, mean, vectors, rescored, chosen_from) VALUES (?, ?, ?, ?, ?)",
        (space, measurement.mean.astype("<f4").tobytes(), total, *trusted),
    )


def sample(connection: apsw.Connection, space: SQLValue, dimensions: int) -> search.Halves:
    """Vectors from all over the space."""
    first, end = only_row(
        connection,
        "SELECT (SELECT chunk FROM vector WHERE space = ?1 ORDER BY chunk LIMIT 1),"
        " (SELECT chunk FROM vector WHERE space = ?1 ORDER BY chunk DESC LIMIT 1)",
        space,
    )
    if first is None:
        return np.empty((0, dimensions), np.float16)
    places = np.unique(np.linspace(first, end, SAMPLE).astype(np.int64))
    drawn = np.empty((len(places), dimensions), np.float16)
    count, last = 0, -1
    for start in range(0, len(places), DRAWN_AT_ONCE):  # all rows at once would take as much memory as the result
        rows: list[tuple[Any, ...]] = connection.execute(
            "SELECT chunk, owner, halves FROM vector WHERE chunk IN (SELECT (SELECT chunk FROM vector"
            " WHERE space = ? AND chunk >= value ORDER BY chunk LIMIT 1) FROM json_each(?))",
            (space, json.dumps([place for place in places[start : start + DRAWN_AT_ONCE].tolist() if place > last])),
        ).fetchall()
        last = max((chunk for chunk, *_ in rows), default=last)
        halves = arrays(rows, dimensions)[2]
        drawn[count : count + len(halves)] = halves
        count += len(halves)
    return drawn[:count]


def enough(drawn: search.Halves | Vectors, mean: Vectors, total: int) -> tuple[int, int]:
    """How many of the nearest by signs must be scored exactly to keep nearly all of the best, in a space of `total`
    vectors of which these were drawn, and from how many times as many they are chosen; 0 and 1 where nothing less than
    all of them is enough."""
    share = len(drawn) / total
    wanted = max(1, min(round(BEST * share), len(drawn) - 1))
    asked = np.linspace(0, len(drawn) - 1, min(ASKED, len(drawn))).astype(np.int64)
    bits, compared = sign_bits(drawn, mean), []
    for cosines, place in zip(cosines_of(drawn, asked), asked.tolist(), strict=True):
        distances = differing(bits, bits[:, place], len(drawn))
        cosines[place], distances[place] = search.NONE, search.FAR  # itself, which any search finds
        best = cosines >= np.partition(cosines, -wanted)[-wanted] - EQUAL
        compared.append((drawn[place].astype(np.float32), distances, best))
    for widening, chosen_from in WIDENINGS:
        rescored = search.RESCORED * widening
        if widening > 1 and rescored * search.LARGEST_PART > total:
            break
        pool, kept = max(wanted, round(rescored * share)), 0
        for vector, distances, best in compared:
            chosen = likeliest(bits, lowest(distances, chosen_from * pool), vector, pool)
            kept += min(wanted, int(np.count_nonzero(best[chosen])))
        if kept >= LEAST_KEPT * wanted * len(asked):
            return rescored, chosen_from
    return 0, 1


def cosines_of(drawn: search.Halves | Vectors, asked: NDArray[np.int64]) -> Vectors:
    """Of the vectors at the places `asked` with all that were drawn, some at a time: as floats of 32 bits all of them
    would take another 25 MB."""
    vectors = drawn[asked].astype(np.float32)
    cosines = np.empty((len(asked), len(drawn)), np.float32)
    for start in range(0, len(drawn), DRAWN_AT_ONCE):
        part = slice(start, start + DRAWN_AT_ONCE)
        cosines[:, part] = vectors @ drawn[part].astype(np.float32).T
    return cosines


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
        (len(chunks), *map(as_bytes, (chunks, owners, sign_bits(halves, centre.mean))), space, last),
    )


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


def as_bytes(array: NDArray[Any]) -> bytes:
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
