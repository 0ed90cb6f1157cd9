"""Search in one state of a space: postings, nearest vectors, places and neighbours; and the vectors that it compares.

Sign bits find the likely nearest vectors, exact cosines decide. Three tables, all derived from the texts: `vector` has
one row for each vector, so that the few hundred that are compared exactly can be read alone; `signs` has the sign bits
of all but the newest, packed, so that a process need not read the vectors to begin; `centre` says for each space with
many vectors what their signs are relative to, and how far signs can be trusted. An owner is the number of a content.
Chunk numbers of a space only ever rise.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias, TypeVar

import apsw
import numpy as np
from numpy.typing import NDArray

from nacre.model import Filter, Memory
from nacre.protocols import ALL, HALF_BYTES, CandidateLink, EmbedderIdentity, Keys, Match, Place, Vectors
from nacre.storage.candidates import (
    FIELD_WEIGHTS,
    NO_KEYS,
    POSTINGS_READ,
    Reached,
    Successor,
    WordCounts,
    WordIndex,
    WordQuestion,
    distinct,
    is_among,
    occurrences,
    products,
)
from nacre.storage.sqlite.rows import (
    AMONG,
    EMBEDDER_VALUES,
    PLACE_BITS,
    SELECTED,
    WANTED,
    Clause,
    State,
    clause,
    embedder_identity,
    fetch,
    from_row,
    intersected,
    narrowed,
    only_row,
    phrase,
    tokens,
)
from nacre.storage.tables import TERM, DamagedRecord, SQLValue, as_json, unpacked_stems

Kind = TypeVar("Kind", bound=np.generic)
Numbers: TypeAlias = NDArray[np.int64]
Halves: TypeAlias = NDArray[np.float16]
Bits: TypeAlias = NDArray[np.uint64]  # a row for each word of 64 bits, a column for each vector
Mask: TypeAlias = NDArray[np.bool_]

log = logging.getLogger("nacre.damage")

# Most filters admit most memories: look at this many of the nearest before computing who is admitted at all.
OVERFETCH = 3
WIDENING = 4
SPARE = 1.5
# How many sign-bit neighbours are scored exactly. Measured on 24,000 MiniLM vectors: 99.8 % of the best 10 are among
# the 400, and reading these takes a millisecond.
RESCORED = 400
# Where counts of signs lose too many, those are chosen from so many times as many by a finer estimate. Measured on
# 100,000 sums of word vectors: 99 % of the best 10 are among the 400 then, by counts 90 %, and 97 % among 1,600. Ten
# was chosen on those 50 questions; on 50 others it is 97 % against 80 %.
CHOSEN_FROM = 10
RESCORED_PER_WANTED = 4
# The distances of every so many vectors show up to which one a choice has to look; some to spare, as they may differ.
COUNTED_EVERY = 64
COUNTED_SPARE = 1.5
LARGEST_PART = 16  # an exact scan of everything is quicker than reading one vector in so many one by one
SMALL = 4_096  # vectors: an exact scan takes a millisecond, and the mean of fewer would say little
BLOCK = 512  # vectors to a row of `signs`: 45 KB, of which a purge writes one anew; smaller ones are read more slowly
PACKED_AT_ONCE = 16_384  # by one write, so that no writer waits long: 50 ms
SLAB = 16_384  # rows that are compared at once; more do not fit into the processor's cache
SIGNS_AT_ONCE = 65_536  # vectors whose signs are: half a megabyte for each word of signs
REMOVALS_LOGGED = 20_000  # past this, readers load afresh rather than replay the removals
MIRRORED_BYTES = 256_000_000  # of all spaces in memory; a million signs take 90 MB
MIRRORED_SPACES = 100
BLOCKS_READ_AT_ONCE = 128  # 6 MB
WORD_BITS = 64
NO_END = 2**63 - 1
NONE = np.float32(-2)  # below every cosine
FAR = np.uint16(0xFFFF)  # above every distance
# What is computed from the text is no reason to leave a memory out where it is damaged: any number will do.
PLACE = (
    "version.content, memory.id, version.session, version.position, version.role,"
    " CAST(version.length AS INTEGER), CAST(version.asks AS INTEGER),"
    " coalesce(version.occurred_at, version.created_at)"
)
OWN_PLACE = "content, id, session, position, role, length, asks, at"  # the same, in a table of `reached`
OWN_COLUMNS = f"key, {OWN_PLACE}"
# How a row of `reached` came about.
OWN, SUCCESSOR, LINKED_TO, LINKED_FROM = range(4)


# The values of a `VectorState`; the space is named by its number.
VECTOR_STATE = (
    "(SELECT value FROM meta WHERE key = 'vector_epoch'), (SELECT number FROM centre WHERE space = {0}),"
    " (SELECT coalesce(max(seq), 0) FROM removed),"
    " (SELECT chunk FROM vector WHERE space = {0} ORDER BY chunk DESC LIMIT 1),"
    " (SELECT max(last) FROM signs WHERE space = {0})"
)
# Contents are numbered as they come, so that no content of an earlier state has a higher number than the first memory
# that came after it. Where so many entries brought no new memory, the limit is not known; reading them takes 5 ms.
ENTRIES_READ = 10_000
NEWEST_CONTENT = (
    "(SELECT content - 1 FROM (SELECT key, journal.seq AS began, old FROM journal"
    f" WHERE place > (number << {PLACE_BITS}) + :seq AND place < (number + 1) << {PLACE_BITS}"
    f" ORDER BY place LIMIT {ENTRIES_READ}) AS later CROSS JOIN main.version AS new ON new.key = later.key"
    " AND new.seq_from = later.began WHERE NOT later.old LIMIT 1)"
)
# What a search has to know of a space before it begins, in one row, also where there is no such space: how many
# memories and stems there are at present and were after a journal entry, how far the vectors are, the newest content of
# an earlier state, and on how many memories each of a list of stems is at present.
SEARCHED = (
    "SELECT coalesce(number, 0), json_array(coalesce(memories, 0), coalesce(stems, 0)),"
    f" coalesce((SELECT json_array(journal.memories, journal.stems) FROM journal WHERE place >= number << {PLACE_BITS}"
    f" AND place <= (number << {PLACE_BITS}) + :seq ORDER BY place DESC LIMIT 1),"
    " json_array(dropped_memories, dropped_stems)),"
    f" {VECTOR_STATE.format('space.number')}, iif(:seq IS NULL, NULL, {NEWEST_CONTENT}),"
    " (SELECT json_group_object(counter.name, n) FROM counter"
    f" WHERE space = space.number AND field = '{TERM}' AND status = ''"
    " AND counter.name IN (SELECT value FROM json_each(:stems)))"
    " FROM (SELECT 1) LEFT JOIN present AS space ON space.name = :space"
)


class VectorState(NamedTuple):
    """How far the vectors of a space have come in the file: from it a process sees what it has not read yet."""

    epoch: SQLValue  # another one means that everything is to be read again
    centre: int | None
    removals: int
    last: int | None  # chunk with a vector
    packed: int | None  # chunk with signs


class NewVectors(NamedTuple):
    """Of one space, as they were written; `follow` is the last chunk with a vector that there was before."""

    follow: int
    chunks: Sequence[int]
    owners: Sequence[int]
    halves: Halves


class SQLiteIndex(WordIndex):
    """One state of one space, within one snapshot. A key is the number of the content that a memory has in it."""

    def __init__(
        self,
        connection: apsw.Connection,
        state: State,
        vectors: Callable[[int], VectorIndex],
        size: tuple[int, int],
        present: int,
        holding: Mapping[str, int],
        newest: int | None = None,
    ) -> None:
        super().__init__(past=state.seq is not None, size=size, present=present, holding=holding)
        self._connection = connection
        self._state = state
        self._vectors = vectors  # of so many dimensions; read when they are first asked for
        self._newest = newest  # the last content that an earlier state can have, where that is known
        self._signs: VectorIndex | None = None
        self._asked: Vectors | None = None  # the vector that it is asked about
        self._cosines: dict[int, float] = {}  # of that vector
        self.reads_records = False  # with the places
        self.memories: dict[str, Memory] = {}  # those that were read

    def measure(self, where: Filter) -> tuple[int, int]:
        if where.conditions:
            made = narrowed(self._connection, self._state, where)
            sql = f"SELECT count(*), coalesce(sum(version.length), 0) FROM {made.joined()} WHERE {made.sql}"
            memories, stems = only_row(self._connection, sql, *made.values)
            return int(memories), int(stems)
        return self._size

    def _counts(self, asked: WordQuestion) -> WordCounts:
        """Counts and newest contents come from one statement, since each statement costs a recall time; the newest of
        a term are one row, a list, and have no field."""
        terms, common, visible, admitted = asked
        lengths: dict[int, int] = {}
        result: dict[str, dict[int, float]] = {term: defaultdict(float) for term in terms}
        newest: dict[str, list[int]] = {term: [] for term in common}
        if not terms and not common:
            return WordCounts(result, newest, lengths)
        simple = {tokens(self._state.space, term): term for term in terms if term.isascii() and term.isalnum()}
        texts = clause(self._state, visible, by="first.row = occurrence.doc")
        names = clause(self._state, visible, by="version.key = label.key")
        held = clause(self._state, admitted or ALL, by="first.row = word.rowid")
        within = (f" CROSS JOIN {held.joined()}", f" AND {held.sql}") if admitted is not None else ("", "")
        one = (
            " UNION ALL SELECT ?, json_group_array(number), 0, NULL, 0 FROM (SELECT word.rowid AS number FROM word"
            f"{within[0]} WHERE word MATCH ? AND word.rowid <= ?{within[1]} ORDER BY word.rowid DESC LIMIT ?)"
        )
        values = [NO_END if self._newest is None else self._newest, *(held.values if admitted is not None else ())]
        searched = [(term, phrase(self._state.space, term), *values, limit) for term, limit in common.items()]
        rows = fetch(
            self._connection,
            "SELECT occurrence.term, version.content, version.length, occurrence.col, 1"
            f" FROM occurrence CROSS JOIN {texts.joined()} WHERE occurrence.term {AMONG} AND {texts.sql}"
            " UNION ALL SELECT label.name, version.content, version.length, label.field, label.times"
            f" FROM label CROSS JOIN {names.joined()} WHERE label.space = ?"
            f" AND label.field IN ('tag_stems', 'entity_stems') AND label.name {AMONG} AND {self._state.of('label')}"
            f" AND {names.sql}{one * len(searched)}",
            (as_json(list(simple)), *texts.values, self._state.space, as_json(list(terms)), *names.values,
             *(value for each in searched for value in each)),
        )  # fmt: skip
        for term, key, length, field, times in rows:
            if field is None:
                newest[term] = json.loads(key)
            else:
                result[simple.get(term, term)][key] += FIELD_WEIGHTS[field] * times
                lengths[key] = length
        for term in result.keys() - set(simple.values()):
            self._count(term, visible, result[term], lengths)
        return WordCounts(result, newest, lengths)

    def _count(self, term: str, visible: Filter, result: dict[int, float], lengths: dict[int, int]) -> None:
        """Phrases, and signs that the index may fold, are counted in the stems themselves."""
        texts = clause(self._state, visible, by="first.row = word.rowid")
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

    def _index(self, vector: Vectors) -> VectorIndex:
        if self._signs is None:
            self._signs, self._asked = self._vectors(len(vector)), vector
        return self._signs

    def nearest(self, vector: Vectors, limit: int, only: Keys | None = None, also: Keys = NO_KEYS) -> Keys:
        index = self._index(vector)
        past = self._past and only is None
        tried = limit if not past else limit * WIDENING if self._newest is None else int(limit * SPARE)
        # Where all vectors are in memory there is nothing to read.
        unknown = distinct(also) if index.centre is not None else NO_KEYS
        while True:
            (_, owners, cosines), more = index.search(self._connection, vector, tried, only, unknown, self._newest)
            best: dict[int, float] = {}  # of each owner its first chunk
            for owner, cosine in zip(owners.tolist(), cosines.tolist(), strict=True):
                best.setdefault(owner, cosine)
            keys = np.fromiter(best, np.int64, len(best))
            self._cosines |= best
            self._cosines |= zip(unknown.tolist(), more.tolist(), strict=True)
            unknown = NO_KEYS
            if past:  # what came later may be nearer than all that the state has
                keys = keys[np.isin(keys, self._in_state(keys))]
            if len(keys) >= limit or len(owners) < tried:
                return keys[: max(limit, 0)]
            tried *= WIDENING  # a few long memories filled the places with their many chunks

    def _in_state(self, keys: Keys) -> Keys:
        made = clause(self._state, ALL, by=WANTED)
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
        made = clause(self._state, where, by=WANTED)
        columns, width = f"{PLACE}, {SELECTED}" if self.reads_records else PLACE, len(Place._fields)
        tables = ("memory", "content") if self.reads_records else ("memory",)
        rows = fetch(
            self._connection,
            f"SELECT {columns} FROM {made.joined(*tables)} WHERE {made.sql} ORDER BY version.content",
            (json.dumps(keys.tolist()), *made.values),
        )
        if self.reads_records:
            self.memories |= {memory.id: memory for memory in (from_row(row[width:]) for row in rows)}
        return [Place._make(row[:width]) for row in rows]

    def reached(self, keys: Keys, where: Filter, replaced: Filter | None, linked_by: tuple[str, ...]) -> Reached:
        """One statement, since each costs a recall time."""
        if replaced is None and not linked_by:
            return Reached(self.places(keys, where))
        every, own = clause(self._state, ALL, by=WANTED), clause(self._state, where, by=WANTED)
        counted = own if replaced is None else clause(self._state, replaced, by=WANTED)
        # Each is looked up once, and says whether it is admitted and whether it counts for what superseded it.
        tables = [
            f"seen({OWN_COLUMNS}, successor, admitted, counted) AS MATERIALIZED (SELECT version.key, {PLACE},"
            f" version.superseded_by, {own.sql}, {counted.sql}"
            f" FROM {every.joined('memory', *own.tables, *counted.tables)} WHERE {every.sql})"
        ]
        selects = [f"SELECT {OWN}, 0, '', '', {OWN_PLACE}, NULL, NULL FROM seen WHERE admitted"]
        values: list[SQLValue] = [*own.values, *counted.values, json.dumps(keys.tolist()), *every.values]
        if replaced is not None:
            chain, select, first, last = self._successors(where, replaced)
            tables.append(chain)
            selects.append(select)
            values += [*first, *last]
        if linked_by:
            linked, more = self._linked(where, linked_by)
            selects += linked
            values += more
        rows = fetch(self._connection, f"WITH RECURSIVE {', '.join(tables)} {' UNION ALL '.join(selects)}", values)
        self._compare([(row[-2], row[4], row[-1]) for row in rows if row[-1] is not None])
        places: dict[int, Place] = {}
        successors: dict[Successor, None] = {}
        links: dict[CandidateLink, None] = {}
        for row in rows:
            place = Place._make(row[4:-2])
            places[place.key] = place
            how, key, id, kind = row[:4]
            if how == SUCCESSOR:
                successors[Successor(key, id, place)] = None
            elif how != OWN:
                source, target = (place.id, id) if how == LINKED_FROM else (id, place.id)
                links[CandidateLink(source, target, kind)] = None
        return Reached([places[key] for key in sorted(places)], tuple(successors), tuple(links))

    @property
    def _beside(self) -> tuple[str, str]:
        """Columns and joins for the vectors of what a query reaches beside what was asked for, where vectors are read
        from the file: their cosines will be asked for next."""
        if self._signs is None or self._signs.centre is None:
            return "NULL, NULL", ""
        chunks = " LEFT JOIN chunk ON chunk.content = version.content"
        return "vector.chunk, vector.halves", f"{chunks} LEFT JOIN vector ON vector.chunk = chunk.id"

    def _successors(self, where: Filter, replaced: Filter) -> tuple[str, str, list[SQLValue], list[SQLValue]]:
        """A table of the chains that begin at what was seen, the query for their members, and the values of both."""
        next_one = clause(self._state, replaced, by="version.key = named.key")
        member = clause(self._state, where, by="version.key = named.key")
        named = "chain CROSS JOIN memory AS named ON named.space = ? AND named.id = chain.successor"
        chain = (
            "chain(key, id, successor) AS (SELECT content, id, successor FROM seen WHERE counted AND successor <> ''"
            f" UNION SELECT chain.key, chain.id, version.superseded_by FROM {named} CROSS JOIN {next_one.joined()}"
            f" WHERE {next_one.sql} AND +version.superseded_by <> '')"
        )
        vectors, joined = self._beside
        select = (
            f"SELECT {SUCCESSOR}, chain.key, chain.id, '', {PLACE}, {vectors} FROM {named}"
            f" CROSS JOIN {member.joined('memory')}{joined} WHERE {member.sql}"
        )
        space = self._state.space
        return chain, select, [space, *next_one.values], [space, *member.values]

    def _linked(self, where: Filter, rels: tuple[str, ...]) -> tuple[list[str], list[SQLValue]]:
        """The queries for what links of the relations lead to from those that are admitted, and what leads to them."""
        among = ", ".join("?" * len(rels))
        own = "seen AS own CROSS JOIN link ON own.admitted"
        near = f"{own} AND {{}} AND link.rel IN ({among}) AND {self._state.of('link')}"
        source = clause(self._state, where, by="version.key = link.key")
        target = clause(self._state, where, by="version.key = named.key")
        vectors, joined = self._beside
        columns = f"own.content, own.id, link.kind, {PLACE}, {vectors}"
        selects = [
            f"SELECT {LINKED_FROM}, {columns} FROM {near.format('link.space = ? AND link.target = own.id')}"
            f" CROSS JOIN {source.joined('memory')}{joined} WHERE {source.sql}",
            f"SELECT {LINKED_TO}, {columns} FROM {near.format('link.key = own.key')}"
            " CROSS JOIN memory AS named ON named.space = link.space AND named.id = link.target"
            f" CROSS JOIN {target.joined('memory')}{joined} WHERE {target.sql}",
        ]
        return selects, [self._state.space, *rels, *source.values, *rels, *target.values]

    def around(self, spots: Sequence[tuple[str, int]], reach: int, where: Filter, known: Keys) -> list[Place]:
        if not spots:
            return []
        made = clause(self._state, where, by_anchor=True)
        asked = [(session, position - reach, position + reach) for session, position in spots]
        vectors, joined = self._beside
        rows = fetch(
            self._connection,
            "WITH spot(session, first, last) AS (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?))"
            f" SELECT {PLACE}, {vectors} FROM spot CROSS JOIN {made.joined('memory')}{joined}"
            " WHERE lead.session = spot.session AND lead.session <> ''"
            f" AND lead.position BETWEEN spot.first AND spot.last AND {made.sql} AND version.content NOT {AMONG}",
            (json.dumps(asked), *made.values, json.dumps(known.tolist())),
        )
        self._compare([(row[-2], row[0], row[-1]) for row in rows if row[-1] is not None])
        return sorted(dict.fromkeys(Place._make(row[:-2]) for row in rows), key=attrgetter("key"))

    def _compare(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Adds the cosines of vectors (with their chunks and owners) to those that are known."""
        index, vector = self._signs, self._asked
        if index is None or vector is None or not rows:
            return
        _, owners, halves = arrays(rows, index.dimensions)
        cosines: dict[int, float] = {}
        for owner, cosine in zip(owners.tolist(), products(halves, vector).tolist(), strict=True):
            cosines[owner] = max(cosine, cosines.get(owner, -1.0))
        self._cosines = cosines | self._cosines

    def few(self, where: Filter, replaced: Filter | None) -> Keys | None:
        """As `allowed`, where an index shows that these are a small part of all memories; else None."""
        made = narrowed(self._connection, self._state, where)
        keys = self._keys(made, replaced) if made.narrow else None
        return None if keys is None or len(keys) * LARGEST_PART > self._size[0] else keys

    def allowed(self, where: Filter, replaced: Filter | None = None) -> Keys:
        return self._keys(intersected(self._connection, self._state, where, self._size[0]), replaced)

    def _keys(self, made: Clause, replaced: Filter | None) -> Keys:
        sql, values = f"SELECT version.content FROM {made.joined()} WHERE {made.sql}", made.values
        if replaced is not None:
            before = clause(self._state, replaced, by="lead.superseded_by = chain.id AND lead.superseded_by <> ''")
            sql = (
                f"WITH RECURSIVE chain(content, id) AS (SELECT version.content, memory.id FROM {made.joined('memory')}"
                f" WHERE {made.sql} UNION SELECT version.content, memory.id FROM chain"
                f" CROSS JOIN {before.joined('memory')} WHERE lead.space = ? AND {before.sql})"
                " SELECT DISTINCT content FROM chain"
            )
            values = [*made.values, self._state.space, *before.values]
        rows = self._connection.execute(sql, values).fetchall()
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

    def _admitted(
        self, index: VectorIndex, vector: Vectors, where: Filter, tried: int, only: Numbers | None
    ) -> list[Match]:
        """The best chunk of each memory that the filter admits, complete down to the worst chunk looked at."""
        chunks, owners, cosines = index.nearest(self._connection, vector, tried, only, self._newest)
        first = np.sort(np.unique(owners, return_index=True)[1])
        made = clause(self._state, where, by=WANTED)
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


