"""A store in one SQLite file: reading the present or an earlier state, writing, and what only a file can do."""

from __future__ import annotations

import json
import math
import zlib
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import cache, partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, TypeAlias, TypeVar

import apsw

from nacre.errors import StoreBusy, StoreDamaged, StoreFull, StoreReadOnly
from nacre.model import Condition, Edge, Filter, JournalEntry, JournalFilter, Memory, Operation
from nacre.model.journal import EVERYTHING, MEMORY
from nacre.model.memory import LISTS, Json, images, size
from nacre.model.validate import LARGEST_NUMBER
from nacre.protocols import (
    ALL,
    Candidates,
    Data,
    EmbedderIdentity,
    Health,
    Listed,
    Match,
    Order,
    Page,
    Search,
    Tallied,
    Vectors,
)
from nacre.storage import tables
from nacre.storage.commit import TransactionalBackend, operations_since, with_words
from nacre.storage.pages import ORDERS, RISING, check_page, iterate_pages, make_cursor, read_cursor
from nacre.storage.sqlite import damage, health, rows
from nacre.storage.sqlite.connection import Connections, Key, translated, wait_for_disk
from nacre.storage.sqlite.rows import (
    AMONG,
    IS_LEAD,
    JOIN_CONTENT,
    JOIN_MEMORY,
    LED,
    RECORDS,
    SELECTED,
    State,
    fetch,
    from_row,
    narrowed,
)
from nacre.storage.sqlite.transaction import OF_MEMORIES, SQLiteTransaction, of_memories
from nacre.storage.tables import (
    EXPERIENCE_TYPE,
    ONLY_TEXT,
    SIZE,
    SUPERSEDED,
    TOTAL,
    SQLValue,
    answered_by_counters,
    answered_by_status,
    from_json,
    has_status,
)

if TYPE_CHECKING:
    from nacre.storage.sqlite.search import Mirrors, SQLiteIndex
    from nacre.storage.sqlite.transfer import SQLiteRows

MOST_USES = 1_000  # that wait until they can be counted; beyond that the oldest are lost
BY_USE = "version.key = memory.key"
VALUES_PAGE = 5_000  # rows of a few values that are held at once: about a megabyte
OUT_OF_ORDER = "an index of its memories is out of order"
NOWHERE = 0  # the number of a space that does not exist
# What each field is called in a query. The week is that of `Memory.week`.
TALLIED_COLUMNS: Mapping[str, str] = {
    TOTAL: "version.row", "type": "version.type", "status": "version.status", "source": "version.source",
    "week": "date(floor(version.created_at), 'unixepoch', 'weekday 0', '-6 days')",
    **dict.fromkeys(LISTS, "listed.value"),
}  # fmt: skip
TEXTS = ("memory_id", "kind", "act", "actor", "batch", "why", "before", "after")
# As bytes: a text that is no UTF-8 would make the driver give up on all the rows.
SELECTED_ENTRY = ", ".join(("seq", "at", "key", "old", "new", *(f"CAST({name} AS BLOB)" for name in TEXTS)))
ENTRY_CONDITIONS = {
    "operation": "+act = ?",
    "actor": "+actor = ?",
    "since": "+at >= ?",
    "until": "+at <= ?",
}
LAST_CHARACTER = "\U0010ffff"
INDEXED_BATCH = 8  # characters of a batch by which an index finds it

# Of the versions that entries ended and began, with the uses when they were written; by a key and a number each.
VERSIONS_OF_ENTRIES = (
    "SELECT version.key, version.seq_from, version.seq_to, version.uses,"
    f" {SELECTED} FROM json_each(?) AS entry CROSS JOIN {RECORDS} WHERE version.key = entry.value ->> 0"
    " AND (version.seq_from = entry.value ->> 1 OR version.seq_to = entry.value ->> 1)"
)
Versions: TypeAlias = dict[tuple[SQLValue, SQLValue, str], Memory]  # by key, entry, and whether it ended or began it
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Written = TypeVar("Written", bound=SQLiteTransaction)


