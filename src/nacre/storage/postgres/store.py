"""A store in a PostgreSQL database: reading the present or an earlier state, and writing."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import psycopg
from psycopg import errors

from nacre.errors import DatabaseRefused, StorageError
from nacre.model import Edge, Filter, JournalEntry, JournalFilter, Memory, Operation
from nacre.model.journal import EVERYTHING, MEMORY
from nacre.model.memory import LISTS, size
from nacre.protocols import (
    ALL,
    AnyChange,
    AnyOf,
    Candidates,
    Change,
    Clock,
    Committed,
    Data,
    EmbedderBound,
    EmbedderIdentity,
    Expected,
    Health,
    IndexesRebuilt,
    Listed,
    Match,
    Order,
    Outdated,
    Page,
    Search,
    SpaceRenamed,
    Tallied,
    TermChange,
    TermSet,
    Vectors,
)
from nacre.storage import candidates
from nacre.storage.commit import ChangeSetWriter, TransactionalBackend, operations_since, with_words
from nacre.storage.pages import ORDERS, RISING, check_page, iterate_pages, make_cursor, read_cursor
from nacre.storage.postgres import vector_index
from nacre.storage.postgres.connection import (
    CHOOSE,
    CHOOSE_NUMBER,
    NUMBER,
    PASSING,
    Connections,
    Row,
    Session,
    Statement,
    check_address,
    chosen,
    is_lost,
)
from nacre.storage.postgres.rows import (
    BY_ID,
    NOW,
    NOWHERE,
    OPEN,
    RECORDS,
    SELECTED,
    askable,
    clause,
    of_state,
    parsed,
)
from nacre.storage.postgres.search import PostgresIndex
from nacre.storage.postgres.transaction import EMBEDDER, SPACE, PostgresTransaction, Space, stored_embedder
from nacre.storage.postgres.uses import Uses
from nacre.storage.tables import (
    EXPERIENCE_TYPE,
    SIZE,
    SUPERSEDED,
    TERM,
    TOTAL,
    answered_by_counters,
    answered_by_status,
    has_status,
    ids_asked_for,
    image_of,
    memory_of,
    sql_values,
    table_of,
)

log = logging.getLogger("nacre.storage")

Result = TypeVar("Result")
Written = TypeVar("Written", bound=PostgresTransaction)

if TYPE_CHECKING:
    from nacre.storage.postgres.transfer import PostgresRows, RowTransaction

VALUES_PAGE = 5_000  # rows of a few values that are held at once: about a megabyte
ATTEMPTS = 5  # of a transaction that another one prevents, or that loses its connection before it commits
# What each field is called in a query. The week is that of `Memory.week`.
TALLIED_COLUMNS: Mapping[str, str] = {
    TOTAL: "''", "type": "version.type", "status": "version.status", "source": "version.source",
    "week": "to_char(date_trunc('week', to_timestamp(floor(version.created_at)) AT TIME ZONE 'UTC'), 'YYYY-MM-DD')",
    **dict.fromkeys(LISTS, "label.name"),
}  # fmt: skip
ENTRY = "seq, memory_id, kind, act, actor, at, batch, why, before, after"
# What a search has to know of a space before it begins, in one row: how many memories and stems there are at present
# and were after a journal entry, and on how many memories each of a list of stems is at present.
SEARCHED = (
    "SELECT spaces.memories, spaces.stems, coalesce(earlier.memories, dropped_memories),"
    " coalesce(earlier.stems, dropped_stems), (SELECT array_agg(name) FROM holding),"
    " (SELECT array_agg(n) FROM holding), spaces.effort"
    " FROM spaces LEFT JOIN LATERAL (SELECT journal.memories, journal.stems FROM journal"
    " WHERE journal.space_id = %(space)s AND journal.seq <= %(seq)s ORDER BY journal.seq DESC LIMIT 1) AS"
    " earlier ON true"
    " WHERE spaces.space_id = %(space)s"
)
HOLDING = (
    "WITH holding AS (SELECT name, n FROM counter WHERE space_id = %(space)s"
    f" AND field = '{TERM}' AND status = '' AND name = ANY(%(stems)s::text[])) "
)
Known: TypeAlias = dict[str, Any]  # the values `space` and `seq` of a statement
Rows: TypeAlias = Sequence[list[Row]]  # of each statement
OF_MEMORY = "version.space_id = memory.space_id AND version.key = memory.key"
LAST_CHARACTER = "\U0010ffff"


def searched(terms: Sequence[str]) -> Statement:
    """The statement for the size of a state, and for how many memories have each of the stems."""
    return HOLDING + SEARCHED, {"stems": list({stem for term in terms for stem in term.split()})}


class PostgresReader:
    """`seq` is the last journal entry of the state that is read; None reads the present."""

    def __init__(self, connections: Connections, uses: Uses, here: threading.local, seq: int | None = None) -> None:
        self._connections = connections
        self._uses = uses
        self._here = here  # the session of this thread's transaction, if it has one, and the numbers of spaces
        self._seq = seq
        self._numbers = connections.space_numbers

    # How a question is asked

    def _ask(self, space: str, sql: str, values: Mapping[str, Any] | None = None, *, binary: bool = False) -> list[Any]:
        """The rows of one statement about a space, in one round trip where the number of the space is known."""
        values = askable(values or {})  # those of a `Clause` have been through it, and stay as they are
        if getattr(self._here, "session", None) is not None:
            return self._read(space, lambda session, known: session.fetch(sql, {**known, **values}, binary=binary))
        self._uses.settle()

        def asked(session: Session) -> list[Any]:
            # Between two synchronisations, statements are one transaction without a BEGIN.
            guess = self._numbers.get(space, NOWHERE)
            while True:
                known = {**self._known(guess), **values}
                choice = {**chosen((guess,), (space,)), "name": space}
                row, rows = session.together((CHOOSE_NUMBER, choice), (sql, known), binary=binary)
                number = NOWHERE if row[0][-1] is None else int(row[0][-1])
                if number == guess:
                    return rows
                guess = self._numbers[space] = number

        return self._retried(asked)

    def _read(self, space: str, work: Callable[[Session, dict[str, Any]], Result]) -> Result:
        """What `work` reads of one snapshot; it gets the values `space` and `seq` of its statements."""
        return self._read_after(space, (), lambda session, known, _: work(session, known))

    def _read_after(
        self, space: str, first: Sequence[Statement], work: Callable[[Session, Known, Rows], Result]
    ) -> Result:
        """As `_read`; `work` also gets the rows of the statements that stand first, which take no round trip of their
        own."""

        def asked(number: int) -> list[Statement]:
            return [(sql, {**self._known(number), **(values or {})}) for sql, values in first]

        open_session: Session | None = getattr(self._here, "session", None)
        if open_session is not None:
            number = next((number for (number,) in open_session.fetch(NUMBER, {"name": space})), NOWHERE)
            return work(open_session, self._known(number), open_session.together(*asked(number)))
        self._uses.settle()

        def read(session: Session) -> Result:
            guess = self._numbers.get(space, NOWHERE)
            choice = {**chosen((guess,), (space,)), "name": space}
            _, row, *rows = session.together(("BEGIN", None), (CHOOSE_NUMBER, choice), *asked(guess))
            number = NOWHERE if row[0][-1] is None else int(row[0][-1])
            if number != guess:
                self._numbers[space] = number
                _, *rows = session.together((CHOOSE, chosen((number,), (space,))), *asked(number))
            result = work(session, self._known(number), rows)
            session.execute("COMMIT")
            return result

        return self._retried(read)

    def _read_all(self, work: Callable[[Session], Result], names: Sequence[str] = ()) -> Result:
        """What `work` reads of every space."""
        open_session: Session | None = getattr(self._here, "session", None)
        if open_session is not None:
            before = open_session.only_row("SELECT current_setting('nacre.spaces')")[0]
            open_session.execute(EVERY)
            result = work(open_session)
            open_session.execute("SELECT set_config('nacre.spaces', %(before)s, true)", {"before": before})
            return result
        self._uses.settle()

        def read(session: Session) -> Result:
            session.together(("BEGIN", None), (CHOOSE, chosen(None, names)))
            result = work(session)
            session.execute("COMMIT")
            return result

        return self._retried(read)

    def _ask_all(self, *asked: Statement, names: Sequence[str] = ()) -> list[list[Any]]:
        """The rows of each statement about every space, in one round trip and of one snapshot."""
        asked = tuple((sql, askable(values or {})) for sql, values in asked)
        if getattr(self._here, "session", None) is not None:
            return self._read_all(lambda session: session.together(*asked, binary=True), names)
        self._uses.settle()
        choice = (CHOOSE, chosen(None, names))
        return self._retried(lambda session: session.together(choice, *asked, binary=True)[1:])

    def _known(self, number: int) -> dict[str, Any]:
        return {"space": number, "seq": NOW if self._seq is None else min(self._seq, NOW)}

    def _retried(self, read: Callable[[Session], Result]) -> Result:
        """Reads once more where the connection was lost: nothing was changed."""
        for last in (False, True):
            try:
                with self._connections.use() as connection:
                    try:
                        return read(Session(connection))
                    except BaseException:
                        with suppress(psycopg.Error):
                            connection.rollback()
                        raise
            except DatabaseRefused as error:
                if last or not is_lost(error.__cause__):
                    raise
                self._connections.forget_idle()
        raise AssertionError("unreachable")

    # Memories

    def get(self, space: str, id: str) -> Memory | None:
        return next(iter(self.get_many(space, [id])), None)

    def get_many(self, space: str, ids: Sequence[str]) -> list[Memory]:
        if not ids:
            return []
        rows = self._ask(
            space,
            f"SELECT {SELECTED} FROM {BY_ID} WHERE {of_state('version')} AND memory.id = ANY(%(ids)s::text[])",
            {"ids": list(ids)},
        )
        memories = {memory.id: memory for memory in (memory_of(row, space) for row in rows)}
        return [memories[id] for id in dict.fromkeys(ids) if id in memories]

    def ids_like(self, space: str, prefix: str, limit: int) -> list[str]:
        rows = self._ask(
            space,
            "SELECT memory.id FROM memory JOIN version ON version.space_id = memory.space_id AND"
            " version.key = memory.key"
            f" WHERE {of_state('version')} AND memory.id >= %(prefix)s AND memory.id < %(end)s"
            " ORDER BY memory.id LIMIT %(limit)s",
            {"prefix": prefix, "end": prefix + LAST_CHARACTER, "limit": max(limit, 0)},
        )
        return [str(id) for (id,) in rows]

    def page(
        self, space: str, where: Filter, *, order: Order = "newest", limit: int, cursor: str = "", offset: int = 0
    ) -> Page:
        check_page(limit, offset)
        after = read_cursor(cursor, order)
        made = clause(space, where)
        columns = [f"{table_of(name)}.{name}" for name in (*ORDERS[order], "key")]
        if after is not None:
            kinds = [*("double precision" for _ in ORDERS[order]), "bigint"]
            values = ", ".join(made.bind(value, kind) for value, kind in zip(whole_key(after), kinds, strict=True))
            made.parts.append(f"({', '.join(columns)}) {'>' if order == RISING else '<'} ({values})")
        tables = made.joined("memory", "content")
        if order == "accessed":  # the walk begins at the memories, which are in the order of their use
            columns[-1] = "memory.key"
            made.tables.discard("memory")
            tables = f"memory JOIN {made.joined('content', on=OF_MEMORY)}"
        rows = self._ask(
            space,
            f"SELECT {', '.join(columns)}, {SELECTED} FROM {tables} WHERE {made.sql} ORDER BY "
            + ", ".join(f"{column}{'' if order == RISING else ' DESC'}" for column in columns)
            + f" LIMIT {int(limit) + 1} OFFSET %(offset)s",
            {**made.values, "offset": offset},
        )
        memories = [memory_of(row[len(columns) :], space) for row in rows[:limit]]
        if not len(rows) > len(memories) > 0:
            return Page(memories, "")
        return Page(memories, make_cursor(order, rows[limit - 1][: len(columns)]))

    def iterate(self, space: str, where: Filter) -> Iterator[Memory]:
        return iterate_pages(self, space, where)

    def values(self, space: str, where: Filter, fields: Sequence[Listed]) -> Iterator[tuple[Any, ...]]:
        columns = ", ".join(f"{table_of(name)}.{name}" for name in fields)
        made, place = clause(space, where), "version.created_at, version.key"
        after: tuple[Any, ...] = (-math.inf, 0)
        sql = (
            f"SELECT {place}, {columns} FROM {made.joined(*map(table_of, fields))} WHERE {made.sql}"
            f" AND ({place}) > (%(at)s::double precision, %(key)s) ORDER BY {place} LIMIT {VALUES_PAGE}"
        )
        while rows := self._ask(space, sql, {**made.values, "at": after[0], "key": after[1]}):
            yield from (row[2:] for row in rows)
            after = rows[-1][:2]

    # Counts

    def count(self, space: str, where: Filter) -> int:
        def counted(session: Session, known: dict[str, Any]) -> int:
            n = self._counted(session, known, space, where)
            if n is not None:
                return n
            made = clause(space, where)
            sql = f"SELECT count(*) FROM {made.joined()} WHERE {made.sql}"
            return int(session.only_row(sql, {**known, **made.values})[0])

        return self._read(space, counted)

    def size(self, space: str, where: Filter) -> int:
        def counted(session: Session, known: dict[str, Any]) -> int | None:
            named = [each for each in where.conditions if each.field == EXPERIENCE_TYPE and answered_by_counters(each)]
            if not named or self._expiring(session, known, space, TOTAL, where):
                return None
            return self._sum_counters(session, known, SIZE, named[0], where)

        known = self._read(space, counted)
        return sum(map(size, self.iterate(space, where))) if known is None else known

    def tally(self, space: str, field: Tallied, where: Filter) -> dict[str, int]:
        def tallied(session: Session, known: dict[str, Any]) -> dict[str, int]:
            counts = self._counted_tally(session, known, space, field, where)
            if counts is None:
                made = clause(space, where)
                sql = (
                    f"SELECT {TALLIED_COLUMNS[field]} AS value, count(*) FROM {made.joined()}{self._names(field)}"
                    f" WHERE {made.sql} GROUP BY 1"
                )
                counts = dict(session.fetch(sql, {**known, **made.values}))
            return {name: n for name, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])) if n}

        return self._read(space, tallied)

    def _names(self, field: str) -> str:
        """Joins the names of a list, each once."""
        own = f"{of_state('label')} AND label.key = version.key AND label.field = '{field}'"
        return f" JOIN label ON {own}" if field in LISTS else ""

    def _counted(self, session: Session, known: dict[str, Any], space: str, where: Filter) -> int | None:
        """How many memories the filter admits, where counters say it, as in a file."""
        named = [condition for condition in where.conditions if answered_by_counters(condition)]
        if not named:
            counts = self._counted_tally(session, known, space, TOTAL, where)
            return None if counts is None else sum(counts.values())
        lasting = self._sum_counters(session, known, named[0].field, named[0], where)
        return None if lasting is None else lasting + len(self._expiring(session, known, space, TOTAL, where))

    def _sum_counters(
        self, session: Session, known: dict[str, Any], field: str, named: Any, where: Filter
    ) -> int | None:
        rest = tuple(condition for condition in where.conditions if condition is not named)
        if self._seq is not None or not all(map(answered_by_status, rest)):
            return None
        names = [
            name if isinstance(name, str) else str(int(name)) for name in sql_values(named.value) if name is not None
        ]
        rows = session.fetch(
            "SELECT status, n FROM counter WHERE space_id = %(space)s AND field = %(field)s"
            " AND name = ANY(%(names)s::text[]) AND status IN (SELECT status FROM counter WHERE space_id = %(space)s"
            f" AND field = '{TOTAL}')",
            {**known, **askable({"field": field, "names": names})},
        )
        return sum(int(n) for status, n in rows if has_status(status, rest))

    def _counted_tally(
        self, session: Session, known: dict[str, Any], space: str, field: str, where: Filter
    ) -> dict[str, int] | None:
        if self._seq is not None or not all(map(answered_by_status, where.conditions)):
            return None
        sql = "SELECT status, name, n FROM counter WHERE space_id = %(space)s AND field = %(field)s"
        counts: dict[str, int] = {}
        for status, name, n in session.fetch(sql, {**known, "field": TOTAL if field == "status" else field}):
            if has_status(status, where.conditions):
                value = status.removesuffix(SUPERSEDED) if field == "status" else name
                counts[value] = counts.get(value, 0) + int(n)
        for value in self._expiring(session, known, space, field, where):
            counts[value] = counts.get(value, 0) + 1
        return counts

    def _expiring(self, session: Session, known: dict[str, Any], space: str, field: str, where: Filter) -> list[str]:
        """The values of the memories that have a time of expiry; these are few."""
        made = clause(space, where)
        sql = (
            f"SELECT {TALLIED_COLUMNS[field]} FROM {made.joined()}{self._names(field)}"
            f" WHERE version.expires_at IS NOT NULL AND {made.sql}"
        )
        return [str(value) for (value,) in session.fetch(sql, {**known, **made.values})]

    def spaces(self) -> dict[str, int]:
        sql = "SELECT name, memories FROM spaces WHERE memories > 0 ORDER BY name"
        return {str(name): int(n) for name, n in self._ask_all((sql, {}))[0]}

    # Search

    def gather(self, space: str, search: Search) -> Candidates:
        def gathered(session: Session, known: Known, rows: Rows) -> Candidates:
            index = self._index(session, known, space, rows)
            index.reads_records = search.records
            asked = replace(search, terms=candidates.bounded(search.terms, search.visible, index.holding))
            index.ask_ahead(asked)
            result = candidates.gather(index, asked)
            missing = [p.id for p in result.places if p.id not in index.memories] if search.records else []
            if missing:
                sql = f"SELECT {SELECTED} FROM {BY_ID} WHERE {of_state('version')} AND memory.id = ANY(%(ids)s::text[])"
                more = (memory_of(row, space) for row in session.fetch(sql, {**known, "ids": missing}))
                index.memories |= {memory.id: memory for memory in more}
            return replace(result, memories=index.memories)

        return self._read_after(space, [searched(search.terms)], gathered)

    def by_words(
        self, space: str, terms: Sequence[str], where: Filter, limit: int, visible: Filter = ALL
    ) -> list[Match]:
        def matched(session: Session, known: Known, rows: Rows) -> list[Match]:
            index = self._index(session, known, space, rows)
            return candidates.by_words(index, candidates.bounded(terms, visible, index.holding), where, limit, visible)

        return self._read_after(space, [searched(terms)], matched)

    def by_vector(self, space: str, vector: Vectors, where: Filter, limit: int) -> list[Match]:
        def compared(session: Session, known: Known, rows: Rows) -> list[Match]:
            return self._index(session, known, space, rows).by_vector(vector, where, limit)

        return self._read_after(space, [searched(())], compared)

    def _index(self, session: Session, known: Known, space: str, rows: Rows) -> PostgresIndex:
        """`rows` are those of `searched`; only its terms can be searched."""
        row = rows[0][0] if rows[0] else (0, 0, 0, 0, None, None, 0)
        memories, in_stems, then, stems_then, names, counts, effort = row
        past = self._seq is not None
        return PostgresIndex(
            session,
            (space, known["space"]),
            known["seq"],
            past=past,
            size=(then or 0, stems_then or 0) if past else (memories, in_stems),
            present=memories,
            holding=dict(zip(names or (), counts or (), strict=True)),
            effort=effort,
        )

    # Links and vectors

    def edges(
        self,
        space: str,
        *,
        out_of: AnyOf = None,
        into: AnyOf = None,
        rels: AnyOf = None,
        kind: str | None = None,
        limit: int | None = None,
    ) -> list[Edge]:
        parts, values = "", dict[str, Any]()
        for name, column, wanted in (
            ("out", "memory.id", out_of),
            ("into", "link.target", into),
            ("rel", "link.rel", rels),
        ):
            if wanted is not None:
                parts += f" AND {column} = ANY(%({name})s::text[])"
                values[name] = list(wanted)
        if kind is not None:
            parts += " AND link.kind = %(kind)s"
            values["kind"] = kind
        values["limit"] = limit
        rows = self._ask(
            space,
            "SELECT memory.id, link.target, link.rel, link.weight, link.walks, link.kind"
            f" FROM {'link JOIN memory' if out_of is None else 'memory JOIN link'}"
            f" ON memory.space_id = link.space_id AND memory.key = link.key WHERE {of_state('link')}{parts}"
            " ORDER BY memory.key, link.target, link.rel LIMIT %(limit)s",
            values,
        )
        return [Edge(*row) for row in rows]

    def replaced_by(self, space: str, id: str) -> list[Memory]:
        rows = self._ask(
            space,
            f"SELECT {SELECTED} FROM {RECORDS} WHERE {of_state('version')} AND version.superseded_by = %(id)s"
            " AND version.superseded_by <> '' ORDER BY version.created_at, version.key",
            {"id": id},
        )
        return [memory_of(row, space) for row in rows]

    def vectors(self, space: str, ids: Sequence[str]) -> dict[str, Vectors]:
        import numpy as np

        rows = self._ask(
            space,
            "SELECT memory.id, chunk.embedding FROM memory JOIN version ON version.space_id = memory.space_id"
            " AND version.key = memory.key JOIN chunk ON chunk.space_id = version.space_id"
            f" AND chunk.content = version.content WHERE {of_state('version')} AND memory.id = ANY(%(ids)s::text[])"
            " AND chunk.embedding IS NOT NULL ORDER BY chunk.number",
            {"ids": list(ids)},
            binary=True,
        )
        by_id: dict[str, list[Vectors]] = {}
        for id, row in rows:
            by_id.setdefault(id, []).append(row)
        return {id: np.stack(each) for id, each in by_id.items()}

    # The vocabulary and the journal

    def term(self, kind: str, name: str) -> Data | None:
        return self._terms(kind, name).get(name)

    def terms(self, kind: str) -> dict[str, Data]:
        return self._terms(kind, None)

    def _terms(self, kind: str, name: str | None) -> dict[str, Data]:
        sql = "SELECT name, data FROM vocabulary WHERE kind = %(kind)s"
        sql += " ORDER BY name" if name is None else " AND name = %(name)s"
        own = kind.partition("/")[2]

        (rows,) = self._ask_all((sql, {"kind": kind, "name": name}), names=(own,) if own else ())
        return {each: parsed(data) for each, data in rows}

    def journal(
        self, space: str, where: JournalFilter = EVERYTHING, *, newest_first: bool = True, limit: int | None = None
    ) -> list[JournalEntry]:
        parts, values = ["space_id = %(space)s", "seq <= %(seq)s"], dict[str, Any]()
        about = ids_asked_for(where)
        if about is not None:
            parts.append("memory_id = ANY(%(about)s)")
            values["about"] = list(about)
        if where.batch:
            parts.append("batch >= %(batch)s AND batch < %(batch_end)s")
            values |= {"batch": where.batch, "batch_end": where.batch + LAST_CHARACTER}
        for name, part in (
            ("operation", "act = %(operation)s"),
            ("actor", "actor = %(actor)s"),
            ("since", "at >= %(since)s::double precision"), ("until", "at <= %(until)s::double precision"),
            ("after", "seq > %(after)s"), ("upto", "seq <= %(upto)s"),
        ):  # fmt: skip
            if (wanted := getattr(where, name)) is not None:
                parts.append(part)
                values[name] = wanted
        rows = self._ask(
            space,
            f"SELECT {ENTRY} FROM journal WHERE {' AND '.join(parts)} ORDER BY seq {'DESC' if newest_first else 'ASC'}"
            + ("" if limit is None else " LIMIT %(limit)s"),
            {**values, "limit": limit},
        )
        return [from_entry_row(row, space) for row in rows]

    def seq_at(self, space: str, time: float) -> int:
        rows = self._ask(
            space,
            "SELECT seq, dropped, (SELECT journal.seq FROM journal WHERE journal.space_id = %(space)s"
            " AND journal.at <= %(at)s::double precision ORDER BY journal.at DESC, journal.seq DESC LIMIT 1)"
            " FROM spaces WHERE space_id = %(space)s",
            {"at": time},
        )
        last, dropped, seq = rows[0] if rows else (0, 0, 0)
        seq = last if time == math.inf else dropped if seq is None else seq
        return int(seq if self._seq is None else min(seq, self._seq))

    def changes_since(self, space: str, seq: int) -> list[str]:
        rows = self._ask(
            space,
            "SELECT memory_id FROM journal WHERE space_id = %(space)s AND seq > %(since)s AND seq <= %(seq)s"
            " AND kind = %(kind)s GROUP BY memory_id ORDER BY max(seq)",
            {"since": seq, "kind": MEMORY},
        )
        return [str(id) for (id,) in rows]

    def written_since(self, space: str, seq: int, texts: Collection[str]) -> list[Memory]:
        return with_words(self, space, self.changes_since(space, seq), texts)

    def last_positions(
        self,
        space: str,
        seq: int,  # noqa: ARG002 (for a plan)
        sessions: Sequence[str],
        where: Filter = ALL,
    ) -> dict[str, int]:
        made = clause(space, where)
        rows = self._ask(
            space,
            f"SELECT asked.session, (SELECT version.position FROM {made.joined()} WHERE {made.sql}"
            " AND version.session = asked.session AND version.session <> '' AND version.position >= 0"
            " ORDER BY version.position DESC LIMIT 1) FROM unnest(%(sessions)s::text[]) AS asked(session)",
            {**made.values, "sessions": list(sessions)},
        )
        return {session: int(last) for session, last in rows if last is not None}

    def operations_since(self, space: str, id: str, seq: int) -> list[Operation]:
        return operations_since(self, space, id, seq)

    def border(self, space: str, upto: int) -> int:
        rows = self._ask(
            space,
            "SELECT min(seq), max(seq) FROM journal WHERE space_id = %(space)s GROUP BY batch"
            " HAVING min(seq) <= %(upto)s AND max(seq) > min(seq) ORDER BY max(seq) DESC",
            {"upto": upto},
        )
        for first, last in rows:
            upto = first - 1 if first <= upto < last else upto
        return upto

    def journal_begins(self, space: str) -> tuple[int, float]:
        rows = self._ask(space, "SELECT dropped, dropped_at FROM spaces WHERE space_id = %(space)s")
        return next(((int(seq), float(at)) for seq, at in rows), (0, 0.0))

    def health(self, *, thorough: bool = False) -> Health:
        from nacre.storage.postgres.health import examine

        return self._read_all(lambda session: examine(session, thorough=thorough))


@dataclass(frozen=True, slots=True)
class Needed:
    """What a change set has to lock, so that nobody changes what it relies on: its spaces, the kinds of terms that it
    reads and writes, and the whole store where it works on all of it."""

    spaces: tuple[str, ...]
    read: frozenset[str]
    written: frozenset[str]
    everything: bool

    @classmethod
    def of(cls, changes: Sequence[AnyChange], expected: Expected) -> Needed:
        spaces, written, everything = set[str](), set[str](), False
        for change in changes:
            if isinstance(change, TermSet | TermChange):
                written.add(change.kind)
            if isinstance(change, Change):
                spaces.add(change.subject.space)
            elif isinstance(change, SpaceRenamed):
                spaces |= {change.old, change.new}
                written.add("space")
            elif isinstance(change, EmbedderBound | IndexesRebuilt):
                everything = True
            elif not isinstance(change, TermSet):
                spaces.add(change.space)
        spaces |= {space for space, _ in expected.memories}
        read = {kind for kind, _ in expected.terms}
        for call, _ in expected.answers.values():
            if call.method == "terms":
                read.add(call.args[0])
            elif call.args:
                spaces.add(call.args[0])
        return cls(tuple(sorted(spaces)), frozenset(read - written), frozenset(written), everything)


OUTCOME_SECONDS = 30.0  # that a lost commit is asked about
PAUSE = 0.05  # seconds between two questions
LOCK_ALL, LOCK_KIND = 0x6E616372, 0x6E61726B  # the first half of the keys of advisory locks
LOCK_SPACES = f"SELECT {', '.join(SPACE)} FROM spaces WHERE name = ANY(%(spaces)s::text[]) ORDER BY name FOR UPDATE"
MAKE_SPACES = "INSERT INTO spaces(name) SELECT unnest(%(spaces)s::text[]) ON CONFLICT (name) DO NOTHING"
CHOOSE_LOCKED = (
    "SELECT set_config('nacre.spaces', coalesce((SELECT array_agg(space_id)::text FROM spaces"
    " WHERE name = ANY(%(spaces)s::text[])), '{}'), true)"
)
EVERY = "SELECT set_config('nacre.spaces', '*', true)"


class PostgresBackend(PostgresReader, TransactionalBackend):
    """Writers of different spaces do not wait for each other."""

    files = None

    def __init__(self, address: str) -> None:
        check_address(address)
        connections, here = Connections(address), threading.local()
        super().__init__(connections, Uses(connections), here)
        with connections.use():
            pass  # a store that cannot be opened says so now, not at its first use

    def at(self, space: str, seq: int) -> PostgresReader:  # noqa: ARG002
        return PostgresReader(self._connections, self._uses, self._here, seq)

    @contextmanager
    def transaction(self) -> Iterator[PostgresTransaction]:
        """Of no space: `commit` says what its own transaction needs."""
        needed = Needed((), frozenset(), frozenset(), everything=False)
        with self._transaction(needed, PostgresTransaction) as (transaction, _):
            yield transaction

    def commit(
        self,
        changes: Sequence[AnyChange],
        expected: Expected | None = None,
        operation: Operation | None = None,
        clock: Clock = time.time,
    ) -> Committed | Outdated:
        """As `Backend.commit`. Repeated where another transaction prevented it, or where the connection was lost before
        it was committed; where that is not known, the server is asked, so that nothing is done twice."""
        expected = Expected() if expected is None else expected
        needed = Needed.of(changes, expected)
        for last in (*(False for _ in range(ATTEMPTS - 1)), True):
            try:
                with self._transaction(needed, PostgresTransaction) as (transaction, number):
                    result = self.written(transaction, changes, expected, operation, clock)
                    if isinstance(result, Outdated):
                        transaction.cancelled = True
                break
            except CommitLost as lost:
                if isinstance(result, Committed) and self._was_committed(number, result.entries):
                    return result
                if last:
                    raise self._connections.translated(lost.error) from lost.error
            except StorageError as error:
                cause = error.__cause__
                if last or not (isinstance(cause, PASSING) or is_lost(cause)):
                    raise
                self._connections.forget_idle()
        if not transaction.cancelled:
            self._follow_up(transaction, changes)
        return result

    def _follow_up(self, transaction: PostgresTransaction, changes: Sequence[AnyChange]) -> None:
        """The operation is stored: what fails here must not fail it, nor let it be repeated. Without it searches are
        slower, not wrong."""
        try:
            for space in transaction.grown():
                self._uses.analyse(space)
            for change in changes:
                if isinstance(change, EmbedderBound) and not change.anew:  # the end of a reindexing
                    vector_index.maintain(self._connections, change.identity.dimensions)
        except StorageError as error:
            log.warning("The tables were not prepared for quick searches: %s", error)

    @property
    def rows(self) -> PostgresRows:
        from nacre.storage.postgres.transfer import PostgresRows

        return PostgresRows(self)

    def _write(self, writer: ChangeSetWriter, changes: Sequence[AnyChange], clock: Clock) -> Committed:
        if isinstance(writer.transaction, PostgresTransaction):
            writer.transaction.send_words(changes)
        return super()._write(writer, changes, clock)

    @contextmanager
    def frozen(self) -> Iterator[Session]:
        """One state of all spaces, while others go on writing."""
        self._uses.settle()
        with self._connections.use() as connection:
            session = Session(connection)
            try:
                session.together(("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", None), (CHOOSE, chosen(None, ())))
                yield session
            finally:
                with suppress(psycopg.Error):
                    connection.rollback()

    @contextmanager
    def writing_rows(self, space: str) -> Iterator[RowTransaction]:
        """Not repeated where the connection is lost: a migration that is run again compares what is there."""
        from nacre.storage.postgres.transfer import RowTransaction

        try:
            needed = Needed((space,), frozenset(), frozenset(), everything=False)
            with self._transaction(needed, RowTransaction) as (transaction, _):
                yield transaction
        except CommitLost as lost:
            raise self._connections.translated(lost.error) from lost.error

    @contextmanager
    def _transaction(
        self, needed: Needed, kind: Callable[[Session, Sequence[Space]], Written]
    ) -> Iterator[tuple[Written, str]]:
        """What `commit` writes with, and the number by which the server knows the transaction."""
        self._uses.settle()
        with self._connections.use() as connection:
            session = Session(connection)
            try:
                spaces, number = begin(session, needed)
                transaction = kind(session, spaces)
                self._here.session = session
                try:
                    yield transaction, number
                finally:
                    self._here.session = None
                if transaction.cancelled:
                    session.execute("ROLLBACK")
                else:
                    finish(transaction)
            except BaseException:
                with suppress(psycopg.Error):
                    session.settle()
                with suppress(psycopg.Error):
                    connection.rollback()
                raise

    def _was_committed(self, number: str, entries: Sequence[JournalEntry]) -> bool:
        """Raises `DatabaseRefused` where that cannot be found out.

        The number alone does not suffice: after a crash, and on a replica that took over, numbers whose transactions
        were not yet written are given to others. So once it is no longer under way, its journal entry counts.
        """
        deadline = time.monotonic() + OUTCOME_SECONDS
        self._connections.forget_idle()
        while True:
            with suppress(DatabaseRefused), self._connections.use() as connection:
                session = Session(connection)
                status = transaction_status(session, number)
                if status == "aborted" or status == UNKNOWN_NUMBER:
                    return False
                if status == "committed":
                    return not entries or is_written(session, entries[0])
            if time.monotonic() > deadline:
                raise DatabaseRefused(
                    self._connections.public_address,
                    "the connection was lost while an operation was stored, and whether it was is not known",
                    "Look with `nacre journal` before you repeat it.",
                )
            time.sleep(PAUSE)

    def touch(self, space: str, ids: Sequence[str], at: float) -> None:
        self._uses.touch(space, ids, at)

    def walked(self, space: str, edges: Sequence[Edge]) -> None:
        self._uses.walked(space, edges)

    def vectors_for(self, digests: Sequence[bytes]) -> tuple[EmbedderIdentity, dict[bytes, Vectors]]:
        sql = (
            "SELECT DISTINCT ON (digest) digest, embedding FROM chunk WHERE digest = ANY(%(digests)s::bytea[])"
            " AND embedding IS NOT NULL"
        )

        rows, embedder = self._ask_all((sql, {"digests": list(set(digests))}), (EMBEDDER, {}))
        return stored_embedder(embedder), {bytes(digest): row for digest, row in rows}

    def pending(self, limit: int) -> list[Memory]:
        sql = (
            f"SELECT spaces.name, {SELECTED} FROM content JOIN version ON version.space_id = content.space_id"
            f" AND version.content = content.number AND version.seq_to = {OPEN}"
            " JOIN memory ON memory.space_id = version.space_id AND memory.key = version.key"
            " JOIN spaces ON spaces.space_id = content.space_id WHERE content.pending"
            " ORDER BY content.space_id, content.number LIMIT %(limit)s"
        )
        rows = self._read_all(lambda session: session.fetch(sql, {"limit": max(limit, 0)}))
        return [memory_of(row[1:], row[0]) for row in rows]

    def embedder(self) -> EmbedderIdentity:
        return stored_embedder(self._ask_all((EMBEDDER, {}))[0])

    def close(self) -> None:
        self._uses.settle()
        self._connections.close()


UNKNOWN_NUMBER = "unknown"


def transaction_status(session: Session, number: str) -> str:
    """`committed`, `aborted`, `in progress`, or `UNKNOWN_NUMBER` where this server has not come so far."""
    try:
        return str(session.only_row("SELECT pg_xact_status(%(number)s::xid8)", {"number": number})[0])
    except errors.InvalidParameterValue:
        return UNKNOWN_NUMBER


def is_written(session: Session, entry: JournalEntry) -> bool:
    """Whether the journal has this operation where it was to be written."""
    session.together(("BEGIN", None), (EVERY, None))
    sql = (
        "SELECT count(*) FROM journal JOIN spaces USING (space_id)"
        " WHERE spaces.name = %(space)s AND journal.seq = %(seq)s AND journal.batch = %(batch)s"
    )
    values = {"space": entry.space, "seq": entry.seq, "batch": entry.operation.batch}
    entries = session.only_row(sql, values)[0]
    session.execute("COMMIT")
    return bool(entries)


class CommitLost(Exception):
    """The connection was lost while the transaction was committed."""

    def __init__(self, error: psycopg.Error) -> None:
        super().__init__(str(error))
        self.error = error


def begin(session: Session, needed: Needed) -> tuple[list[Space], str]:
    """Locks what is needed, always in the same order, so that two transactions never wait for each other."""
    kinds = {kind.partition("/")[2] for kind in (*needed.read, *needed.written)}
    values = {**chosen((), sorted({*needed.spaces, *kinds})), "spaces": list(needed.spaces)}
    locks = {(LOCK_ALL, 0): needed.everything}
    locks |= {(LOCK_KIND, lock_number(kind)): False for kind in needed.read}
    locks |= {(LOCK_KIND, lock_number(kind)): True for kind in needed.written}
    statements = [("BEGIN ISOLATION LEVEL READ COMMITTED", None), (CHOOSE, values)]
    statements += [(lock_statement(*key, alone=alone), None) for key, alone in sorted(locks.items())]
    choose = EVERY if needed.everything else CHOOSE_LOCKED
    *_, rows, _, [(number,)] = session.together(
        *statements, (LOCK_SPACES, values), (choose, values), ("SELECT pg_current_xact_id()::text", None)
    )
    if len(rows) < len(needed.spaces):
        _, rows, _ = session.together((MAKE_SPACES, values), (LOCK_SPACES, values), (choose, values))
    return [Space(*row) for row in rows], number


def lock_number(kind: str) -> int:
    return int.from_bytes(blake2b(kind.encode(), digest_size=4).digest(), "big", signed=True)


def lock_statement(first: int, second: int, *, alone: bool) -> str:
    return f"SELECT pg_advisory_xact_lock{'' if alone else '_shared'}({first}, {second})"


def finish(transaction: PostgresTransaction) -> None:
    try:
        transaction.flush("COMMIT")
    except psycopg.Error as error:
        if is_lost(error):
            raise CommitLost(error) from error
        raise


def whole_key(after: Sequence[float]) -> tuple[float, ...]:
    """The values of a cursor, whose last one is a number of a memory."""
    return (*map(float, after[:-1]), int(after[-1]))


def from_entry_row(row: Sequence[Any], space: str) -> JournalEntry:
    seq, memory_id, kind, name, actor, at, batch, why, *images = row
    before, after = (image_of(image, kind, space) for image in images)
    return JournalEntry(seq, Operation(name, actor, at, batch, why), space, memory_id, before, after, kind)