def vectors_for(connection: apsw.Connection, digests: Sequence[bytes]) -> tuple[EmbedderIdentity, dict[bytes, Vectors]]:
    """Vectors already stored for exactly these texts, in any space and state; one row without a digest is always
    there, for the identity."""
    rows: list[tuple[Any, ...]] = connection.execute(
        f"SELECT {', '.join(EMBEDDER_VALUES)}, value, (SELECT halves FROM chunk CROSS JOIN vector"
        " ON vector.chunk = chunk.id WHERE chunk.digest = unhex(value) LIMIT 1)"
        " FROM (SELECT 1) LEFT JOIN json_each(?)",
        (json.dumps([digest.hex() for digest in set(digests)]),),
    ).fetchall()
    stored = {bytes.fromhex(digest): as_vector(halves) for *_, digest, halves in rows if halves is not None}
    return embedder_identity(*rows[0][:-2]), stored


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


# Vectors in the file


class Centre(NamedTuple):
    """`rescored` is how many of the nearest by signs are compared exactly; 0 where signs lose too many neighbours. They
    are chosen from `chosen_from` times as many by an estimate; 1 where the count of signs alone decides."""

    number: int
    mean: Vectors
    vectors: int  # that the space had when this was measured
    rescored: int
    chosen_from: int = 1