def without_damaged(
    read: Callable[Concatenate[Any, Parameters], Result],
) -> Callable[Concatenate[Any, Parameters], Result]:
    """One damaged record must not hide all others: it is named, left out, and the question is asked again."""

    @wraps(read)
    def asked(reader: SQLiteReader, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return read(reader, *args, **kwargs)
        except StoreDamaged:
            if not reader._hide_damaged():
                raise
        return read(reader, *args, **kwargs)

    return asked


class SQLiteReader:
    """`seq` is the last journal entry of the state that is read; None reads the present."""

    def __init__(
        self, connections: Connections, mirrors: Callable[[], Mirrors], damaged: set[int], seq: int | None = None
    ) -> None:
        self.path = connections.path
        self._connections = connections
        self._mirrors = mirrors  # the vectors of spaces in memory, shared by all readers of the file
        self._damaged = damaged  # the versions that were named as damaged
        self._seq = seq

    def get(self, space: str, id: str) -> Memory | None:
        return next(iter(self.get_many(space, [id])), None)

    @without_damaged
    def get_many(self, space: str, ids: Sequence[str]) -> list[Memory]:
        with self._connected() as connection:
            result = connection.execute(
                f"SELECT {SELECTED} FROM memory CROSS JOIN version ON version.key = memory.key"
                " CROSS JOIN content ON content.number = version.content"
                f" WHERE memory.space = (SELECT number FROM space WHERE name = ?) AND memory.id {AMONG}"
                f" AND {State(NOWHERE, self._seq).of('version')}",
                (space, json.dumps(list(ids))),
            ).fetchall()
            memories = {memory.id: memory for memory in map(from_row, result)}
        return [memories[id] for id in dict.fromkeys(ids) if id in memories]

    @without_damaged
    def ids_like(self, space: str, prefix: str, limit: int) -> list[str]:
        # A range on the unique index; the last code point stands for "everything that begins so".
        with self._reading(space) as (connection, state):
            result = connection.execute(
                "SELECT memory.id FROM memory CROSS JOIN version ON version.key = memory.key"
                f" WHERE memory.space = ? AND memory.id >= ? AND memory.id < ? AND {state.of('version')}"
                " ORDER BY memory.id LIMIT ?",
                (state.space, prefix, prefix + LAST_CHARACTER, limit),
            ).fetchall()
        return [str(id) for (id,) in result]

    @without_damaged
    def page(
        self, space: str, where: Filter, *, order: Order = "newest", limit: int, cursor: str = "", offset: int = 0
    ) -> Page:
        check_page(limit, offset)
        after = read_cursor(cursor, order)
        with self._reading(space) as (connection, state):
            by_use, led = (BY_USE, False) if order == "accessed" else ("", order != "updated")
            made = narrowed(connection, state, where, by=by_use, by_anchor=led)
            columns = [f"{'memory' if by_use else made.base}.{name}" for name in (*ORDERS[order], "key")]
            joined = made.joined("memory", "content")
            if made.parts[0] == BY_USE:  # the walk begins at the memories, which are in the order of their use
                joined = f"memory CROSS JOIN version{rows.JOIN_CONTENT}"
                made.parts.insert(0, "memory.space = ?")
                made.values.insert(0, state.space)
            if state.seq is not None and order == "newest":
                latest = latest_change(connection, state.space, state.seq)
                if latest is not None:
                    made.parts.append(f"{columns[0]} <= ?")
                    made.values.append(latest)
            if after is not None:
                sign = ">" if order == RISING else "<"
                made.parts.append(f"({', '.join(columns)}) {sign} ({', '.join('?' for _ in after)})")
                made.values += after
            result: list[tuple[Any, ...]] = connection.execute(
                f"SELECT {', '.join(columns)}, {SELECTED} FROM {joined} WHERE {made.sql} ORDER BY "
                + ", ".join(f"{column}{'' if order == RISING else ' DESC'}" for column in columns)
                + " LIMIT ? OFFSET ?",
                (*made.values, limit + 1, offset),
            ).fetchall()
            memories = [from_row(row[len(columns) :]) for row in result[:limit]]
        if not len(result) > len(memories) > 0:
            return Page(memories, "")
        last = result[limit - 1][: len(columns)]
        if after is not None and (last <= after if order == RISING else last >= after):
            # A damaged index may lead back to what was read; a walk would never end.
            raise StoreDamaged(self.path, OUT_OF_ORDER)
        return Page(memories, make_cursor(order, last))

    def iterate(self, space: str, where: Filter) -> Iterator[Memory]:
        return iterate_pages(self, space, where)

    def values(self, space: str, where: Filter, fields: Sequence[Listed]) -> Iterator[tuple[Any, ...]]:
        after: tuple[Any, ...] = (-math.inf, 0)
        while result := self._values_after(space, where, fields, after):
            yield from (row[2:] for row in result)
            if result[-1][:2] <= after:
                raise StoreDamaged(self.path, OUT_OF_ORDER)
            after = result[-1][:2]

    @without_damaged
    def _values_after(
        self, space: str, where: Filter, fields: Sequence[Listed], after: tuple[Any, ...]
    ) -> list[tuple[Any, ...]]:
        columns = ", ".join(f"{tables.table_of(name)}.{name}" for name in fields)
        with self._reading(space) as (connection, state):
            made = narrowed(connection, state, where, by_anchor=True)
            place = f"{made.base}.created_at, {made.base}.key"
            result = fetch(
                connection,
                f"SELECT {place}, {columns} FROM {made.joined(*map(tables.table_of, fields))} WHERE {made.sql}"
                f" AND ({place}) > (?, ?) ORDER BY {place} LIMIT ?",
                (*made.values, *after, VALUES_PAGE),
            )
            rows.check_columns(("created_at", "version", *fields), result)
            packed = "text" in fields and any(type(row[2 + fields.index("text")]) is bytes for row in result)
            return [tuple(map(rows.plain_text, row)) for row in result] if packed else result

    @without_damaged
    def count(self, space: str, where: Filter) -> int:
        with self._reading(space) as (connection, state):
            known = None if self._damaged else counted(connection, state, where)  # counters know nothing of damage
            if known is not None:
                return known
            made = narrowed(connection, state, where)
            return int(
                rows.only_row(connection, f"SELECT count(*) FROM {made.joined()} WHERE {made.sql}", *made.values)[0]
            )

    def size(self, space: str, where: Filter) -> int:
        with self._reading(space) as (connection, state):
            known = None if self._damaged else counted_size(connection, state, where)
        return sum(map(size, self.iterate(space, where))) if known is None else known

    @without_damaged
    def tally(self, space: str, field: Tallied, where: Filter) -> dict[str, int]:
        with self._reading(space) as (connection, state):
            known = None if self._damaged else counted_tally(connection, state, field, where)
            if known is not None:
                return known
            made = narrowed(connection, state, where)
            names = f" CROSS JOIN {rows.listed(field)}" if field in LISTS else ""
            result = connection.execute(
                f"SELECT count(DISTINCT version.row), {TALLIED_COLUMNS[field]} FROM {made.joined()}{names}"
                f" WHERE {made.sql} GROUP BY 2 ORDER BY 1 DESC, 2",
                made.values,
            ).fetchall()
        return {str(name): int(count) for count, name in result}  # type: ignore[arg-type]

    @without_damaged
    def spaces(self) -> dict[str, int]:
        with self._connected() as connection:
            result = connection.execute(
                "SELECT name, memories FROM present WHERE memories > 0 ORDER BY name"
            ).fetchall()
        return {str(space): int(count) for space, count in result}  # type: ignore[arg-type]

    @without_damaged
    def gather(self, space: str, search: Search) -> Candidates:
        from nacre.storage import candidates

        with self._searching(space, search.terms) as index:
            index.reads_records = search.records
            terms = candidates.bounded(search.terms, search.visible, index.holding)
            return replace(candidates.gather(index, replace(search, terms=terms), index.few), memories=index.memories)

    @without_damaged
    def by_words(
        self, space: str, terms: Sequence[str], where: Filter, limit: int, visible: Filter = ALL
    ) -> list[Match]:
        from nacre.storage import candidates

        with self._searching(space, terms) as index:
            return candidates.by_words(index, candidates.bounded(terms, visible, index.holding), where, limit, visible)

    @without_damaged
    def by_vector(self, space: str, vector: Vectors, where: Filter, limit: int) -> list[Match]:
        with self._searching(space) as index:
            return index.by_vector(vector, where, limit)

    @without_damaged
    def edges(
        self,
        space: str,
        *,
        out_of: Sequence[str] | None = None,
        into: Sequence[str] | None = None,
        rels: Sequence[str] | None = None,
        kind: str | None = None,
        limit: int | None = None,
    ) -> list[Edge]:
        parts: list[str] = []
        values: list[SQLValue] = []
        for column, names in (("link.target", into), ("link.rel", rels)):
            if names is not None:
                # The plus keeps every other column from leading than the first: half of all links may be of one
                # relation, and each of a thousand sources would be looked up with each of a thousand targets.
                among, value = ("= ?", names[0]) if len(names) == 1 else (AMONG, json.dumps(list(names)))
                parts.append(f"{'+' if parts or out_of is not None else ''}{column} {among}")
                values.append(value)
        if kind is not None:
            parts.append("link.kind = ?")
            values.append(kind)
        begin = "link CROSS JOIN memory ON memory.key = link.key"
        if out_of is not None:
            begin = "memory CROSS JOIN link ON link.key = memory.key"
            parts.insert(0, f"memory.id {AMONG} AND memory.space = link.space")
            values.insert(0, json.dumps(list(out_of)))
        with self._reading(space) as (connection, state):
            lead = "memory" if out_of is not None else "link"
            result: list[tuple[Any, ...]] = connection.execute(
                f"SELECT memory.id, link.target, link.rel, link.weight, link.walks, link.kind FROM {begin}"
                f" WHERE {' AND '.join((f'{lead}.space = ?', *parts, state.of('link')))}"
                f" ORDER BY {'memory' if out_of is not None else 'link'}.key, link.target, link.rel LIMIT ?",
                (state.space, *values, -1 if limit is None else limit),
            ).fetchall()
        return [Edge(*row) for row in result]

    @without_damaged
    def replaced_by(self, space: str, id: str) -> list[Memory]:
        with self._reading(space) as (connection, state):
            result = connection.execute(
                f"SELECT {SELECTED} FROM {LED}{JOIN_MEMORY}{JOIN_CONTENT} WHERE lead.space = ?"
                f" AND lead.superseded_by = ? AND lead.superseded_by <> '' AND {IS_LEAD} AND {state.of('version')}"
                " ORDER BY +version.created_at, version.key",
                (state.space, id),
            ).fetchall()
            return [from_row(row) for row in result]

    @without_damaged
    def vectors(self, space: str, ids: Sequence[str]) -> dict[str, Vectors]:
        from nacre.storage.sqlite import search

        with self._reading(space) as (connection, state):
            return search.vectors_of(connection, state, ids)

    @without_damaged
    def term(self, kind: str, name: str) -> Data | None:
        with self._connected() as connection:
            return rows.vocabulary(connection, kind, name).get(name)

    @without_damaged
    def terms(self, kind: str) -> dict[str, Data]:
        with self._connected() as connection:
            return rows.vocabulary(connection, kind)

    @without_damaged
    def journal(
        self, space: str, where: JournalFilter = EVERYTHING, *, newest_first: bool = True, limit: int | None = None
    ) -> list[JournalEntry]:
        if self._seq is not None:
            where = replace(where, upto=self._seq if where.upto is None else min(where.upto, self._seq))
        with self._reading(space) as (connection, state):
            return read_journal(connection, state.space, space, where, newest_first=newest_first, limit=limit)

    @without_damaged
    def seq_at(self, space: str, time: float) -> int:
        if time == math.inf and self._seq is None:
            with self._snapshot("SELECT coalesce((SELECT seq FROM present WHERE name = ?), 0)", (space,)) as (
                _,
                (seq,),
            ):
                return int(seq)
        with self._reading(space) as (connection, state):
            seq = last_entry(connection, state.space, time) if state.space != NOWHERE else 0
        return seq if self._seq is None else min(seq, self._seq)

    @without_damaged
    def changes_since(self, space: str, seq: int) -> list[str]:
        with self._reading(space) as (connection, state):
            result = connection.execute(
                "SELECT memory_id FROM journal WHERE place BETWEEN ? AND ? AND kind = ? GROUP BY memory_id"
                " ORDER BY max(place)",
                (*rows.span(state.space, seq + 1, rows.LAST_SEQ if self._seq is None else self._seq), MEMORY),
            ).fetchall()
        return [str(id) for (id,) in result]

    def written_since(self, space: str, seq: int, texts: Collection[str]) -> list[Memory]:
        return with_words(self, space, self.changes_since(space, seq), texts)

    @without_damaged
    def last_positions(
        self,
        space: str,
        seq: int,  # noqa: ARG002 (for a plan)
        sessions: Sequence[str],
        where: Filter = ALL,
    ) -> dict[str, int]:
        with self._reading(space) as (connection, state):
            made = rows.clause(state, where, by_anchor=True)
            result = fetch(
                connection,
                f"SELECT asked.value, (SELECT lead.position FROM {made.joined()} WHERE {made.sql}"
                " AND lead.session = asked.value AND lead.session <> ''"
                f" AND lead.position BETWEEN 0 AND {LARGEST_NUMBER} ORDER BY lead.position DESC LIMIT 1)"
                " FROM json_each(?) AS asked",
                (*made.values, json.dumps(list(sessions))),
            )
        return {str(session): int(last) for session, last in result if last is not None}

    def operations_since(self, space: str, id: str, seq: int) -> list[Operation]:
        return operations_since(self, space, id, seq)

    @without_damaged
    def border(self, space: str, upto: int) -> int:
        with self._reading(space) as (connection, state):
            sql = (
                "SELECT min(seq) AS first, max(seq) AS last FROM journal WHERE place BETWEEN ? AND ?"
                " GROUP BY batch HAVING first <= ? AND last > first ORDER BY last DESC"
            )
            for first, last in fetch(connection, sql, (*rows.span(state.space), upto)):
                upto = first - 1 if first <= upto < last else upto
            return upto

    def journal_begins(self, space: str) -> tuple[int, float]:
        with self._reading(space) as (connection, state):
            sql = "SELECT dropped, dropped_at FROM space WHERE number = ?"
            return next(iter(fetch(connection, sql, (state.space,))), (0, 0.0))

    def health(self, *, thorough: bool = False) -> Health:
        with self._connected() as connection:
            return health.examine(connection, self.path, thorough=thorough)

    @contextmanager
    def _connected(self) -> Iterator[apsw.Connection]:
        with translated(self.path), self._connections.use() as connection:
            yield connection

    @contextmanager
    def _snapshot(self, sql: str, values: Any) -> Iterator[tuple[apsw.Connection, tuple[Any, ...]]]:
        """The only row of a query. All that is read meanwhile is of the same state of the file."""
        with self._connected() as connection, self._connections.snapshot(sql, values) as row:
            yield connection, row

    @contextmanager
    def _reading(self, space: str) -> Iterator[tuple[apsw.Connection, State]]:
        sql = f"SELECT coalesce((SELECT number FROM space WHERE name = ?), {NOWHERE})"
        with self._snapshot(sql, (space,)) as (connection, (number,)):
            yield connection, State(number, self._seq)

    @contextmanager
    def _searching(self, space: str, terms: Sequence[str] = ()) -> Iterator[SQLiteIndex]:
        """Only these terms can be searched."""
        from nacre.storage.sqlite.search import SEARCHED, SQLiteIndex, VectorState

        asked = json.dumps(list({stem for term in terms for stem in term.split()}))
        values: dict[str, SQLValue] = {"stems": asked, "space": space, "seq": self._seq}
        with self._snapshot(SEARCHED, values) as (connection, (number, present, then, *vectors_now, newest, holding)):
            vectors = partial(self._mirrors().of(number).current, connection, VectorState(*vectors_now))
            memories, stems = json.loads(present if self._seq is None else then)
            size, state = (memories or 0, stems or 0), State(number, self._seq)
            counts = json.loads(present)[0], json.loads(holding)
            yield SQLiteIndex(connection, state, vectors, size, *counts, newest)

    def _hide_damaged(self) -> bool:
        """True when damaged records were found that were not left out before."""
        with self._connected() as connection:
            return damage.hide(connection, self.path, self._damaged)


def new_mirrors() -> Mirrors:
    from nacre.storage.sqlite.search import Mirrors  # numpy is loaded with the first search

    return Mirrors()


class SQLiteBackend(SQLiteReader, TransactionalBackend):
    def __init__(self, path: Path, key: Key | None = None) -> None:
        mirrors, damaged = cache(new_mirrors), set[int]()
        self._uses: deque[tuple[str, tuple[SQLValue, ...]]] = deque(maxlen=MOST_USES)
        of_file = (mirrors.cache_clear, damaged.clear, self._uses.clear)
        super().__init__(Connections(path, key, forget=of_file), mirrors, damaged)
        self._connections.note_left_in_log()  # also, a store that cannot be opened says so now, not at its first use
        self._connections.sweep()

    def at(self, space: str, seq: int) -> SQLiteReader:  # noqa: ARG002
        return SQLiteReader(self._connections, self._mirrors, self._damaged, seq)

    @property
    def files(self) -> SQLiteBackend:
        return self

    @property
    def rows(self) -> SQLiteRows:
        from nacre.storage.sqlite.transfer import SQLiteRows

        return SQLiteRows(self)

    def transaction(self) -> AbstractContextManager[SQLiteTransaction]:
        """What `commit` writes with."""
        return self.writing(SQLiteTransaction)

    @contextmanager
    def writing(self, kind: Callable[[apsw.Connection], Written]) -> Iterator[Written]:
        """A transaction of this kind. They run one after the other."""
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                transaction = kind(connection)
                yield transaction
                transaction.flush()
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            wait_for_disk(connection, self.path)
            for space, new in transaction.new_vectors.items():
                self._mirrors().add(space, new)
            self._pack_signs(connection, transaction.to_pack)
            self._connections.after_commit(connection, scrubbed=transaction.scrubbed)
            if self._uses:
                with suppress(apsw.Error), self._connections.in_passing(connection):
                    self._write_uses(connection)

    def _pack_signs(self, connection: apsw.Connection, to_pack: Mapping[int, int]) -> None:
        """After the commit, so that others do not wait for it. What fails is tried again by a later write: signs are
        derived, and until they are packed the vectors themselves are compared."""
        for space, dimensions in to_pack.items():
            from nacre.storage.sqlite import search

            with suppress(apsw.Error):
                search.pack_signs(connection, space, dimensions)

    def touch(self, space: str, ids: Sequence[str], at: float) -> None:
        sql = (
            "UPDATE main.memory SET last_accessed = max(last_accessed, ?), access_count = access_count + 1"
            f" WHERE space = (SELECT number FROM space WHERE name = ?) AND id {AMONG} AND gone = 0"
        )
        self._count(sql, (at, space, json.dumps(list(ids))))

    def walked(self, space: str, edges: Sequence[Edge]) -> None:
        sql = (
            "UPDATE link SET walks = walks + 1 WHERE seq_to IS NULL AND (space, target, rel, key) IN ("
            " SELECT memory.space, pair.value ->> 1, pair.value ->> 2, memory.key FROM json_each(?) AS pair"
            " CROSS JOIN memory ON memory.space = (SELECT number FROM space WHERE name = ?)"
            " AND memory.id = pair.value ->> 0 AND memory.gone = 0)"
        )
        self._count(sql, (json.dumps([edge[:3] for edge in edges]), space))

    def _count(self, sql: str, values: tuple[SQLValue, ...]) -> None:
        """At once where nobody else writes: a reader does not wait for a writer. Else with the next use or write."""
        self._uses.append((sql, values))
        try:
            with self._connected() as connection, self._connections.in_passing(connection):
                self._write_uses(connection)
        except StoreBusy:
            return
        except (StoreDamaged, StoreFull, StoreReadOnly):
            self._uses.clear()

    def _write_uses(self, connection: apsw.Connection) -> None:
        while self._uses:
            with suppress(IndexError):  # another thread took the last one
                use = self._uses.popleft()
                try:
                    connection.execute(*use)
                except apsw.BusyError:
                    self._uses.appendleft(use)
                    raise

    @without_damaged
    def vectors_for(self, digests: Sequence[bytes]) -> tuple[EmbedderIdentity, dict[bytes, Vectors]]:
        from nacre.storage.sqlite import search

        with self._connected() as connection:
            return search.vectors_for(connection, digests)

    @without_damaged
    def pending(self, limit: int) -> list[Memory]:
        with self._connected() as connection:
            result = connection.execute(
                f"SELECT {SELECTED} FROM content CROSS JOIN {State(NOWHERE).of_content}{JOIN_MEMORY}"
                " WHERE content.pending AND first.row = content.number AND version.seq_to IS NULL LIMIT ?",
                (limit,),
            ).fetchall()
            return [from_row(row) for row in result]

    def embedder(self) -> EmbedderIdentity:
        with self._connected() as connection:
            return rows.stored_embedder(connection)

    def check_records(self) -> None:
        with self._connected() as connection:
            fault = damage.check_records(connection)
        if fault:
            raise StoreDamaged(self.path, fault)

    def copy_to(self, path: Path) -> None:
        from nacre.storage.sqlite import backup

        with self._connected() as connection:
            backup.copy_to(connection, self.path, path, self._connections.key)

    def close(self) -> None:
        self._connections.close()


def counted(connection: apsw.Connection, state: State, where: Filter) -> int | None:
    """How many memories the filter admits, where counters say it: beside what a status says, it may ask for one name
    in one list, or for values of one key in `COUNTED_METADATA`. Of an earlier state, and of anything else, they say
    nothing."""
    named = [condition for condition in where.conditions if answered_by_counters(condition)]
    if not named:
        known = counted_tally(connection, state, TOTAL, where)
        return None if known is None else sum(known.values())
    lasting = sum_counters(connection, state, named[0].field, named[0], where)
    return None if lasting is None else lasting + sum(1 for _ in expiring(connection, state, TOTAL, where))


def counted_size(connection: apsw.Connection, state: State, where: Filter) -> int | None:
    """As `counted`, for the bytes of experiences; None also where one of them has a time of expiry."""
    named = [each for each in where.conditions if each.field == EXPERIENCE_TYPE and answered_by_counters(each)]
    if not named or list(expiring(connection, state, TOTAL, where)):
        return None
    return sum_counters(connection, state, SIZE, named[0], where)


def sum_counters(connection: apsw.Connection, state: State, field: str, named: Condition, where: Filter) -> int | None:
    """Of the names in one of the conditions, over every status that the others admit."""
    rest = tuple(condition for condition in where.conditions if condition is not named)
    if state.seq is not None or not all(map(answered_by_status, rest)):
        return None
    result = fetch(
        connection,
        f"SELECT status, n FROM counter WHERE space = ?1 AND field = ?2 AND name {AMONG}"
        f" AND status IN (SELECT status FROM counter WHERE space = ?1 AND field = '{TOTAL}')",
        (state.space, field, rows.as_list(tables.sql_values(named.value))),
    )
    return sum(int(n) for status, n in result if has_status(str(status), rest))


def counted_tally(connection: apsw.Connection, state: State, field: str, where: Filter) -> dict[str, int] | None:
    """How many memories have each value, or how many there are by status; None where no counter says it."""
    if state.seq is not None or not all(answered_by_status(condition) for condition in where.conditions):
        return None
    column = TOTAL if field == "status" else field
    counts: Counter[str] = Counter()
    for status, name, n in connection.execute(
        "SELECT status, name, n FROM counter WHERE space = ? AND field = ?", (state.space, column)
    ).fetchall():
        if has_status(str(status), where.conditions):
            counts[str(status).removesuffix(SUPERSEDED) if field == "status" else str(name)] += int(n)  # type: ignore[arg-type]
    counts.update(expiring(connection, state, field, where))
    return {name: n for name, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])) if n}


