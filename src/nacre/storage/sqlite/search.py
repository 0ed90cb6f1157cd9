"""Search in one state of a space: postings, nearest vectors, places and neighbours."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np

from nacre.model import Filter
from nacre.protocols import ALL, Keys, Match, Place, Vectors
from nacre.storage.candidates import COLUMN_WEIGHTS, Posting
from nacre.storage.sqlite.rows import (
    AMONG,
    BY_CONTENT,
    State,
    as_json,
    clause,
    fetch,
    narrowed,
    only_row,
    phrase,
    tokens,
    unpacked_stems,
)

if TYPE_CHECKING:
    from nacre.storage.sqlite.vectors import Index, Mirror, Numbers

# A stem on at most so many memories is weighed by how often it is in each; a commoner one says little, however often it
# is there. Past the second number reading on costs more than it tells, and of one stem only the newest are read.
# Measured on 5,500 turns: the same hits as without any of these limits.
WEIGHED = 300
POSTINGS_READ = 2_000
FIELDS = ("title", "text", "role", "tag_stems", "entity_stems")  # as they are called in the tables
FIELD_WEIGHTS = dict(zip(FIELDS, COLUMN_WEIGHTS.values(), strict=True))
PLACE = (
    "version.content, memory.id, version.session, version.position, content.role, content.characters, content.asks,"
    " coalesce(version.occurred_at, version.created_at)"
)


class SQLiteIndex:
    """One state of one space, within one snapshot. A key is the number of the content that a memory has in it."""

    def __init__(self, connection: apsw.Connection, state: State, mirror: Mirror, size: tuple[int, int]) -> None:
        self._connection = connection
        self._state = state
        self._mirror = mirror
        self._size = size  # how many memories the space has at present, and how many stems they have
        self._signs: Index | None = None
        self._cosines: dict[int, float] = {}  # of the only vector that it is asked about

    def measure(self, where: Filter) -> tuple[int, int]:
        if where.conditions:
            made = narrowed(self._connection, self._state, where)
            sql = f"SELECT count(*), coalesce(sum(version.length), 0) FROM {made.joined()} WHERE {made.sql}"
            memories, stems = only_row(self._connection, sql, *made.values)
            return int(memories), int(stems)
        return self._size

    def postings(self, terms: Sequence[str], visible: Filter) -> dict[str, Posting]:
        holding = self.holding(terms)
        weighed, common = divided(holding)
        lengths: dict[int, int] = {}
        frequencies = self._frequencies(weighed, visible, lengths)
        newest = self._newest(common)
        if visible.conditions and newest:
            keys_read = np.array([key for keys in newest.values() for key in keys], np.int64)
            seen = {place.key for place in self.places(keys_read, visible)}
            newest = {term: [key for key in keys if key in seen] for term, keys in newest.items()}
        memories, stems = self.measure(ALL)
        average = max(1.0, stems / max(1, memories))
        made: dict[str, Posting] = {}
        for term in terms:
            result = frequencies.get(term)
            # Of a common term: once, in a text of usual length; the weight of that is 1.
            keys = sorted(newest.get(term, ()) if result is None else result)
            counted = visible.conditions or " " in term
            made[term] = Posting(
                np.array(keys, np.int64),
                np.array([1.0 if result is None else result[key] for key in keys], np.float32),
                np.array([average if result is None else lengths[key] for key in keys], np.float32),
                len(keys) if counted else max(holding.get(term, 0), len(keys)),
            )
        return made

    def holding(self, terms: Sequence[str]) -> dict[str, int]:
        """On how many memories each is, at most: a phrase is at least as rare as its rarest word."""
        parts = {term: term.split() for term in terms}
        asked = json.dumps(list({stem for stems in parts.values() for stem in stems}))
        sql = f"SELECT term, n FROM term_count WHERE space = ? AND term {AMONG}"
        counts = dict(fetch(self._connection, sql, (self._state.space, asked)))
        past = int(self._state.seq is not None)  # a word may be only in what has changed since
        smallest = ((term, min((counts.get(stem, past) for stem in stems), default=0)) for term, stems in parts.items())
        return {term: int(n) for term, n in smallest if n}

    def _frequencies(
        self, terms: Sequence[str], visible: Filter, lengths: dict[int, int]
    ) -> dict[str, dict[int, float]]:
        """How often each term is in each memory of the state, weighted by field; adds the lengths of those."""
        result: dict[str, dict[int, float]] = {term: defaultdict(float) for term in terms}
        if not terms:
            return result
        simple = {tokens(self._state.space, term): term for term in terms if term.isascii() and term.isalnum()}
        texts = clause(self._state, visible, by="version.content = occurrence.doc")
        names = clause(self._state, visible, by="version.key = label.key")
        rows = fetch(
            self._connection,
            "SELECT occurrence.term, version.content, version.length, occurrence.col, 1"
            f" FROM occurrence CROSS JOIN {texts.joined()} WHERE occurrence.term {AMONG} AND {texts.sql}"
            " UNION ALL SELECT label.name, version.content, version.length, label.field, label.times"
            f" FROM label CROSS JOIN {names.joined()} WHERE label.space = ?"
            f" AND label.field IN ('tag_stems', 'entity_stems') AND label.name {AMONG} AND {self._state.of('label')}"
            f" AND {names.sql}",
            (as_json(list(simple)), *texts.values, self._state.space, as_json(list(terms)), *names.values),
        )
        for term, key, length, field, times in rows:
            result[simple.get(term, term)][key] += FIELD_WEIGHTS[field] * times
            lengths[key] = length
        for term in result.keys() - set(simple.values()):
            self._count(term, visible, result[term], lengths)
        return result

    def _count(self, term: str, visible: Filter, result: dict[int, float], lengths: dict[int, int]) -> None:
        """Phrases, and signs that the index may fold, are counted in the stems themselves."""
        texts = clause(self._state, visible, by="version.content = word.rowid")
        names = clause(self._state, visible, by="version.key = label.key")
        stems = "SELECT version.content, version.length, content.words, version.stems FROM"
        rows = fetch(
            self._connection,
            f"SELECT * FROM ({stems} word CROSS JOIN {texts.joined('content')} WHERE word MATCH ? AND {texts.sql}"
            f" ORDER BY word.rowid DESC LIMIT {POSTINGS_READ}) UNION SELECT * FROM ({stems}"
            f" label CROSS JOIN {names.joined('content')} WHERE label.space = ?"
            f" AND label.field IN ('tag_stems', 'entity_stems') AND label.name = ? AND {self._state.of('label')}"
            f" AND {names.sql} LIMIT {POSTINGS_READ})",
            (phrase(self._state.space, term), *texts.values, self._state.space, term.split()[0], *names.values),
        )
        for key, length, of_text, of_names in rows:
            lines = (*unpacked_stems(of_text, 3), *unpacked_stems(of_names, 2))
            pairs = zip(FIELD_WEIGHTS.values(), lines, strict=True)
            if frequency := sum(weight * occurrences(term, line) for weight, line in pairs):
                result[key], lengths[key] = frequency, length

    def _newest(self, limits: dict[str, int]) -> dict[str, list[int]]:
        """The newest contents with each term, so many at most."""
        result: dict[str, list[int]] = {term: [] for term in limits}
        if not limits:
            return result
        one = "SELECT ? AS term, rowid FROM (SELECT rowid FROM word WHERE word MATCH ? ORDER BY rowid DESC LIMIT ?)"
        values = [value for term, limit in limits.items() for value in (term, phrase(self._state.space, term), limit)]
        rows: list[tuple[Any, ...]] = self._connection.execute(
            " UNION ALL ".join(one for _ in limits), values
        ).fetchall()
        for term, key in rows:
            result[term].append(key)
        return result

    def _index(self, vector: Vectors) -> Index:
        if self._signs is None:
            self._signs = self._mirror.current(self._connection, len(vector))
        return self._signs

    def nearest(self, vector: Vectors, limit: int, only: Keys | None = None) -> Keys:
        index = self._index(vector)
        past = self._state.seq is not None and only is None
        tried = limit * WIDENING if past else limit
        while True:
            _, owners, cosines = index.nearest(self._connection, vector, tried, only)
            first = np.sort(np.unique(owners, return_index=True)[1])
            keys = owners[first]
            self._cosines |= zip(keys.tolist(), cosines[first].tolist(), strict=True)
            if past:  # what came later may be nearer than all that the state has
                keys = keys[np.isin(keys, self._in_state(keys))]
            if len(keys) >= limit or len(owners) < tried:
                return keys[: max(limit, 0)]
            tried *= WIDENING  # a few long memories filled the places with their many chunks

    def _in_state(self, keys: Keys) -> Keys:
        made = clause(self._state, ALL, by=BY_CONTENT)
        sql = f"SELECT version.content FROM {made.joined()} WHERE {made.sql}"
        rows = fetch(self._connection, sql, (json.dumps(keys.tolist()), *made.values))
        return np.array([key for (key,) in rows], np.int64)

    def cosines(self, vector: Vectors, keys: Keys) -> Vectors:
        unknown = np.array([key for key in keys.tolist() if key not in self._cosines], np.int64)
        if len(unknown):
            read = self._index(vector).cosines(self._connection, vector, unknown)
            self._cosines |= zip(unknown.tolist(), read.tolist(), strict=True)
        return np.array([self._cosines[key] for key in keys.tolist()], np.float32)

    def places(self, keys: Keys, where: Filter) -> list[Place]:
        made = clause(self._state, where, by=BY_CONTENT)
        rows = self._connection.execute(
            f"SELECT {PLACE} FROM {made.joined('memory', 'content')} WHERE {made.sql} ORDER BY version.content",
            (json.dumps(keys.tolist()), *made.values),
        ).fetchall()
        return [Place._make(row) for row in rows]

    def around(self, spots: Sequence[tuple[str, int]], reach: int, where: Filter) -> list[Place]:
        if not spots:
            return []
        made = clause(self._state, where)
        asked = [(session, position - reach, position + reach) for session, position in spots]
        rows = self._connection.execute(
            f"WITH spot(session, first, last) AS (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?))"
            f" SELECT DISTINCT {PLACE} FROM spot CROSS JOIN {made.joined('memory', 'content')}"
            " WHERE version.session = spot.session AND version.session <> ''"
            f" AND version.position BETWEEN spot.first AND spot.last AND {made.sql} ORDER BY version.content",
            (json.dumps(asked), *made.values),
        ).fetchall()
        return [Place._make(row) for row in rows]

    def allowed(self, where: Filter) -> Keys:
        made = narrowed(self._connection, self._state, where)
        sql = f"SELECT version.content FROM {made.joined()} WHERE {made.sql}"
        rows = self._connection.execute(sql, made.values).fetchall()
        return np.sort(np.fromiter((key for (key,) in rows), np.int64, len(rows)))

    def by_vector(self, vector: Vectors, where: Filter, limit: int) -> list[Match]:
        index = self._index(vector)
        if limit <= 0 or not index.size:
            return []
        tried = OVERFETCH * limit
        matches = self._admitted(index, vector, where, tried, None)
        only: Numbers | None = None
        while len(matches) < limit and tried < index.size:
            # Too few passed the filter, or a few long memories filled the places with their many chunks.
            if only is None and len(matches) * WIDENING < limit:
                only = self.allowed(where)  # among these alone, as many as before are enough
            else:  # as many more as have failed so far, and some to spare
                tried = int(tried * min(WIDENING, SPARE * limit / max(1, len(matches)))) + 1
            matches = self._admitted(index, vector, where, tried, only)
        return matches[:limit]

    def _admitted(self, index: Index, vector: Vectors, where: Filter, tried: int, only: Numbers | None) -> list[Match]:
        """The best chunk of each memory that the filter admits, complete down to the worst chunk looked at."""
        chunks, owners, cosines = index.nearest(self._connection, vector, tried, only)
        first = np.sort(np.unique(owners, return_index=True)[1])
        made = clause(self._state, where, by=BY_CONTENT)
        rows: list[tuple[Any, ...]] = self._connection.execute(
            f"SELECT version.content, memory.id FROM {made.joined('memory')} WHERE {made.sql}",
            (json.dumps(owners[first].tolist()), *made.values),
        ).fetchall()
        ids = dict(rows)
        best = [i for i in first.tolist() if int(owners[i]) in ids]
        spans = self._spans([int(chunks[i]) for i in best])
        return [
            Match(ids[int(owners[i])], float(cosines[i]), spans[int(chunks[i])])
            for i in best
            if int(chunks[i]) in spans
        ]

    def _spans(self, chunks: Sequence[int]) -> dict[int, tuple[int, int]]:
        rows: list[tuple[Any, ...]] = self._connection.execute(
            f"SELECT id, start, stop FROM chunk WHERE id {AMONG}", (json.dumps(list(chunks)),)
        ).fetchall()
        return {id: (start, stop) for id, start, stop in rows}


# Most filters admit most memories: look at this many of the nearest before computing who is admitted at all.
OVERFETCH = 3
WIDENING = 4
SPARE = 1.5


def divided(holding: dict[str, int]) -> tuple[list[str], dict[str, int]]:
    """The terms that are weighed, and how much is read of those that are too common for that."""
    weighed: list[str] = []
    common: dict[str, int] = {}
    read = 0
    for term in sorted(holding, key=holding.__getitem__):
        read += holding[term]
        if holding[term] <= WEIGHED:
            weighed.append(term)
        elif read <= POSTINGS_READ or not (weighed or common):
            common[term] = POSTINGS_READ
    return weighed, common


def occurrences(term: str, line: str) -> int:
    """How often the stems of a term follow each other in a line."""
    stems, wanted = line.split(), term.split()
    return sum(stems[at : at + len(wanted)] == wanted for at in range(len(stems) - len(wanted) + 1)) if wanted else 0


def vectors_for(connection: apsw.Connection, digests: Sequence[bytes]) -> dict[bytes, Vectors]:
    """Vectors already stored for exactly these texts, in any space and state."""
    rows: list[tuple[Any, ...]] = connection.execute(
        "SELECT value, (SELECT halves FROM chunk CROSS JOIN vector ON vector.chunk = chunk.id"
        " WHERE chunk.digest = unhex(value) LIMIT 1) FROM json_each(?)",
        (json.dumps([digest.hex() for digest in set(digests)]),),
    ).fetchall()
    return {bytes.fromhex(digest): as_vector(halves) for digest, halves in rows if halves is not None}


def vectors_of(connection: apsw.Connection, state: State, ids: Sequence[str]) -> dict[str, Vectors]:
    rows: list[tuple[Any, ...]] = connection.execute(
        "SELECT memory.id, vector.halves FROM memory CROSS JOIN version ON version.key = memory.key"
        " CROSS JOIN chunk ON chunk.content = version.content CROSS JOIN vector ON vector.chunk = chunk.id"
        f" WHERE memory.space = ? AND memory.id {AMONG} AND {state.of('version')} ORDER BY chunk.id",
        (state.space, json.dumps(list(ids))),
    ).fetchall()
    by_id: dict[str, list[Vectors]] = {}
    for id, halves in rows:
        by_id.setdefault(id, []).append(as_vector(halves))
    return {id: np.stack(result) for id, result in by_id.items()}


def stored_vectors(connection: apsw.Connection, chunks: Sequence[int]) -> list[Vectors]:
    """Of those that have one, in the order of their numbers."""
    sql = f"SELECT halves FROM vector WHERE chunk {AMONG} ORDER BY chunk"
    rows: list[tuple[Any, ...]] = connection.execute(sql, (json.dumps(list(chunks)),)).fetchall()
    return [as_vector(halves) for (halves,) in rows]


def as_vector(halves: bytes) -> Vectors:
    return np.frombuffer(halves, "<f2").astype(np.float32)
