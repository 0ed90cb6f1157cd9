"""Search in one state of a space: postings, nearest vectors, places and neighbours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from nacre.model import Filter, Memory
from nacre.protocols import ALL, CandidateLink, Keys, Match, Place, Search, Vectors
from nacre.storage.candidates import (
    COLUMN_WEIGHTS,
    FIELD_WEIGHTS,
    NO_KEYS,
    POSTINGS_READ,
    Reached,
    Successor,
    WordCounts,
    WordIndex,
    WordQuestion,
    occurrences,
)
from nacre.storage.postgres import vector_index
from nacre.storage.postgres.connection import HalfVector, Row, Session, Statement
from nacre.storage.postgres.rows import SELECTED, Clause, clause, of_state
from nacre.storage.tables import memory_of, unpacked_stems

PLACE = (
    "version.content, memory.id, version.session, version.position, content.role, version.length, content.asks,"
    " coalesce(version.occurred_at, version.created_at)"
)
BY_NAMED = "version.key = named.key"
BY_CONTENT = "version.content = ANY(%(keys)s::bigint[])"
# A search for the nearest chunks looks at so many times as many where several may be of one memory or of another state.
WIDENING = 4
OWN, SUCCESSOR, LINKED_TO, LINKED_FROM = range(4)  # how a row of `reached` came about
# What rows are read for, and with which conditions; a search has one vector.
Purpose: TypeAlias = tuple[str, object, Filter | None]
WORDS, NEWEST, NEAREST = "words", "newest", "nearest"


class PostgresIndex(WordIndex):
    """One state of one space, within one snapshot. A key is the number of the content that a memory has in it."""

    def __init__(
        self,
        session: Session,
        space: tuple[str, int],
        seq: int,
        *,
        past: bool,
        size: tuple[int, int],
        present: int,
        holding: Mapping[str, int],
        effort: int = 0,
    ) -> None:
        super().__init__(past=past, size=size, present=present, holding=holding)
        self._session = session
        self._space, number = space
        self._values: dict[str, Any] = {"space": number, "seq": seq}
        self._effort = effort  # of a search in the index of its vectors; 0 where there is none
        self._cosines: dict[int, float] = {}  # of the vector that it is asked about
        self._half: HalfVector | None = None  # that vector
        self._ahead: dict[Purpose, list[Row]] = {}  # rows that are read before they are asked for
        self.reads_records = False  # with the places
        self.memories: dict[str, Memory] = {}  # those that were read

    def measure(self, where: Filter) -> tuple[int, int]:
        if not where.conditions:
            return self._size
        made = clause(self._space, where)
        sql = f"SELECT count(*), coalesce(sum(version.length), 0)::bigint FROM {made.joined()} WHERE {made.sql}"
        memories, stems = self._session.only_row(sql, self._with(made))
        return int(memories), int(stems)

    def _with(self, *clauses: Clause, **more: Any) -> dict[str, Any]:
        values = {**self._values, **more}
        for each in clauses:
            values |= each.values
        return values

    def ask_ahead(self, search: Search) -> None:
        """The words and the vector of a search in one round trip: `postings` and `nearest` then have their rows."""
        asked = self._question(search.terms, search.visible, None)
        wanted: dict[Purpose, list[Statement]] = {
            words_of(asked): self._words_statements(asked.terms, asked.visible),
            newest_of(asked): self._newest_statements(asked.common, asked.admitted),
        }
        if search.vector is not None and search.pool > 0:
            tried = self._tried(search.pool)
            wanted[NEAREST, tried, None] = self._nearest_statements(search.vector, tried)
        rows = iter(self._session.together(*chain.from_iterable(wanted.values())))
        for purpose, statements in wanted.items():
            self._ahead[purpose] = [next(rows) for _ in statements][-1] if statements else []

    def _rows(self, purpose: Purpose, statements: Sequence[Statement]) -> list[Row]:
        """Of the last of the statements, in one round trip, or in none where they were asked ahead."""
        if purpose in self._ahead:
            return self._ahead[purpose]
        if len(statements) == 1:
            return self._session.fetch(*statements[0])
        return self._session.together(*statements)[-1] if statements else []

    # Words

    def _counts(self, asked: WordQuestion) -> WordCounts:
        terms, common, visible, admitted = asked
        lengths: dict[int, int] = {}
        result: dict[str, dict[int, float]] = {term: defaultdict(float) for term in terms}
        for term, key, length, frequency in self._rows(words_of(asked), self._words_statements(terms, visible)):
            result[term][key] += frequency
            lengths[key] = length
        for term in (term for term in terms if " " in term):
            self._count_phrase(term, visible, result[term], lengths)
        newest: dict[str, list[int]] = {term: [] for term in common}
        for term, content in self._rows(newest_of(asked), self._newest_statements(common, admitted)):
            newest[term].append(content)
        return WordCounts(result, newest, lengths)

    def _words_statements(self, terms: Sequence[str], visible: Filter) -> list[Statement]:
        """The statement for the words among the terms; none where all are phrases."""
        words = [term for term in terms if " " not in term]
        if not words:
            return []
        texts, names = clause(self._space, visible), clause(self._space, visible, "n")
        return [
            (
                "SELECT posting.term, version.content, version.length, posting.frequency"
                f" FROM posting JOIN {texts.joined(on='version.content = posting.content')}"
                f" WHERE posting.space_id = %(space)s AND posting.term = ANY(%(terms)s::text[]) AND {texts.sql}"
                " UNION ALL SELECT label.name, version.content, version.length,"
                f" label.times * CASE label.field WHEN 'tag_stems' THEN {COLUMN_WEIGHTS['tags']}"
                f" ELSE {COLUMN_WEIGHTS['entities']} END::real"
                f" FROM label JOIN {names.joined(on='version.key = label.key')} WHERE {of_state('label')}"
                " AND label.field IN ('tag_stems', 'entity_stems') AND label.name = ANY(%(terms)s::text[])"
                f" AND {names.sql}",
                self._with(texts, names, terms=words),
            )
        ]

    def _count_phrase(self, term: str, visible: Filter, result: dict[int, float], lengths: dict[int, int]) -> None:
        """Phrases are counted in the stems themselves, of the newest memories that have each of their words."""
        made = clause(self._space, visible)
        has_words = "".join(
            " AND (EXISTS (SELECT 1 FROM posting WHERE posting.space_id = %(space)s AND posting.content ="
            " version.content"
            f" AND posting.term = %(w{at})s) OR EXISTS (SELECT 1 FROM label WHERE {of_state('label')}"
            " AND label.key = version.key AND label.field IN ('tag_stems', 'entity_stems')"
            f" AND label.name = %(w{at})s))"
            for at in range(1, len(term.split()))
        )
        first = (
            "version.content IN (SELECT content FROM posting WHERE posting.space_id = %(space)s AND"
            " posting.term = %(w0)s)"
            f" OR version.key IN (SELECT label.key FROM label WHERE {of_state('label')}"
            " AND label.field IN ('tag_stems', 'entity_stems') AND label.name = %(w0)s)"
        )
        words = sorted(term.split(), key=lambda stem: self._holding.get(stem, 0))
        rows = self._session.fetch(
            f"SELECT version.content, version.length, content.words, version.stems FROM {made.joined('content')}"
            f" WHERE {made.sql} AND ({first}){has_words} ORDER BY version.content DESC LIMIT {POSTINGS_READ}",
            self._with(made, **{f"w{at}": word for at, word in enumerate(words)}),
        )
        for key, length, of_text, of_names in rows:
            lines = (*unpacked_stems(of_text, 3), *unpacked_stems(of_names, 2))
            pairs = zip(FIELD_WEIGHTS.values(), lines, strict=True)
            if frequency := sum(weight * occurrences(term, line) for weight, line in pairs):
                result[key], lengths[key] = frequency, length

    def _newest_statements(self, common: Mapping[str, int], admitted: Filter | None) -> list[Statement]:
        """The statement for the newest contents of each term, so many at most: of any state, which is quicker, or of
        what is admitted."""
        if not common:
            return []
        within, values = "", self._with(terms=list(common), limits=list(common.values()))
        if admitted is not None:
            made = clause(self._space, admitted)
            within = (
                f" AND EXISTS (SELECT 1 FROM {made.joined()} WHERE {made.sql} AND version.content = posting.content)"
            )
            values |= made.values
        sql = (
            "SELECT asked.term, found.content FROM unnest(%(terms)s::text[], %(limits)s::bigint[]) AS asked(term, most)"
            " CROSS JOIN LATERAL (SELECT posting.content FROM posting WHERE posting.space_id = %(space)s"
            f' AND posting.term = asked.term COLLATE "C"{within} ORDER BY posting.content DESC LIMIT'
            " asked.most) AS found"
        )
        return [(sql, values)]

    # Vectors

    def nearest(self, vector: Vectors, limit: int, only: Keys | None = None, also: Keys = NO_KEYS) -> Keys:  # noqa: ARG002
        tried = self._tried(limit) if only is None else limit
        while limit > 0:
            rows = self._nearest_rows(vector, tried, only)
            keys = list(dict.fromkeys(content for content, _, _, _ in rows))
            for content, cosine, _, _ in reversed(rows):
                self._cosines[content] = cosine
            if self._past:  # what came later may be nearer than all that the state has
                here = set(self._in_state(keys))
                keys = [key for key in keys if key in here]
            if len(keys) >= limit or len(rows) < tried:
                return np.array(keys[:limit], np.int64)
            tried *= WIDENING  # a few long memories filled the places with their many chunks
        return NO_KEYS

    def _tried(self, limit: int) -> int:
        """How many chunks are compared at first, to have so many memories of the state."""
        return limit * WIDENING if self._past else limit

    def _nearest_rows(self, vector: Vectors, limit: int, only: Keys | None) -> list[Row]:
        statements = self._nearest_statements(vector, limit, only)
        if only is None:
            return self._rows((NEAREST, limit, None), statements)
        return self._session.fetch(*statements[0])

    def _nearest_statements(self, vector: Vectors, limit: int, only: Keys | None = None) -> list[Statement]:
        """The statements whose last one gives contents with the cosine, start and end of a chunk, best first."""
        indexed = self._effort > 0 and only is None and limit <= vector_index.MOST_INDEXED
        sql = vector_index.nearest(self._values["space"], len(vector), indexed=indexed)
        values = self._with(vector=self._as_half(vector), dimensions=len(vector), limit=limit)
        if indexed:
            return [(vector_index.look_at(self._effort, limit), None), (sql, values)]
        within = "" if only is None else " AND content = ANY(%(only)s::bigint[])"
        return [(sql.format(within=within), values if only is None else {**values, "only": only.tolist()})]

    def _as_half(self, vector: Vectors) -> HalfVector:
        if self._half is None or self._half.row is not vector:
            self._half = HalfVector(vector)
        return self._half

    def _in_state(self, keys: Sequence[int]) -> list[int]:
        made = clause(self._space, ALL)
        rows = self._session.fetch(
            f"SELECT version.content FROM version WHERE {made.sql} AND {BY_CONTENT}", self._with(keys=list(keys))
        )
        return [key for (key,) in rows]

    def cosines(self, vector: Vectors, keys: Keys) -> Vectors:
        unknown = [key for key in keys.tolist() if key not in self._cosines]
        if unknown:
            self._note_cosines(unknown, self._session.fetch(*self._cosines_statement(self._as_half(vector), unknown)))
        return np.array([self._cosines[key] for key in keys.tolist()], np.float32)

    def _cosines_statement(self, vector: HalfVector, keys: Sequence[int]) -> Statement:
        return (
            "SELECT content, max(-(embedding <#> %(vector)s)) FROM chunk WHERE space_id = %(space)s"
            " AND content = ANY(%(keys)s::bigint[]) AND vector_dims(embedding) = %(dimensions)s GROUP BY content",
            self._with(vector=vector, dimensions=len(vector.row), keys=list(keys)),
        )

    def _note_cosines(self, keys: Sequence[int], rows: Sequence[Row]) -> None:
        self._cosines |= {**dict.fromkeys(keys, 0.0), **dict(rows)}

    def by_vector(self, vector: Vectors, where: Filter, limit: int) -> list[Match]:
        only: Keys | None = None
        tried = WIDENING * limit
        while limit > 0:
            rows = self._nearest_rows(vector, tried, only)
            best: dict[int, tuple[float, tuple[int, int]]] = {}
            for content, cosine, start, stop in rows:
                best.setdefault(content, (cosine, (start, stop)))
            ids = {place.key: place.id for place in self.places(np.array(list(best), np.int64), where)}
            matches = [Match(ids[key], *best[key]) for key in best if key in ids]
            if len(matches) >= limit or len(rows) < tried:
                return matches[:limit]
            if only is None and len(matches) * WIDENING < limit:
                only = self.allowed(where)
            else:
                tried *= WIDENING
        return []

    # Places

    def places(self, keys: Keys, where: Filter) -> list[Place]:
        made = clause(self._space, where)
        columns, width = f"{PLACE}, {SELECTED}" if self.reads_records else PLACE, len(Place._fields)
        of_places = (
            f"SELECT {columns} FROM {made.joined('memory', 'content')} WHERE {made.sql} AND {BY_CONTENT}"
            " ORDER BY version.content",
            self._with(made, keys=keys.tolist()),
        )
        (rows,) = self._with_cosines(keys, of_places)
        self._note_records(rows, width)
        return [Place._make(row[:width]) for row in rows]

    def _with_cosines(self, keys: Keys, *statements: Statement) -> list[list[Row]]:
        """The rows of the statements about these contents; their cosines, which are asked for next, come with them."""
        unknown = [key for key in keys.tolist() if key not in self._cosines]
        if self._half is None or not unknown:
            return self._session.together(*statements)
        *rows, cosines = self._session.together(*statements, self._cosines_statement(self._half, unknown))
        self._note_cosines(unknown, cosines)
        return rows

    def _note_records(self, rows: Sequence[tuple[Any, ...]], width: int) -> None:
        if self.reads_records:
            memories = (memory_of(row[width:], self._space) for row in rows)
            self.memories |= {memory.id: memory for memory in memories}

    def reached(self, keys: Keys, where: Filter, replaced: Filter | None, linked_by: tuple[str, ...]) -> Reached:
        if replaced is None and not linked_by:
            return Reached(self.places(keys, where))
        own = clause(self._space, where)
        selects = [
            f"SELECT {OWN}, 0::bigint, '', '', {PLACE} FROM {own.joined('memory', 'content')} WHERE"
            f" {own.sql} AND {BY_CONTENT}"
        ]
        clauses = [own]
        chain = ""
        if replaced is not None:
            chain, select, more = self._successors(where, replaced)
            selects.append(select)
            clauses += more
        if linked_by:
            linked, more = self._linked(where)
            selects += linked
            clauses += more
        asked = self._with(*clauses, keys=keys.tolist(), rels=list(linked_by))
        statements = [(chain + " UNION ALL ".join(selects), asked)]
        if self.reads_records:
            sql = f"SELECT {SELECTED} FROM {own.joined('memory', 'content')} WHERE {own.sql} AND {BY_CONTENT}"
            statements.append((sql, self._with(own, keys=keys.tolist())))
        rows, *records = self._with_cosines(keys, *statements)
        for each in records:
            self._note_records(each, 0)
        return assembled([(how, key, id, kind, Place._make(place)) for how, key, id, kind, *place in rows])

    def _successors(self, where: Filter, replaced: Filter) -> tuple[str, str, list[Clause]]:
        """A table of the chains that begin at the contents, and the query for their members."""
        first, following = clause(self._space, replaced, "f"), clause(self._space, replaced, "s")
        member = clause(self._space, where, "m")
        named = "chain JOIN memory AS named ON named.space_id = %(space)s AND named.id = chain.successor JOIN"
        chain = (
            "WITH RECURSIVE chain(key, id, successor) AS ("
            f"SELECT version.content, memory.id, version.superseded_by FROM {first.joined('memory')}"
            f" WHERE {first.sql} AND {BY_CONTENT} AND version.superseded_by <> ''"
            f" UNION SELECT chain.key, chain.id, version.superseded_by FROM {named} {following.joined(on=BY_NAMED)}"
            f" WHERE {following.sql} AND version.superseded_by <> '') "
        )
        select = (
            f"SELECT {SUCCESSOR}, chain.key, chain.id, '', {PLACE} FROM {named}"
            f" {member.joined('memory', 'content', on=BY_NAMED)} WHERE {member.sql}"
        )
        return chain, select, [first, following, member]

    def _linked(self, where: Filter) -> tuple[list[str], list[Clause]]:
        """The queries for what links of the relations lead to from the contents, and what leads to them."""
        near = (
            "version AS near JOIN memory AS ours ON ours.space_id = near.space_id AND ours.key = near.key"
            f" JOIN link ON {{}} AND link.rel = ANY(%(rels)s) AND {of_state('link')}"
        )
        is_near = f"{of_state('near')} AND near.content = ANY(%(keys)s::bigint[])"
        source, target = clause(self._space, where, "a"), clause(self._space, where, "b")
        selects = [
            f"SELECT {LINKED_FROM}, near.content, ours.id, link.kind, {PLACE} FROM"
            f" {near.format('link.target = ours.id')}"
            f" JOIN {source.joined('memory', 'content', on='version.key = link.key')} WHERE {is_near} AND {source.sql}",
            f"SELECT {LINKED_TO}, near.content, ours.id, link.kind, {PLACE} FROM"
            f" {near.format('link.key = ours.key')}"
            " JOIN memory AS named ON named.space_id = link.space_id AND named.id = link.target"
            f" JOIN {target.joined('memory', 'content', on=BY_NAMED)} WHERE {is_near} AND {target.sql}",
        ]
        return selects, [source, target]

    def around(self, spots: Sequence[tuple[str, int]], reach: int, where: Filter, known: Keys) -> list[Place]:
        if not spots:
            return []
        made = clause(self._space, where)
        columns, width, compared = PLACE, len(Place._fields), {}
        if self._half is not None:
            columns += (
                ", (SELECT max(-(embedding <#> %(vector)s)) FROM chunk WHERE chunk.space_id = %(space)s"
                " AND chunk.content = version.content AND vector_dims(embedding) = %(dimensions)s)"
            )
            compared = {"vector": self._half, "dimensions": len(self._half.row)}
        if self.reads_records:
            columns += f", {SELECTED}"
        # What is near is found first, and named by an array, and the rows are sorted here: to join or to sort them, the
        # planner may walk through all memories in the order of their contents.
        near = (
            "SELECT near.key FROM unnest(%(sessions)s::text[], %(positions)s::bigint[]) AS spot(session, position)"
            " CROSS JOIN LATERAL (SELECT version.key FROM version"
            f" WHERE {of_state('version')} AND version.session = spot.session COLLATE \"C\" AND version.session <> ''"
            " AND version.position BETWEEN spot.position - %(reach)s AND spot.position + %(reach)s OFFSET 0) AS near"
        )
        rows = self._session.fetch(
            f"SELECT {columns} FROM {made.joined('memory', 'content')} WHERE {made.sql}"
            f" AND version.key = ANY(ARRAY({near})) AND version.content <> ALL(%(known)s::bigint[])",
            self._with(
                made, sessions=[session for session, _ in spots], positions=[at for _, at in spots], reach=reach,
                known=known.tolist(), **compared,
            ),
        )  # fmt: skip
        rows.sort(key=itemgetter(0))
        if compared:
            self._note_cosines((), [(row[0], row[width] or 0.0) for row in rows])
        self._note_records(rows, width + bool(compared))
        return [Place._make(row[:width]) for row in rows]

    def allowed(self, where: Filter, replaced: Filter | None = None) -> Keys:
        made = clause(self._space, where)
        clauses = [made]
        sql = f"SELECT version.content FROM {made.joined()} WHERE {made.sql}"
        if replaced is not None:
            before = clause(self._space, replaced, "r")
            clauses.append(before)
            follows = "version.superseded_by = chain.id AND version.superseded_by <> ''"
            sql = (
                f"WITH RECURSIVE chain(content, id) AS (SELECT version.content, memory.id FROM {made.joined('memory')}"
                f" WHERE {made.sql} UNION SELECT version.content, memory.id FROM chain"
                f" JOIN {before.joined('memory', on=follows)} WHERE {before.sql}) SELECT DISTINCT content FROM chain"
            )
        rows = self._session.fetch(sql, self._with(*clauses))
        return np.sort(np.fromiter((key for (key,) in rows), np.int64, len(rows)))


def words_of(asked: WordQuestion) -> Purpose:
    return WORDS, tuple(asked.terms), asked.visible


def newest_of(asked: WordQuestion) -> Purpose:
    return NEWEST, tuple(asked.common.items()), asked.admitted


def assembled(rows: Sequence[tuple[int, int, str, str, Place]]) -> Reached:
    places = {place.key: place for how, *_, place in rows if how in (OWN, SUCCESSOR)}
    admitted = {place.key for how, *_, place in rows if how == OWN}
    successors: list[Successor] = []
    links: list[CandidateLink] = []
    for how, key, id, kind, place in rows:
        if how == SUCCESSOR:
            successors.append(Successor(key, id, place))
        elif how != OWN and key in admitted:
            places[place.key] = place
            links.append(CandidateLink(*((place.id, id) if how == LINKED_FROM else (id, place.id)), kind))
    return Reached([places[key] for key in sorted(places)], tuple(successors), tuple(dict.fromkeys(links)))