def expiring(connection: apsw.Connection, state: State, field: str, where: Filter) -> Iterable[str]:
    """The values of the memories that have a time of expiry; these are few."""
    made = rows.clause(state, where, by_anchor=True)
    names = f" CROSS JOIN {rows.listed(field)}" if field in LISTS else ""
    result = connection.execute(
        f"SELECT {'DISTINCT' if names else ''} version.row, {TALLIED_COLUMNS[field]} FROM {made.joined()}{names}"
        f" WHERE lead.expires_at IS NOT NULL AND {made.sql}",
        made.values,
    ).fetchall()
    return ["" if field == TOTAL else str(name) for _, name in result]


def latest_change(connection: apsw.Connection, space: int, seq: int) -> float | None:
    """No version of the state after this entry was created or changed later; None where nobody knows."""
    sql = "SELECT latest FROM journal WHERE place = ?"
    return next((float(at) for (at,) in fetch(connection, sql, (rows.place(space, seq),))), None)


def read_journal(
    connection: apsw.Connection, space: int, name: str, where: JournalFilter, *, newest_first: bool, limit: int | None
) -> list[JournalEntry]:
    result = entry_rows(connection, space, where, newest_first=newest_first, limit=limit)
    versions = versions_of(connection, [(key, seq) for seq, _, key, *_ in result if key is not None])
    operations: Operations = {}
    return [from_entry_row(row, name, versions, operations) for row in result]


