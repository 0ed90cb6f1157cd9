"""Search in one state of a space: postings, nearest vectors, places and neighbours."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np

from nacre.model import Filter
from nacre.protocols import Keys, Match, Place, Vectors
from nacre.storage.candidates import COLUMN_WEIGHTS, Posting
from nacre.storage.sqlite import words
from nacre.storage.sqlite.filters import AMONG, State, clause, narrowed
from nacre.storage.sqlite.rows import fetch, only_row

if TYPE_CHECKING:
    from nacre.storage.sqlite.vectors import Mirror, Numbers, SignIndex

# A stem on at most so many memories is weighed by how often it is in each; a commoner one says little, however often it
# is there. Past the second number reading on costs more than it tells, and of one stem only the newest are read.
# Measured on 5,500 turns: the same hits as without any of these limits.
WEIGHED = 300
POSTINGS_READ = 2_000
COLUMNS = ("title", "text", "role")
STEM_WEIGHTS = {"tag_stems": COLUMN_WEIGHTS["tags"], "entity_stems": COLUMN_WEIGHTS["entities"]}
PLACE = (
    "version.content, memory.id, version.session, version.position, content.role, content.characters, content.asks,"
    " coalesce(version.occurred_at, version.created_at)"
)


class SQLiteIndex:
    """One state of one space, within one snapshot. A key is the number of the content that a memory has in it."""

    def __init__(self, connection: apsw.Connection, state: State, mirror: Mirror) -> None:
        self._connection = connection
        self._state = state
        self._mirror = mirror
        self._size: tuple[int, int] | None = None

    def measure(self, where: Filter) -> tuple[int, int]:
        if where.conditions:
            made = narrowed(self._connection, self._state, where)
            sql = f"SELECT count(*), coalesce(sum(version.length), 0) FROM {made.joined()} WHERE {made.sql}"
            memories, stems = only_row(self._connection, sql, *made.values)
            return int(memories), int(stems)
        if self._size is None:
            sql = "SELECT memories, stems FROM space WHERE number = ?"
            memories, stems = next(iter(fetch(self._connection, sql, (self._state.space,))), (0, 0))
            self._size = memories, stems
        return self._size

    def postings(self, terms: Sequence[str], visible: Filter) -> dict[str, Posting]:
        holding = self._holding(terms)
        memories, stems = self.measure(Filter())
        average = max(1.0, stems / max(1, memories))
        weighed: list[str] = []
        common: dict[str, int] = {}
        read = 0
        for term in sorted(holding, key=holding.__getitem__):
            read += holding[term]
            if holding[term] <= WEIGHED:
                weighed.append(term)
            elif read <= POSTINGS_READ or not (weighed or common):
                common[term] = POSTINGS_READ
        frequencies = self._frequencies(weighed)
        plain = self._newest(common)
        lengths = self._lengths({key for found in frequencies.values() for key in found}, visible)
        if visible.conditions and plain:
            seen = self._lengths({key for keys in plain.values() for key in keys}, visible)
            plain = {term: [key for key in keys if key in seen] for term, keys in plain.items()}
        made: dict[str, Posting] = {}
        for term in terms:
            if term in frequencies:
                keys = sorted(key for key in frequencies[term] if key in lengths)
                exact = len(keys) if visible.conditions or " " in term else max(holding[term], len(keys))
                made[term] = Posting(
                    np.array(keys, np.int64),
                    np.array([frequencies[term][key] for key in keys], np.float32),
                    np.array([lengths[key] for key in keys], np.float32),
                    exact,
                )
            elif term in plain:
                keys = sorted(plain[term])
                count = len(keys) if visible.conditions else holding[term]
                # Once, in a text of usual length: the weight of that is 1.
                made[term] = Posting(
                    np.array(keys, np.int64),
                    np.ones(len(keys), np.float32),
                    np.full(len(keys), average, np.float32),
                    count,
                )
        return made

    def _holding(self, terms: Sequence[str]) -> dict[str, int]:
        """On how many memories each is, at most: a phrase is at least as rare as its rarest word."""
        parts = {term: term.split() for term in terms}
        asked = json.dumps(list({stem for stems in parts.values() for stem in stems}))
        sql = f"SELECT term, n FROM term_count WHERE space = ? AND term {AMONG}"
        counts = dict(fetch(self._connection, sql, (self._state.space, asked)))
        past = self._state.seq is not None  # a word may be only in what has changed since
        smallest = {
            term: min((counts.get(stem, int(past)) for stem in stems), default=0) for term, stems in parts.items()
        }
        return {term: int(n) for term, n in smallest.items() if n}

    def _frequencies(self, terms: Sequence[str]) -> dict[str, dict[int, float]]:
        """How often each term is in each memory, weighted by field."""
        found: dict[str, dict[int, float]] = {term: defaultdict(float) for term in terms}
        if not terms:
            return found
        simple = {words.tokens(self._state.space, term): term for term in terms if term.isascii() and term.isalnum()}
        rows: list[tuple[Any, ...]] = self._connection.execute(
            f"SELECT term, doc, col FROM occurrence WHERE term {AMONG}", (json.dumps(list(simple)),)
        ).fetchall()
        for token, key, column in rows:
            found[simple[token]][key] += COLUMN_WEIGHTS[column]
        for term in terms:
            if term not in simple.values():
                self._count_in_words(term, found[term])
        rows = self._connection.execute(
            "SELECT label.name, version.content, label.field, label.times FROM label CROSS JOIN version"
            f" ON version.key = label.key AND {self._state.of('version')}"
            f" WHERE label.space = ? AND label.field IN ('tag_stems', 'entity_stems') AND label.name {AMONG}"
            f" AND {self._state.of('label')}",
            (self._state.space, json.dumps([term for term in terms if " " not in term])),
        ).fetchall()
        for term, key, field, times in rows:
            found[term][key] += STEM_WEIGHTS[field] * times
        for term in (term for term in terms if " " in term):
            self._count_in_names(term, found[term])
        return found

    def _count_in_words(self, term: str, found: dict[int, float]) -> None:
        """For phrases, and for signs that the index may fold: counted in the stems themselves."""
        rows: list[tuple[Any, ...]] = self._connection.execute(
            "SELECT number, words FROM word CROSS JOIN content ON content.number = word.rowid WHERE word MATCH ?"
            " ORDER BY word.rowid DESC LIMIT ?",
            (words.phrase(self._state.space, term), POSTINGS_READ),
        ).fetchall()
        for key, stems in rows:
            for column, line in zip(COLUMNS, words.unpacked(stems, len(COLUMNS)), strict=True):
                times = occurrences(term, line)
                if times:
                    found[key] += COLUMN_WEIGHTS[column] * times

    def _count_in_names(self, phrase: str, found: dict[int, float]) -> None:
        first = phrase.split()[0]
        rows: list[tuple[Any, ...]] = self._connection.execute(
            "SELECT DISTINCT version.content, version.stems FROM label CROSS JOIN version"
            f" ON version.key = label.key AND {self._state.of('version')}"
            " WHERE label.space = ? AND label.field IN ('tag_stems', 'entity_stems') AND label.name = ?"
            f" AND {self._state.of('label')} LIMIT ?",
            (self._state.space, first, POSTINGS_READ),
        ).fetchall()
        for key, stems in rows:
            for weight, line in zip(STEM_WEIGHTS.values(), words.unpacked(stems, 2), strict=True):
                times = occurrences(phrase, line)
                if times:
                    found[key] += weight * times

    def _newest(self, limits: dict[str, int]) -> dict[str, list[int]]:
        """The newest contents with each term, so many at most."""
        found: dict[str, list[int]] = {term: [] for term in limits}
        if not limits:
            return found
        one = "SELECT ? AS term, rowid FROM (SELECT rowid FROM word WHERE word MATCH ? ORDER BY rowid DESC LIMIT ?)"
        values = [
            value for term, limit in limits.items() for value in (term, words.phrase(self._state.space, term), limit)
        ]
        rows: list[tuple[Any, ...]] = self._connection.execute(
            " UNION ALL ".join(one for _ in limits), values
        ).fetchall()
        for term, key in rows:
            found[term].append(key)
        return found

    def _lengths(self, keys: set[int], visible: Filter) -> dict[int, int]:
        """How many stems each of the memories has that belong to the state and are visible."""
        if not keys:
            return {}
        made = clause(self._state, visible, lead_contents=True)
        rows = self._connection.execute(
            f"SELECT version.content, version.length FROM {made.joined()} WHERE {made.sql}",
            (json.dumps(list(keys)), *made.values),
        ).fetchall()
        return {int(key): int(length) for key, length in rows}  # type: ignore[arg-type]

    def nearest(self, vector: Vectors, limit: int, only: Keys | None = None) -> Keys:
        index = self._mirror.current(self._connection, len(vector))
        tried = max(limit, 0)
        while True:
            _, owners, _ = index.nearest(vector, tried, only)
            first = np.sort(np.unique(owners, return_index=True)[1])[: max(limit, 0)]
            if len(first) >= limit or len(owners) < tried:
                return owners[first]
            tried *= WIDENING  # a few long memories filled the places with their many chunks

    def cosines(self, vector: Vectors, keys: Keys) -> Vectors:
        return self._mirror.current(self._connection, len(vector)).cosines(vector, keys)

    def places(self, keys: Keys, where: Filter) -> list[Place]:
        made = clause(self._state, where, lead_contents=True)
        rows = self._connection.execute(
            f"SELECT {PLACE} FROM {made.joined('memory', 'content')} WHERE {made.sql} ORDER BY version.content",
            (json.dumps(keys.tolist()), *made.values),
        ).fetchall()
        return [placed(row) for row in rows]

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
        return [placed(row) for row in rows]

    def allowed(self, where: Filter) -> Keys:
        made = narrowed(self._connection, self._state, where)
        sql = f"SELECT version.content FROM {made.joined()} WHERE {made.sql}"
        rows = self._connection.execute(sql, made.values).fetchall()
        return np.sort(np.fromiter((key for (key,) in rows), np.int64, len(rows)))

    def by_vector(self, vector: Vectors, where: Filter, limit: int) -> list[Match]:
        index = self._mirror.current(self._connection, len(vector))
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

    def _admitted(
        self, index: SignIndex, vector: Vectors, where: Filter, tried: int, only: Numbers | None
    ) -> list[Match]:
        """The best chunk of each memory that the filter admits, complete down to the worst chunk looked at."""
        chunks, owners, cosines = index.nearest(vector, tried, only)
        first = np.sort(np.unique(owners, return_index=True)[1])
        made = clause(self._state, where, lead_contents=True)
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


def occurrences(term: str, line: str) -> int:
    """How often the stems of a term follow each other in a line."""
    stems, wanted = line.split(), term.split()
    return sum(stems[at : at + len(wanted)] == wanted for at in range(len(stems) - len(wanted) + 1)) if wanted else 0


def placed(row: tuple[Any, ...]) -> Place:
    return Place._make((*row[:6], bool(row[6]), row[7]))


def vectors_for(connection: apsw.Connection, digests: Sequence[bytes]) -> dict[bytes, Vectors]:
    """Vectors already stored for exactly these texts, in any space and state."""
    from nacre.storage.sqlite import vectors

    stored: dict[bytes, Vectors] = {}
    rows: list[tuple[Any, ...]] = connection.execute(
        "SELECT unhex(wanted.value), min(chunk.id), chunk.space FROM json_each(?) AS wanted CROSS JOIN chunk"
        " ON chunk.digest = unhex(wanted.value) WHERE chunk.embedded GROUP BY 1",
        (json.dumps([digest.hex() for digest in set(digests)]),),
    ).fetchall()
    for digest, chunk, space in rows:
        vector = vectors.one(connection, str(space), chunk)
        if vector is not None:
            stored[digest] = vector
    return stored


def vectors_of(connection: apsw.Connection, state: State, ids: Sequence[str]) -> dict[str, Vectors]:
    """The vectors of each memory, read block by block: a page of a large space must not load all of it."""
    from nacre.storage.sqlite import vectors

    by_id: dict[str, list[Vectors]] = {}
    held, halves = np.empty(0, np.int64), np.empty((0, 0), np.float16)
    rows: list[tuple[Any, ...]] = connection.execute(
        "SELECT chunk.id, memory.id FROM memory CROSS JOIN version ON version.key = memory.key"
        " CROSS JOIN chunk ON chunk.content = version.content"
        f" WHERE memory.space = ? AND memory.id {AMONG} AND {state.of('version')} AND chunk.embedded"
        " ORDER BY chunk.id",
        (state.space, json.dumps(list(ids))),
    ).fetchall()
    for chunk, id in rows:
        if not len(held) or held[-1] < chunk:
            held, halves = vectors.block_of(connection, str(state.space), chunk)
        place = int(np.searchsorted(held, chunk))
        if place < len(held) and held[place] == chunk:
            by_id.setdefault(id, []).append(halves[place].astype(np.float32))
    return {id: np.stack(found) for id, found in by_id.items()}
