"""A store in one SQLite file: the present state, writing, and what only a file can do."""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from nacre.errors import StoreBusy, StoreDamaged, StoreFull, StoreReadOnly
from nacre.files import ThreadLock
from nacre.model import Edge, Memory
from nacre.protocols import EmbedderIdentity, Vectors
from nacre.storage.sqlite import damage, journal
from nacre.storage.sqlite.connection import Connections, Key, in_passing
from nacre.storage.sqlite.filters import AMONG
from nacre.storage.sqlite.reader import SQLiteReader, without_damaged
from nacre.storage.sqlite.rows import RECORDS, SELECTED, SQLValue, from_row, stored_embedder
from nacre.storage.sqlite.transaction import SQLiteTransaction

if TYPE_CHECKING:
    from nacre.storage.sqlite.vectors import Mirror, Mirrors

log = logging.getLogger("nacre")

MOST_USES = 1_000  # that wait until they can be counted; beyond that the oldest are lost


class SharedMirrors:
    """The vectors of spaces in memory, by the space's number; loads numpy with the first search."""

    def __init__(self) -> None:
        self._mirrors: Mirrors | None = None
        self._lock = ThreadLock()

    def get(self, space: int, *, shared: bool) -> Mirror:
        """Not `shared` inside a transaction: what may yet be rolled back must not be seen by others."""
        from nacre.storage.sqlite.vectors import Mirror, Mirrors

        if not shared:
            return Mirror(space)
        with self._lock:
            self._mirrors = self._mirrors or Mirrors()
        return self._mirrors.of(space)


class SQLiteBackend(SQLiteReader):
    def __init__(self, path: Path, key: Key | None = None) -> None:
        super().__init__(Connections(path, key), SharedMirrors(), set())
        self._uses: deque[tuple[str, tuple[SQLValue, ...]]] = deque(maxlen=MOST_USES)
        self._connections.note_left_in_log()  # also, a store that cannot be opened says so now, not at its first use

    def at(self, space: str, seq: int) -> SQLiteReader:  # noqa: ARG002
        return SQLiteReader(self._connections, self._mirrors, self._damaged, seq)

    @property
    def files(self) -> SQLiteBackend:
        return self

    @contextmanager
    def transaction(self) -> Iterator[SQLiteTransaction]:
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                transaction = SQLiteTransaction(connection)
                with self._connections.within(transaction):
                    yield transaction
                    transaction.finish()
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            self._connections.after_commit(connection, scrubbed=transaction.scrubbed)
            if self._uses:
                with suppress(apsw.Error), in_passing(connection):
                    self._write_uses(connection)

    @without_damaged
    def changes_since(self, space: str, seq: int) -> list[str]:
        with self._reading(space) as (connection, state):
            return journal.changes_since(connection, state.space, seq)

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
            with self._connected() as connection, in_passing(connection):
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
    def vectors_for(self, digests: Sequence[bytes]) -> dict[bytes, Vectors]:
        if not digests:
            return {}
        from nacre.storage.sqlite import search

        with self._snapshot() as connection:
            return search.vectors_for(connection, digests)

    @without_damaged
    def pending(self, limit: int) -> list[Memory]:
        with self._connected() as connection:
            result = connection.execute(
                f"SELECT {SELECTED} FROM {RECORDS} WHERE version.content IN (SELECT number FROM content WHERE pending)"
                " AND version.seq_to IS NULL LIMIT ?",
                (limit,),
            ).fetchall()
            return [from_row(row) for row in result]

    def embedder(self) -> EmbedderIdentity:
        with self._connected() as connection:
            return stored_embedder(connection)

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