def write(
    connection: apsw.Connection,
    space: SQLValue,
    chunks: Sequence[int],
    owners: Sequence[int],
    rows: Vectors,
    written: Collection[int] = (),
) -> Halves:
    """As they are in the file, where those of the chunks in `written` are already. `chunks` must rise, and all lie
    above what the space holds already: readers look only past their last one."""
    halves = rows.astype("<f2")
    new = [(chunk, space, owner, half.tobytes()) for chunk, owner, half in zip(chunks, owners, halves, strict=True)]
    connection.executemany(
        "INSERT INTO vector(chunk, space, owner, halves) VALUES (?, ?, ?, ?)",
        [row for row in new if row[0] not in written],
    )
    return halves


def pack_signs(connection: apsw.Connection, space: SQLValue, dimensions: int) -> None:
    """Where enough vectors were written since it was last done."""
    waiting, measured = only_row(
        connection,
        "SELECT (SELECT count(*) FROM (SELECT 1 FROM vector WHERE space = ?1"
        " AND chunk > (SELECT coalesce(max(last), 0) FROM signs WHERE space = ?1) LIMIT ?2)),"
        " (SELECT vectors FROM centre WHERE space = ?1)",
        space,
        PACKED_AT_ONCE,
    )
    if waiting >= (SMALL if measured is None else BLOCK):
        from nacre.storage.sqlite import signs  # which few writes need

        signs.pack(connection, space, dimensions, waiting, measured)