def entry_rows(
    connection: apsw.Connection, space: int, where: JournalFilter, *, newest_first: bool, limit: int | None
) -> list[tuple[Any, ...]]:
    after = 0 if where.after is None else where.after
    first, last = rows.span(space, after + 1, rows.LAST_SEQ if where.upto is None else where.upto)
    parts, values, index = ["place BETWEEN ? AND ?"], list[SQLValue]([first, last]), ""
    about = tables.ids_asked_for(where)
    if about is not None:
        parts, values = [OF_MEMORIES, "+place BETWEEN ? AND ?"], [*of_memories(space, *about), *values]
    if where.batch is not None:
        begin, end = where.batch, where.batch + LAST_CHARACTER
        few = len(begin) < INDEXED_BATCH  # with all of them the index has the order of the entries, too
        parts.append(f"substr(batch, 1, 8) {'BETWEEN ? AND ?' if few else '= ?'} AND +batch >= ? AND +batch < ?")
        values += [begin[:INDEXED_BATCH], *([end[:INDEXED_BATCH]] if few else []), begin, end]
        index = " INDEXED BY journal_batch" if where.batch and about is None else ""
    for field, part in ENTRY_CONDITIONS.items():
        wanted = getattr(where, field)
        if wanted is not None:
            parts.append(part)
            values.append(wanted)
    return fetch(
        connection,
        f"SELECT {SELECTED_ENTRY} FROM journal{index} WHERE {' AND '.join(parts)}"
        f" ORDER BY place {'DESC' if newest_first else 'ASC'} LIMIT ?",
        (*values, -1 if limit is None else limit),
    )


