"""Finds memories in the file by their vectors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import apsw
import numpy as np

from nacre.model import Filter
from nacre.ports import Match, Place, Vectors
from nacre.storage.sign_index import Numbers, SignIndex
from nacre.storage.sqlite import vectors
from nacre.storage.sqlite.compressed import PLAIN_TEXT
from nacre.storage.sqlite.where import conditions

# Most filters admit most memories: look at this many of the nearest before computing who is admitted at all.
OVERFETCH = 3
WIDENING = 4
SPARE = 1.5
LOOKS = 8  # a store that is written to without a pause needs two; one whose parts disagree must not be asked for ever


def by_vector(
    connection: apsw.Connection, mirror: vectors.Mirror, vector: Vectors, where: Filter, limit: int
) -> list[Match]:
    found: list[Match] = []
    for _ in range(LOOKS):
        index = mirror.current(connection, len(vector))
        found, whole = nearest(connection, mirror.space, index, vector, where, limit)
        if whole:
            break
        # Someone has edited or removed, between the two readings, what the mirror still held: look again.
    return found


def nearest(
    connection: apsw.Connection, space: str, index: SignIndex, vector: Vectors, where: Filter, limit: int
) -> tuple[list[Match], bool]:
    """The second value is False when the file no longer holds something that the index does."""
    if limit <= 0 or not index.size:
        return [], True
    tried = OVERFETCH * limit
    found, whole = admitted(connection, space, where, index, vector, tried, None)
    only: Numbers | None = None
    while whole and len(found) < limit and tried < index.size:
        # Too few passed the filter, or a few long memories filled the places with their many chunks.
        if only is None and len(found) * WIDENING < limit:
            only = allowed(connection, space, where)  # among these alone, as many as before are enough
        else:  # as many more as have failed so far, and some to spare
            tried = int(tried * min(WIDENING, SPARE * limit / max(1, len(found))))
        found, whole = admitted(connection, space, where, index, vector, tried, only)
    return found[:limit], whole


def admitted(
    connection: apsw.Connection, space: str, where: Filter, index: SignIndex, vector: Vectors, tried: int,
    only: Numbers | None,
) -> tuple[list[Match], bool]:  # fmt: skip
    """The best chunk of each memory that the filter admits, complete down to the worst chunk looked at; and whether
    the file holds all of them."""
    chunks, owners, cosines = index.nearest(vector, tried, only)
    first = np.unique(owners, return_index=True)[1]
    best = {int(owners[i]): (int(chunks[i]), float(cosines[i])) for i in np.sort(first)}
    clause, values = conditions(space, where)
    rows: list[tuple[Any, ...]] = connection.execute(
        f"SELECT {clause}, memory.row, memory.id, chunk.start, chunk.stop"
        " FROM chunk CROSS JOIN memory ON memory.row = chunk.row"
        " WHERE chunk.id IN (SELECT value FROM json_each(?))",  # as one value, so that it is prepared once
        (*values, json.dumps([chunk for chunk, _ in best.values()])),
    ).fetchall()
    known = {row: (id, (start, stop)) for fits, row, id, start, stop in rows if fits}
    found = [Match(known[row][0], cosine, known[row][1]) for row, (_, cosine) in best.items() if row in known]
    return found, len(rows) == len(best)


def allowed(connection: apsw.Connection, space: str, where: Filter) -> Numbers:
    clause, values = conditions(space, where)
    rows = connection.execute(f"SELECT memory.row FROM memory WHERE {clause} ORDER BY memory.row", values)
    return np.fromiter((row for (row,) in rows), np.int64)


PLACE = (
    "memory.row, memory.id, memory.session, memory.position, memory.role,"
    f" length({PLAIN_TEXT}),"
    f" substr({PLAIN_TEXT}, -1) IN ('?', '？'), coalesce(memory.occurred_at, memory.created_at)"
)


def near(index: SignIndex, vector: Vectors, limit: int, only: Numbers | None) -> tuple[Numbers, Vectors]:
    tried = max(limit, 0)
    while True:
        _, owners, cosines = index.nearest(vector, tried, only)
        first = np.sort(np.unique(owners, return_index=True)[1])[: max(limit, 0)]
        if len(first) >= limit or len(owners) < tried:
            return owners[first], cosines[first]
        tried *= WIDENING  # a few long memories filled the places with their many chunks


def places(connection: apsw.Connection, space: str, keys: Numbers, where: Filter) -> list[Place]:
    clause, values = conditions(space, where)
    rows = connection.execute(
        # As one value, so that the statement is prepared once; the plus keeps the planner from walking the space.
        f"SELECT {PLACE} FROM memory WHERE memory.row IN (SELECT value FROM json_each(?)) AND +{clause}"
        " ORDER BY memory.row",
        (json.dumps(keys.tolist()), *values),
    )
    return [placed(row) for row in rows.fetchall()]


def around(
    connection: apsw.Connection, space: str, spots: Sequence[tuple[str, int]], reach: int, where: Filter
) -> list[Place]:
    if not spots:
        return []
    clause, values = conditions(space, where)
    asked = [(session, position - reach, position + reach) for session, position in spots]
    rows = connection.execute(
        f"WITH spot(session, first, last) AS (VALUES {', '.join('(?, ?, ?)' for _ in spots)})"
        f" SELECT DISTINCT {PLACE} FROM spot CROSS JOIN memory ON memory.session = spot.session"
        f" AND memory.position BETWEEN spot.first AND spot.last AND memory.session <> '' WHERE {clause}"
        " ORDER BY memory.row",
        (*(value for spot in asked for value in spot), *values),
    )
    return [placed(row) for row in rows.fetchall()]


def placed(row: tuple[Any, ...]) -> Place:
    return Place._make(row)


def vectors_for(connection: apsw.Connection, digests: Sequence[bytes]) -> dict[bytes, Vectors]:
    found = {}
    for digest in set(digests):
        place = connection.execute(
            "SELECT chunk.id, memory.space FROM chunk JOIN memory ON memory.row = chunk.row"
            " WHERE chunk.digest = ? AND chunk.embedded LIMIT 1",
            (digest,),
        ).fetchone()
        vector = None if place is None else vectors.one(connection, place[1], place[0])
        if vector is not None:
            found[digest] = vector
    return found


def vectors_of(
    connection: apsw.Connection, mirror: vectors.Mirror, dimensions: int, ids: Sequence[str]
) -> dict[str, Vectors]:
    rows = connection.execute(
        "SELECT row, id FROM memory WHERE space = ? AND id IN (SELECT value FROM json_each(?)) ORDER BY row",
        (mirror.space, json.dumps(list(ids))),
    ).fetchall()
    names: dict[int, str] = {int(row): str(id) for row, id in rows}  # type: ignore[arg-type]
    found = mirror.current(connection, dimensions).of(np.array(list(names), np.int64))
    return {names[row]: kept for row, kept in found.items()}


def vectors_in_file(connection: apsw.Connection, space: str, ids: Sequence[str]) -> dict[str, Vectors]:
    """As `vectors_of`, block by block: to read a page of a large space must not load all of it."""
    found: dict[str, list[Vectors]] = {}
    held, halves = np.empty(0, np.int64), np.empty((0, 0), np.float16)
    with connection:  # one snapshot of the file for all that is read here
        rows: list[tuple[Any, ...]] = connection.execute(
            "SELECT chunk.id, memory.id FROM memory CROSS JOIN chunk ON chunk.row = memory.row"
            " WHERE memory.space = ? AND memory.id IN (SELECT value FROM json_each(?)) AND chunk.embedded"
            " ORDER BY chunk.id",
            (space, json.dumps(list(ids))),
        ).fetchall()
        for chunk, id in rows:
            if not len(held) or held[-1] < chunk:
                held, halves = vectors.block_of(connection, space, chunk)
            place = int(np.searchsorted(held, chunk))
            if place < len(held) and held[place] == chunk:
                found.setdefault(id, []).append(halves[place].astype(np.float32))
    return {id: np.stack(kept) for id, kept in found.items()}