def centre_of(connection: apsw.Connection, space: SQLValue) -> Centre | None:
    """None where there is none, or it is damaged: every vector is compared then."""
    row: Any = connection.execute(
        "SELECT number, mean, vectors, rescored, chosen_from FROM centre WHERE space = ?", (space,)
    ).fetchone()
    try:
        return None if row is None else Centre(row[0], np.frombuffer(row[1], "<f4"), *map(int, row[2:]))
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
    if any(last is not None for (last,) in blocks):
        from nacre.storage.sqlite import signs

        for (last,) in blocks:
            if last is not None:
                signs.pack_again(connection, space, last)
    # The mean of what is gone says something of it, too.
    connection.execute(
        "DELETE FROM centre WHERE space = ?1 AND NOT EXISTS (SELECT 1 FROM vector WHERE space = ?1)", (space,)
    )
    trim_removals(connection)


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
    numbers, owners, halves = zip(*rows, strict=True) if rows else ((), (), ())
    size = dimensions * HALF_BYTES
    if {*map(type, halves)} <= {bytes} and {*map(len, halves)} <= {size}:
        vectors = np.frombuffer(b"".join(halves), "<f2").reshape(len(rows), dimensions)
        return np.array(numbers, np.int64), np.array(owners, np.int64), vectors
    sound = [row for row in rows if type(row[2]) is bytes and len(row[2]) == size]
    # Their memories are found by their words; the doctor counts what is missing.
    log.warning(
        "%d damaged vectors are left out. Run `nacre store reindex` to compute them again.", len(rows) - len(sound)
    )
    return arrays(sound, dimensions)


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