def versions_of(connection: apsw.Connection, entries: Sequence[tuple[int, int]]) -> Versions:
    """By the entries (a key and a number each) that ended and began them: as they were written, their uses too, and in
    the end with the uses that were counted since. What cannot be read is left out."""
    if not entries:
        return {}
    versions: Versions = {}
    for key, began, ended, uses, *record in fetch(connection, VERSIONS_OF_ENTRIES, (json.dumps(entries),)):
        with suppress(ValueError, TypeError, zlib.error):
            counted, record[rows.USES] = record[rows.USES], from_json(uses)
            versions[key, ended, "old"] = versions[key, began, "new"] = from_row(record)
            if counted != record[rows.USES]:
                record[rows.USES] = counted
                versions[key, ended, "old"] = from_row(record)
    return versions


class EntryHead(NamedTuple):
    """What an entry of the journal says besides its images, in the order of `EntryRow`."""

    memory_id: str
    kind: str
    operation: str
    actor: str
    at: float
    batch: str
    why: str


def split_entry(row: Sequence[SQLValue]) -> tuple[EntryHead, list[SQLValue], bool]:
    """Of the columns `SELECTED_ENTRY`: the head, the stored images, and whether a text of the head is damaged."""
    _, at, _, _, _, *texts = row
    memory_id, kind, name, actor, batch, why, *stored = all_legible(texts)
    texts = [memory_id, kind, name, actor, batch, why]
    damaged = not ONLY_TEXT.issuperset(map(type, texts))
    memory_id, kind, name, actor, batch, why = map(as_text, texts) if damaged else texts
    return EntryHead(memory_id, kind, name, actor, number(at), batch, why), stored, damaged  # type: ignore[arg-type]


