"""Says a Filter in SQL, with exactly the meaning of `Filter.admits`."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import apsw

from nacre.model import Condition, Filter
from nacre.model.filter import DOTTED, LIST_FIELDS, Scalar, Value, above, check_field
from nacre.protocols import Match, Place, Posting, Vectors
from nacre.storage.sqlite.rows import PLAIN_TEXT, SQLValue, only_row

if TYPE_CHECKING:
    from nacre.storage.sqlite.vectors import Index, Mirror, Numbers

MANY = 500  # a statement takes only so many values of its own
SPARSE = ("session", "superseded_by")  # indexed where they are set, which a bound value does not say
ORDERS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
LISTS = {
    "tags": "SELECT name AS value FROM tag WHERE tag.row = memory.row",
    "contexts": "SELECT name AS value FROM context WHERE context.row = memory.row AND applies = 1",
    "anti_contexts": "SELECT name AS value FROM context WHERE context.row = memory.row AND applies = 0",
    "entities": "SELECT value FROM json_each(memory.lists, '$.entities')",
    "links.to": "SELECT target AS value FROM link WHERE link.row = memory.row",
    "links.rel": "SELECT rel AS value FROM link WHERE link.row = memory.row",
}


def conditions(space: str, where: Filter) -> tuple[str, list[SQLValue]]:
    parts, values = ["memory.space = ?"], [space]
    arguments: list[SQLValue] = list(values)
    for condition in where.conditions:
        part, more = said(condition)
        parts.append(part)
        arguments.extend(more)
    return " AND ".join(parts), arguments


def said(condition: Condition) -> tuple[str, list[SQLValue]]:
    check_field(condition.field)  # again, at the last place before it is part of a statement
    if condition.field in LIST_FIELDS:
        return said_of_list(LISTS[condition.field], condition.op, several(condition.value))
    column = said_field(condition.field)
    if condition.op in ("in", "not_in"):
        return said_membership(column, condition.op, several(condition.value))
    if condition.op == "under":
        return said_under(column, several(condition.value))
    if condition.op == "unset":
        unset = f"({column} IS NULL OR {column} = '')"
        return (unset if condition.value else f"NOT {unset}"), []
    value = plain(condition.value)
    if condition.op == "eq" and condition.field in SPARSE and value:
        return f"({column} IS ? AND {column} <> '')", [value]
    if condition.op in ("eq", "ne"):
        return f"{column} IS {'NOT ' if condition.op == 'ne' else ''}?", [value]
    if condition.op == "contains":
        return f"instr({column}, ?) > 0", [value]
    compared = f"{column} {ORDERS[condition.op.removesuffix('_or_unset')]} ?"
    return (f"({column} IS NULL OR {compared})" if condition.op.endswith("_or_unset") else compared), [value]


def said_field(name: str) -> str:
    if name == "text":
        return PLAIN_TEXT
    if not name.startswith("metadata."):
        return f"memory.{name}"
    path = f"""'$.metadata."{name.removeprefix("metadata.")}"'"""
    plain_kind = f"json_type(memory.lists, {path}) NOT IN ('object', 'array')"
    return f"(CASE WHEN {plain_kind} THEN json_extract(memory.lists, {path}) END)"


def said_membership(column: str, op: str, wanted: list[SQLValue]) -> tuple[str, list[SQLValue]]:
    present = [value for value in wanted if value is not None]
    among, values = ", ".join("?" for _ in present), present
    if len(present) > MANY:
        among, values = "SELECT value FROM json_each(?)", [json.dumps(present)]
    inside = f"({column} IS NOT NULL AND {column} IN ({among}))"
    if None in wanted:
        inside = f"({inside} OR {column} IS NULL)"
    return (inside if op == "in" else f"NOT {inside}"), [*values]


def said_of_list(rows: str, op: str, wanted: list[SQLValue]) -> tuple[str, list[SQLValue]]:
    if op == "unset":
        return f"{'NOT ' if wanted[0] else ''}EXISTS ({rows})", []
    if op in DOTTED:
        higher = [plain(name) for name in sorted(map(str, above(wanted)))] if op == "along" else []  # type: ignore[arg-type]
        among, values = said_under("+value", wanted, higher)
        return f"EXISTS (SELECT 1 FROM ({rows}) WHERE {among})", values
    # The plus keeps a column of text from reading the number 5 as "5".
    among = f"+value IN ({', '.join('?' for _ in wanted)})"
    if op == "all":
        return f"(SELECT count(DISTINCT value) FROM ({rows}) WHERE {among}) = {len(set(wanted))}", wanted
    return f"{'NOT ' if op == 'none' else ''}EXISTS (SELECT 1 FROM ({rows}) WHERE {among})", wanted


def said_under(
    column: str, names: list[SQLValue], exactly: Sequence[SQLValue] = ()
) -> tuple[str, list[SQLValue]]:  # fmt: skip
    parts = ["0", *(f"{column} IS ?" for _ in exactly)]
    values = list(exactly)
    for name in names:
        parts.append(f"{column} IS ?")
        values.append(name)
        if isinstance(name, str):
            parts.append(f"({column} >= ? AND {column} < ?)")
            values += [f"{name}.", f"{name}/"]  # the slash is the sign after the dot
    return f"({' OR '.join(parts)})", values


def several(value: Value) -> list[SQLValue]:
    return [plain(item) for item in value] if isinstance(value, tuple) else [plain(value)]


def plain(value: Value | Scalar) -> SQLValue:
    return int(value) if isinstance(value, bool) else value  # type: ignore[return-value]


# A title is a summary by its author; a tag and an entity are chosen words. The text is the measure.
COLUMN_WEIGHTS = "2.0, 1.0, 1.0, 1.5, 1.0"
# Reading a posting costs a quarter of a microsecond, and a whole one with its exact weight. The rarest stems come first
# and are weighed; one on more memories than this tells little, however often it stands in each; and past the last
# number reading on costs more than it tells. Measured on 5,500 turns: the same hits as without any of these limits.
WEIGHED = 300
USUAL_WEIGHT = 1.0
POSTINGS_READ = 2_000
LEAST_RARITY = 1e-6  # what bm25() takes for a stem on more than half of the memories


def agree(connection: apsw.Connection) -> bool:
    """Whether the index is sound and holds exactly the memories there are."""
    try:
        connection.execute("INSERT INTO word(word) VALUES ('integrity-check')")
        only = "SELECT count(*) FROM main.memory WHERE row NOT IN (SELECT id FROM word_docsize)"
        surplus = "SELECT count(*) FROM word_docsize WHERE id NOT IN (SELECT row FROM main.memory)"
        return not only_row(connection, only)[0] and not only_row(connection, surplus)[0]
    except apsw.CorruptError:
        return False


def empty(connection: apsw.Connection) -> None:
    connection.execute("INSERT INTO word(word) VALUES ('delete-all')")


def by_words(connection: apsw.Connection, space: str, terms: Sequence[str], where: Filter, limit: int) -> list[Match]:
    if not terms or limit <= 0:
        return []
    clause, values = conditions(space, where)
    # CROSS JOIN is SQLite's word for "in this order": the planner would walk the whole space instead of the matches.
    # bm25() is lower for better matches; a Match's score is higher for better.
    sql = (
        f"SELECT memory.id, -bm25(word, {COLUMN_WEIGHTS}) AS score"
        " FROM word CROSS JOIN memory ON memory.row = word.rowid"
        f" WHERE word MATCH ? AND {clause} ORDER BY score DESC, memory.row DESC LIMIT ?"
    )
    asked = " OR ".join(quoted(term) for term in terms)
    return [Match(id, score) for id, score in connection.execute(sql, (asked, *values, limit))]


def quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def postings(connection: apsw.Connection, terms: Sequence[str]) -> dict[str, Posting]:
    counts = occurrences(connection, terms)
    total = int(only_row(connection, "SELECT count(*) FROM memory")[0])
    postings: dict[str, Posting] = {}
    read = 0
    for term in sorted(counts, key=counts.__getitem__):
        read += counts[term]
        if postings and read > POSTINGS_READ:
            break
        posting = weighed(connection, term, total) if counts[term] <= WEIGHED else unweighed(connection, term)
        if len(posting.keys):
            postings[term] = posting
    return postings


def weighed(connection: apsw.Connection, term: str, total: int) -> Posting:
    import numpy as np

    sql = f"SELECT rowid, -bm25(word, {COLUMN_WEIGHTS}) FROM word WHERE word MATCH ?"
    rows = connection.execute(sql, (quoted(term),)).fetchall()
    weights = np.array([score for _, score in rows], np.float64) / counted_rarity(total, len(rows))
    return Posting(np.array([key for key, _ in rows], np.int64), weights.astype(np.float32))


def unweighed(connection: apsw.Connection, term: str) -> Posting:
    import numpy as np

    rows = connection.execute("SELECT rowid FROM word WHERE word MATCH ?", (quoted(term),)).fetchall()
    keys = np.fromiter((key for (key,) in rows), np.int64, len(rows))
    return Posting(keys, np.full(len(keys), USUAL_WEIGHT, np.float32))


def occurrences(connection: apsw.Connection, terms: Sequence[str]) -> dict[str, int]:
    """On how many memories each stands, at most: a phrase is at least as rare as its rarest word."""
    # A word that is not in the list counts as rare: the index folds some signs that Python leaves as they are.
    return {term: min((number(connection, word) or 1 for word in term.split()), default=1) for term in terms}


def number(connection: apsw.Connection, word: str) -> int:
    return int(only_row(connection, "SELECT coalesce(sum(doc), 0) FROM term WHERE term = ?", word)[0])


def counted_rarity(total: int, holding: int) -> float:
    """The rarity that bm25() multiplies in, so that it can be divided out again."""
    return max(math.log((total - holding + 0.5) / (holding + 0.5)) if holding < total + 0.5 else 0.0, LEAST_RARITY)


# Most filters admit most memories: look at this many of the nearest before computing who is admitted at all.
OVERFETCH = 3
WIDENING = 4
SPARE = 1.5
LOOKS = 8  # a store that is written to without a pause needs two; one whose parts disagree must not be asked for ever


def by_vector(
    connection: apsw.Connection, space: str, mirror: Mirror, vector: Vectors, where: Filter, limit: int
) -> list[Match]:
    matches: list[Match] = []
    for _ in range(LOOKS):
        index = mirror.current(connection, len(vector))
        matches, complete = nearest(connection, space, index, vector, where, limit)
        if complete:
            break
        # Someone has edited or removed, between the two readings, what the mirror still held: look again.
    return matches


def nearest(
    connection: apsw.Connection, space: str, index: Index, vector: Vectors, where: Filter, limit: int
) -> tuple[list[Match], bool]:
    """The second value is False when the file no longer holds something that the index does."""
    if limit <= 0 or not index.size:
        return [], True
    tried = OVERFETCH * limit
    matches, complete = admitted(connection, space, where, index, vector, tried, None)
    only: Numbers | None = None
    while complete and len(matches) < limit and tried < index.size:
        # Too few passed the filter, or a few long memories filled the places with their many chunks.
        if only is None and len(matches) * WIDENING < limit:
            only = allowed(connection, space, where)  # among these alone, as many as before are enough
        else:  # as many more as have failed so far, and some to spare
            tried = int(tried * min(WIDENING, SPARE * limit / max(1, len(matches))))
        matches, complete = admitted(connection, space, where, index, vector, tried, only)
    return matches[:limit], complete


def admitted(
    connection: apsw.Connection, space: str, where: Filter, index: Index, vector: Vectors, tried: int,
    only: Numbers | None,
) -> tuple[list[Match], bool]:  # fmt: skip
    """The best chunk of each memory that the filter admits, complete down to the worst chunk looked at; and whether
    the file holds all of them."""
    import numpy as np

    chunks, owners, cosines = index.nearest(connection, vector, tried, only)
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
    matches = [Match(known[row][0], cosine, known[row][1]) for row, (_, cosine) in best.items() if row in known]
    return matches, len(rows) == len(best)


def allowed(connection: apsw.Connection, space: str, where: Filter) -> Numbers:
    import numpy as np

    clause, values = conditions(space, where)
    rows = connection.execute(f"SELECT memory.row FROM memory WHERE {clause} ORDER BY memory.row", values)
    return np.fromiter((row for (row,) in rows), np.int64)


PLACE = (
    "memory.row, memory.id, memory.session, memory.position, memory.role,"
    f" length({PLAIN_TEXT}),"
    f" substr({PLAIN_TEXT}, -1) IN ('?', '？'), coalesce(memory.occurred_at, memory.created_at)"
)


def near(
    connection: apsw.Connection, index: Index, vector: Vectors, limit: int, only: Numbers | None
) -> tuple[Numbers, Vectors]:
    import numpy as np

    tried = max(limit, 0)
    while True:
        _, owners, cosines = index.nearest(connection, vector, tried, only)
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
    rows: list[tuple[Any, ...]] = connection.execute(
        "SELECT value, (SELECT halves FROM chunk CROSS JOIN vector ON vector.chunk = chunk.id"
        " WHERE chunk.digest = unhex(value) LIMIT 1) FROM json_each(?)",
        (json.dumps([digest.hex() for digest in set(digests)]),),
    ).fetchall()
    return {bytes.fromhex(digest): as_vectors(halves) for digest, halves in rows if halves is not None}


def vectors_of(connection: apsw.Connection, space: str, ids: Sequence[str]) -> dict[str, Vectors]:
    import numpy as np

    rows: list[tuple[Any, ...]] = connection.execute(
        "SELECT memory.id, vector.halves FROM memory CROSS JOIN chunk ON chunk.row = memory.row"
        " CROSS JOIN vector ON vector.chunk = chunk.id"
        " WHERE memory.space = ? AND memory.id IN (SELECT value FROM json_each(?)) ORDER BY chunk.id",
        (space, json.dumps(list(ids))),
    ).fetchall()
    by_id: dict[str, list[Vectors]] = {}
    for id, halves in rows:
        by_id.setdefault(id, []).append(as_vectors(halves))
    return {id: np.stack(each) for id, each in by_id.items()}


def as_vectors(halves: bytes) -> Vectors:
    import numpy as np

    return np.frombuffer(halves, "<f2").astype(np.float32)