def sign_bits(rows: Halves | Vectors, mean: Vectors) -> Bits:
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
    for start in range(0, size, SIGNS_AT_ONCE):
        slab = distances[start : start + SIGNS_AT_ONCE]
        for row, word in zip(bits[:, start : start + len(slab)], asked, strict=True):
            slab += np.bitwise_count(row ^ word)
    return distances


def lowest(distances: NDArray[np.uint16], wanted: int) -> Numbers:
    """The places of the `wanted` lowest, rising; `FAR` is never among them. As many equals as fit, the first ones."""
    near = nearly_lowest(distances, wanted)
    held = distances[near]
    limit = int(np.searchsorted(np.cumsum(np.bincount(held)), wanted))  # above all of them where fewer are there
    below, equal = near[held < limit], near[held == limit]
    return np.sort(np.concatenate([below, equal[: wanted - len(below)]]))


def nearly_lowest(distances: NDArray[np.uint16], wanted: int) -> Numbers:
    """The places of all up to some distance, rising, among them the `wanted` lowest. A part of the distances shows how
    far that is: to count them all takes longer than the rest of the choice."""
    part = np.sort(distances[::COUNTED_EVERY])
    place = int(COUNTED_SPARE * wanted / COUNTED_EVERY)
    if place < len(part) and part[place] != FAR:
        near = np.flatnonzero(distances <= part[place])
        if len(near) >= wanted:
            return near
    return np.flatnonzero(distances != FAR)