Operations: TypeAlias = dict[tuple[str, str, float, str, str], Operation]  # by their values


def from_entry_row(row: Sequence[SQLValue], space: str, versions: Versions, operations: Operations) -> JournalEntry:
    """`operations` are those of other entries: one may have thousands."""
    seq, _, key, old, new, *_ = row
    head, stored, damaged = split_entry(row)
    operation = head[2:]
    if operation not in operations:
        operations[operation] = Operation(*operation)
    before: Mapping[str, Json] | None = None
    after: Mapping[str, Json] | None = None
    try:
        if key is not None:
            sides = (("old", old), ("new", new))
            before, after = images(*(versions[key, seq, side] if there else None for side, there in sides))
        else:
            before, after = map(parsed, stored)
    except (KeyError, ValueError):  # one broken row must not hide the others
        damaged = True
    return JournalEntry(
        seq=int(seq),  # type: ignore[arg-type]
        operation=operations[operation],
        space=space,
        memory_id=head.memory_id,
        before=None if damaged else before,
        after=None if damaged else after,
        kind=head.kind,
        damaged=damaged,
    )


def all_legible(values: Sequence[SQLValue]) -> list[SQLValue]:
    """As `legible`, quickly where all of them are: this is done for every entry."""
    try:
        return [value.decode() if type(value) is bytes else value for value in values]
    except UnicodeDecodeError:
        return list(map(legible, values))


def legible(value: SQLValue) -> SQLValue:
    """The text, or its bytes where they are none."""
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return repr(value).encode()


def parsed(image: SQLValue) -> Mapping[str, Json] | None:
    if image is None:
        return None
    fields = json.loads(image)  # type: ignore[arg-type]
    if not isinstance(fields, dict):
        raise ValueError("a journal image must be an object")
    return fields


def as_text(value: SQLValue) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def number(value: SQLValue) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def last_entry(connection: apsw.Connection, space: int, at: float) -> int:
    """Times never fall with the numbers, so that half of what is left can be put aside at each step."""
    middle = "(low + high + 1) / 2"
    before = f"place BETWEEN ?3 AND ?3 + {middle} ORDER BY place DESC LIMIT 1"
    earlier = f"(SELECT at FROM journal WHERE {before}) <= ?2"
    return int(
        rows.only_row(
            connection,
            "WITH RECURSIVE span(low, high) AS (SELECT dropped, seq FROM present WHERE number = ?1 UNION ALL"
            f" SELECT iif({earlier}, {middle}, low), iif({earlier}, high, {middle} - 1) FROM span WHERE low < high)"
            " SELECT max(low) FROM span",
            space,
            at,
            rows.place(space, 0),
        )[0]
    )