def likeliest(bits: Bits, rows: Numbers, vector: Vectors, wanted: int) -> Numbers:
    """Those of the rows (rising) that are probably nearest: the sums of the numbers that are asked for, where the signs
    are set, are the highest."""
    if len(rows) <= wanted:
        return rows
    asked = np.zeros(len(bits) * WORD_BITS, np.float32)
    asked[: len(vector)] = vector
    set_bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32)
    sums = np.einsum("ij,kj->ik", asked.reshape(-1, 8), set_bits)  # of each octet; see `products` about threads
    estimates = np.zeros(len(rows), np.float32)
    # Into the same arrays, and without a check of places that cannot be wrong: a third less time.
    places, taken = np.empty(len(rows), np.intp), np.empty(len(rows), np.float32)
    for word, of_octets in zip(bits, sums.reshape(len(bits), -1, 256), strict=True):
        octets = word.take(rows).astype("<u8", copy=False).view(np.uint8).reshape(len(rows), -1)
        for of_octet, column in zip(of_octets, octets.T, strict=True):
            places[:] = column
            estimates += of_octet.take(places, out=taken, mode="wrap")
    return np.sort(rows[np.argpartition(-estimates, wanted - 1)[:wanted]])


# Vectors in memory


class VectorIndex:
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
            return self.append_signs(chunks, owners, sign_bits(halves, self.centre.mean))
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
        self,
        connection: apsw.Connection,
        vector: Vectors,
        limit: int,
        allowed: Numbers | None = None,
        newest: int | None = None,
    ) -> tuple[Numbers, Numbers, Vectors]:
        """Chunks, their owners and cosines, best first; only owners in `allowed` (rising) and up to `newest`, where
        they are given."""
        return self.search(connection, vector, limit, allowed, NO_KEYS, newest)[0]

    def search(
        self,
        connection: apsw.Connection,
        vector: Vectors,
        limit: int,
        allowed: Numbers | None,
        also: Numbers,
        newest: int | None = None,
    ) -> tuple[tuple[Numbers, Numbers, Vectors], Vectors]:
        """The nearest, and with the same statement the cosines of the owners in `also` (rising)."""
        size = self.size  # another thread may append meanwhile
        likely = self._candidates(vector, max(limit, 0), allowed, size, newest)
        read = distinct(np.concatenate([likely, self._rows_of(also, size)])) if len(also) else likely
        rows, cosines = self._cosines(connection, read, vector)
        more = self._best(also, rows, cosines) if len(also) else np.empty(0, np.float32)
        if len(read) > len(likely):
            wanted = is_among(rows, likely)
            rows, cosines = rows[wanted], cosines[wanted]
        if 0 < limit < len(rows):
            good = cosines >= np.partition(cosines, -limit)[-limit]
            rows, cosines = rows[good], cosines[good]
        best = np.lexsort((rows, -cosines))[: max(limit, 0)]
        return (self._chunks[rows[best]], self._owners[rows[best]], cosines[best]), more

    def cosines(self, connection: apsw.Connection, vector: Vectors, owners: Numbers) -> Vectors:
        """Of the best chunk of each owner, in order; 0 where there is none."""
        wanted, where = np.unique(owners, return_inverse=True)
        return self._best(wanted, *self._cosines(connection, self._rows_of(wanted, self.size), vector))[where]

    def _best(self, owners: Numbers, rows: Numbers, cosines: Vectors) -> Vectors:
        """The best cosine of each owner (rising) among the rows; 0 where it has none."""
        best = np.full(len(owners), NONE, np.float32)
        own = is_among(self._owners[rows], owners)
        np.maximum.at(best, np.searchsorted(owners, self._owners[rows[own]]), cosines[own])
        return np.where(best == NONE, np.float32(0), best)

    def _candidates(
        self, vector: Vectors, limit: int, allowed: Numbers | None, size: int, newest: int | None
    ) -> Numbers:
        """The rows that are worth an exact comparison, rising."""
        few = allowed is not None and len(allowed) * LARGEST_PART <= size
        if few:
            rows = self._rows_of(allowed, size)  # type: ignore[arg-type]
        else:
            alive = self._alive[:size]
            admitted = alive if allowed is None else alive & np.isin(self._owners[:size], allowed)
            if newest is not None:
                admitted = admitted & (self._owners[:size] <= newest)
        if self.centre is None:
            return rows if few else np.flatnonzero(admitted)
        wanted = max(self.centre.rescored, RESCORED_PER_WANTED * limit * (self.centre.rescored // RESCORED))
        asked = sign_bits(vector[None, :], self.centre.mean)[:, 0]
        likely = wanted * self.centre.chosen_from
        if not few:
            distances = differing(self._bits, asked, size)
            distances[~admitted] = FAR
            rows = lowest(distances, likely)
        elif len(rows) > likely:
            rows = rows[lowest(differing(self._bits[:, rows], asked, len(rows)), likely)]
        return likeliest(self._bits, rows, vector, wanted)

    def _cosines(self, connection: apsw.Connection, rows: Numbers, vector: Vectors) -> tuple[Numbers, Vectors]:
        """Those of the rows (rising) whose vectors are there still, and their cosines."""
        if self.centre is None:
            cosines = np.empty(len(rows), np.float32)
            for start in range(0, len(rows), SLAB):
                part = slice(start, start + SLAB)
                cosines[part] = products(self._halves[rows[part]], vector)
            return rows, cosines
        chunks = self._chunks[rows]
        present, _, halves = arrays(
            connection.execute(
                "SELECT vector.chunk, owner, halves FROM json_each(?) CROSS JOIN vector ON vector.chunk = value",
                (json.dumps(chunks.tolist()),),
            ).fetchall(),
            self.dimensions,
        )
        return rows[np.searchsorted(chunks, present)], products(halves, vector)

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
        newer = known + np.flatnonzero(is_among(self._owners[known:size], owners))
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
        self._index = VectorIndex(0)
        self._state: tuple[Any, ...] = ()  # of no file: the first look reads everything
        self._loaded = 0  # the last chunk that was read
        self._removals = 0

    @property
    def bytes_held(self) -> int:
        return self._index.bytes_held

    def current(self, connection: apsw.Connection, vectors_now: VectorState, dimensions: int) -> VectorIndex:
        """Inside the snapshot of the file in which `vectors_now` was read."""
        with self._lock:
            state = (vectors_now.epoch, vectors_now.centre, dimensions)
            if state != self._state:
                centre = None if vectors_now.centre is None else centre_of(connection, self.space)
                self._index = VectorIndex(dimensions, centre)
                self._state, self._loaded, self._removals = state, 0, vectors_now.removals
            if vectors_now.last is not None and vectors_now.last > self._loaded:
                self._load(connection, self._index, vectors_now.packed or 0)
            if vectors_now.removals > self._removals:
                self._forget(connection, self._index, vectors_now.removals)
            return self._index

    def add(self, new: NewVectors) -> None:
        """What this process has written, where nothing lies between that and what was read."""
        with self._lock:
            if self._state and self._loaded == new.follow and self._index.dimensions == new.halves.shape[1]:
                self._index.append(np.array(new.chunks, np.int64), np.array(new.owners, np.int64), new.halves)
                self._loaded = new.chunks[-1]

    def _load(self, connection: apsw.Connection, index: VectorIndex, packed: int) -> None:
        if index.centre is not None and packed > self._loaded:
            asked = "FROM signs WHERE space = ? AND last > ?"
            index.reserve(only_row(connection, f"SELECT coalesce(sum(count), 0) {asked}", self.space, self._loaded)[0])
            page = f"SELECT last, count, chunks, owners, bits {asked} ORDER BY last LIMIT {BLOCKS_READ_AT_ONCE}"
            while blocks := connection.execute(page, (self.space, self._loaded)).fetchall():
                for last, *block in blocks:
                    self._load_signs(connection, index, last, block)  # type: ignore[arg-type]
        self._load_vectors(connection, index, NO_END)

    def _load_signs(
        self, connection: apsw.Connection, index: VectorIndex, last: int, packed: Sequence[SQLValue]
    ) -> None:
        try:
            chunks, owners, bits = unpacked(*packed)
            if len(bits) != words_for(index.dimensions):
                raise DamagedRecord("a block of signs is damaged")
        except DamagedRecord as error:
            log.warning("%s and computed again. Run `nacre store reindex` to store it.", error)
            self._load_vectors(connection, index, last)
        else:
            new = int(np.searchsorted(chunks, self._loaded, side="right"))
            index.append_signs(chunks[new:], owners[new:], bits[:, new:])
        self._loaded = last

    def _load_vectors(self, connection: apsw.Connection, index: VectorIndex, upto: int) -> None:
        full = True
        while full and (rows := rows_after(connection, self.space, self._loaded, upto, SLAB)):
            index.append(*arrays(rows, index.dimensions))
            self._loaded, full = rows[-1][0], len(rows) == SLAB

    def _forget(self, connection: apsw.Connection, index: VectorIndex, known: int) -> None:
        rows: list[tuple[Any, ...]] = connection.execute(
            "SELECT chunk FROM removed WHERE seq > ? AND space = ? ORDER BY seq", (self._removals, self.space)
        ).fetchall()
        index.discard([chunk for (chunk,) in rows])
        self._removals = known


class Mirrors:
    """The mirrors of the spaces that were searched last, within `MIRRORED_BYTES` and `MIRRORED_SPACES`."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._by_space: OrderedDict[SQLValue, Mirror] = OrderedDict()

    def add(self, space: SQLValue, new: NewVectors) -> None:
        """To the mirror of the space, if there is one."""
        if self._process == os.getpid() and (mirror := self._by_space.get(space)) is not None:
            mirror.add(new)

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
