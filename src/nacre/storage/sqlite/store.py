"""One operation on the file: row, side tables, words, chunks, vectors and journal, together or not at all."""

from __future__ import annotations

import json
import math
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import apsw

from nacre.errors import StoreBusy, StoreDamaged, StoreFull, StoreReadOnly
from nacre.model import Edge, Filter, JournalEntry, JournalFilter, Memory
from nacre.model.journal import EVERYTHING
from nacre.model.memory import Json
from nacre.protocols import (
    Derived,
    EmbedderIdentity,
    Health,
    Keys,
    Match,
    Order,
    Place,
    Posting,
    Tallied,
    Vectors,
    Words,
)
from nacre.storage.sqlite import damage, health
from nacre.storage.sqlite import rows as compressed
from nacre.storage.sqlite import rows as journal
from nacre.storage.sqlite import rows as links
from nacre.storage.sqlite import rows as renaming
from nacre.storage.sqlite import search as words
from nacre.storage.sqlite.connection import Connections, Key, in_passing, translated
from nacre.storage.sqlite.rows import COLUMNS, SELECTED, SQLValue, from_row, to_row, words_of
from nacre.storage.sqlite.search import conditions

if TYPE_CHECKING:
    from nacre.storage.sqlite.vectors import Mirror, Mirrors

INSERT = f"INSERT INTO main.memory({', '.join(COLUMNS)}, generation) VALUES ({', '.join('?' for _ in COLUMNS)}, 0)"
# An operation on a million memories holds no more vectors than these at once.
VECTORS_HELD = 2_048
UPDATE = f"UPDATE main.memory SET {', '.join(f'{name} = ?' for name in COLUMNS)} WHERE row = ?"


EMBEDDER_KEYS = ("embedder", "dimensions", "probe")  # of the table `meta`


def stored_embedder(connection: apsw.Connection) -> EmbedderIdentity:
    rows = connection.execute(f"SELECT key, value FROM meta WHERE key IN {EMBEDDER_KEYS}").fetchall()
    known: dict[str, Any] = {str(key): value for key, value in rows}
    name, dimensions, probe = (known.get(key) for key in EMBEDDER_KEYS)
    return EmbedderIdentity(name or "", dimensions or 0, probe or b"")


class SQLiteTransaction:
    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._new: dict[str, list[tuple[int, int, Vectors]]] = defaultdict(list)
        self._gone: dict[str, list[int]] = defaultdict(list)
        self._scrubbed = False

    def get(self, space: str, id: str) -> Memory | None:
        row = self._connection.execute(
            f"SELECT {SELECTED} FROM memory WHERE space = ? AND id = ?", (space, id)
        ).fetchone()
        return None if row is None else from_row(row)

    def put(self, memory: Memory, derived: Derived | None = None) -> None:
        row = self._row(memory.space, memory.id)
        if row is None:
            # Most memories are new: nothing of theirs is there that would have to go first.
            self._connection.execute(INSERT, to_row(memory))
            row = self._connection.last_insert_rowid()
        else:
            self._connection.execute(UPDATE, (*to_row(memory), row))
            self._drop_lists(row)
            if derived is not None and self._same_vectors(row, derived):
                self._drop_words(row)
                self._put_words(row, derived.words)
                self._mark_embedded(row)
                derived = None
            elif derived is not None:
                self._drop_derived(memory.space, row)
        self._put_lists(row, memory)
        if derived is not None:
            self._put_derived(memory.space, row, derived)

    def carry(self, row: int | None, memory: Memory) -> None:
        """Into a new file, under the number that it had, or a new one. What is derived from it is pending."""
        names = ", ".join(COLUMNS)
        marks = ", ".join("?" for _ in COLUMNS)
        sql = f"INSERT INTO main.memory(row, {names}, generation) VALUES (?, {marks}, 0)"
        self._connection.execute(sql, (row, *to_row(memory)))
        self._put_lists(self._connection.last_insert_rowid(), memory)

    def compress(self, space: str, ids: Sequence[str]) -> int:
        return compressed.compress(self._connection, space, ids)

    def remove(self, space: str, id: str) -> bool:
        row = self._row(space, id)
        if row is None:
            return False
        self._drop_derived(space, row)
        self._drop_lists(row)
        links.put(self._connection, row, ())
        self._connection.execute("DELETE FROM main.memory WHERE row = ?", (row,))
        return True

    def replaced_by(self, space: str, id: str) -> list[Memory]:
        return links.replaced_by(self._connection, space, id)

    def _row(self, space: str, id: str) -> int | None:
        row = self._connection.execute("SELECT row FROM memory WHERE space = ? AND id = ?", (space, id)).fetchone()
        return None if row is None else int(row[0])

    def claim_embedder(self, identity: str, dimensions: int, probe: bytes = b"") -> None:
        stored, claimed = stored_embedder(self._connection), EmbedderIdentity(identity, dimensions, probe)
        stored.check(claimed)
        if not stored.name or (probe and not stored.probe):
            self._bind(claimed)

    def change_embedder(self, identity: str, dimensions: int, probe: bytes = b"") -> None:
        from nacre.storage.sqlite import vectors

        self.flush()
        vectors.clear(self._connection)
        self._connection.execute("UPDATE chunk SET embedded = 0")
        self._connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
        self._bind(EmbedderIdentity(identity, dimensions, probe))

    def rebuild_indexes(self) -> None:
        """Also empties a word index that is damaged or disagrees with the memories: all of them are pending then."""
        self._connection.execute("REINDEX")
        if not words.agree(self._connection):
            words.empty(self._connection)
            self._connection.execute("UPDATE main.memory SET generation = 0")

    def _bind(self, identity: EmbedderIdentity) -> None:
        values = (identity.name, identity.dimensions, identity.probe)
        self._connection.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)", list(zip(EMBEDDER_KEYS, values, strict=True))
        )

    def append(self, entries: Sequence[JournalEntry]) -> None:
        journal.append(self._connection, entries)

    def last_at(self, space: str) -> float:
        return journal.last_at(self._connection, space)

    def scrub_journal(self, space: str, id: str) -> int:
        self._scrubbed = True
        return journal.scrub(self._connection, space, id)

    def forget_journal(self, space: str, upto: int) -> int:
        return journal.drop(self._connection, space, upto)

    def rename_space(self, old: str, new: str) -> None:
        self.flush()
        renaming.rename(self._connection, old, new)

    def forget_terms(self, space: str) -> None:
        self._scrubbed = True
        renaming.forget_terms(self._connection, space)

    def term(self, kind: str, name: str) -> Mapping[str, Json] | None:
        return words_of(self._connection, kind, name).get(name)

    def put_term(self, kind: str, name: str, data: Mapping[str, Json] | None) -> None:
        if data is None:
            self._connection.execute("DELETE FROM vocabulary WHERE kind = ? AND name = ?", (kind, name))
        else:
            self._connection.execute(
                "INSERT OR REPLACE INTO vocabulary VALUES (?, ?, ?)", (kind, name, journal.as_json(data))
            )

    def flush(self) -> None:
        """Vectors are written together: one statement for a batch of a thousand."""
        if not self._gone and not self._new:
            return
        import numpy as np

        from nacre.storage.sqlite import vectors

        for space, gone in self._gone.items():
            vectors.remove(self._connection, space, gone)
        for space, new in self._new.items():
            chunks, owners, rows = zip(*new, strict=True)
            vectors.write(self._connection, space, chunks, owners, np.stack(rows))
        self._gone.clear()
        self._new.clear()

    def leave_no_trace(self) -> None:
        """A word index only marks what is deleted; where something was scrubbed, its words must go as well."""
        if self._scrubbed:
            self._connection.execute("INSERT INTO word(word) VALUES ('optimize')")

    def after_commit(self) -> None:
        """Empties the write-ahead log of what was scrubbed, unless another process still reads from it."""
        if self._scrubbed:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _drop_lists(self, row: int) -> None:
        for table in ("tag", "context"):
            self._connection.execute(f"DELETE FROM {table} WHERE row = ?", (row,))

    def _put_lists(self, row: int, memory: Memory) -> None:
        for table, values in (
            ("tag(row, name)", [(row, name) for name in memory.tags]),
            ("context(row, applies, name)", [(row, 1, name) for name in memory.contexts]
             + [(row, 0, name) for name in memory.anti_contexts]),
        ):  # fmt: skip
            if values:
                marks = ", ".join("?" for _ in values[0])
                self._connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", values)
        links.put(self._connection, row, memory.links)

    def _put_words(self, row: int, words: Words) -> None:
        self._connection.execute(
            "INSERT INTO word(rowid, title, text, role, tags, entities) VALUES (?, ?, ?, ?, ?, ?)",
            (row, words.title, words.text, words.role, words.tags, words.entities),
        )

    def _drop_words(self, row: int) -> None:
        self._connection.execute("DELETE FROM word WHERE rowid = ?", (row,))

    def _same_vectors(self, row: int, derived: Derived) -> bool:
        """Whether the memory's chunks and vectors are in the file as they are: a new tag changes its words only."""
        if derived.vectors is None:
            return False
        stored = self._connection.execute(
            "SELECT start, stop, digest, halves FROM chunk JOIN vector ON vector.chunk = chunk.id WHERE row = ?"
            " AND embedded ORDER BY id",
            (row,),
        ).fetchall()
        rows = derived.vectors.astype("<f2")
        return bool(stored) and stored == [
            (chunk.start, chunk.end, chunk.digest, half.tobytes())
            for chunk, half in zip(derived.chunks, rows, strict=True)
        ]

    def _put_derived(self, space: str, row: int, derived: Derived) -> None:
        self._put_words(row, derived.words)
        embedded = derived.vectors is not None
        for place, chunk in enumerate(derived.chunks):
            self._connection.execute(
                "INSERT INTO chunk(row, start, stop, digest, embedded) VALUES (?, ?, ?, ?, ?)",
                (row, chunk.start, chunk.end, chunk.digest, embedded),
            )
            if derived.vectors is not None:
                self._new[space].append((self._connection.last_insert_rowid(), row, derived.vectors[place]))
        if len(self._new.get(space, ())) >= VECTORS_HELD:
            self.flush()
        if embedded:
            self._mark_embedded(row)

    def _mark_embedded(self, row: int) -> None:
        self._connection.execute(
            "UPDATE main.memory SET generation = (SELECT value FROM meta WHERE key = 'generation') WHERE row = ?",
            (row,),
        )

    def _drop_derived(self, space: str, row: int) -> None:
        if any(owner == row for _, owner, _ in self._new.get(space, ())):
            self.flush()
        # Fetched at once: the driver (apsw 3.54) never lets go of a connection that had two cursors alive together.
        old = self._connection.execute("SELECT id FROM chunk WHERE row = ? AND embedded", (row,)).fetchall()
        if gone := [int(chunk) for (chunk,) in old]:  # type: ignore[arg-type]
            self._gone[space].extend(gone)
        self._connection.execute("DELETE FROM chunk WHERE row = ?", (row,))
        self._drop_words(row)
        self._connection.execute("UPDATE main.memory SET generation = 0 WHERE row = ?", (row,))


ORDERS: dict[Order, str] = {
    "newest": "memory.created_at DESC, memory.row DESC",
    "oldest": "memory.created_at, memory.row",
    "importance": "memory.importance DESC, memory.created_at DESC, memory.row DESC",
    "confidence": "memory.confidence DESC, memory.created_at DESC, memory.row DESC",
    "updated": "memory.updated_at DESC, memory.row DESC",
    "accessed": "memory.last_accessed DESC, memory.row DESC",
}
PAGE = 500
TALLIES = {
    "type": "count(*), memory.type FROM memory",
    "status": "count(*), memory.status FROM memory",
    "source": "count(*), memory.source FROM memory",
    "tags": "count(*), tag.name FROM tag JOIN memory ON memory.row = tag.row",
    "contexts": "count(*), context.name FROM context JOIN memory ON memory.row = context.row AND applies = 1",
    "anti_contexts": "count(*), context.name FROM context JOIN memory ON memory.row = context.row AND applies = 0",
    # A list in the record may name one twice.
    "entities": "count(DISTINCT memory.row), named.value FROM memory, json_each(memory.lists, '$.entities') AS named",
}


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def without_damaged(
    read: Callable[Concatenate[SQLiteBackend, Parameters], Result],
) -> Callable[Concatenate[SQLiteBackend, Parameters], Result]:
    """One damaged record must not hide all others: it is named, left out, and the question is asked again."""

    @wraps(read)
    def asked(store: SQLiteBackend, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return read(store, *args, **kwargs)
        except StoreDamaged:
            if not store._hide_damaged():
                raise
        return read(store, *args, **kwargs)

    return asked


class SQLiteBackend:
    def __init__(self, path: Path, key: Key | None = None) -> None:
        self.path = path
        self._connections = Connections(path, key)
        self._mirrors: Mirrors | None = None
        self._lock = threading.Lock()
        self._damaged: set[int] = set()  # the records that were named as damaged
        self._connections.get()  # a store that cannot be opened says so now, not at its first use

    @contextmanager
    def transaction(self) -> Iterator[SQLiteTransaction]:
        with self._reading() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                transaction = SQLiteTransaction(connection)
                yield transaction
                transaction.flush()
                transaction.leave_no_trace()
                connection.execute("COMMIT")
                transaction.after_commit()
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @without_damaged
    def get(self, space: str, ids: Sequence[str]) -> list[Memory]:
        sql = f"SELECT {SELECTED} FROM memory WHERE memory.space = ? AND memory.id IN (SELECT value FROM json_each(?))"
        row = {memory.id: memory for memory in self._memories(sql, [space, json.dumps(list(ids))])}
        return [row[id] for id in dict.fromkeys(ids) if id in row]

    @without_damaged
    def ids_like(self, space: str, prefix: str, limit: int) -> list[str]:
        # A range on the unique index; the last code point stands for "everything that begins so".
        sql = "SELECT id FROM memory WHERE space = ? AND id >= ? AND id < ? ORDER BY id LIMIT ?"
        return [str(id) for (id,) in self._rows(sql, [space, prefix, prefix + "\U0010ffff", limit])]

    @without_damaged
    def select(
        self, space: str, where: Filter, *, order: Order = "newest", limit: int | None = None, offset: int = 0
    ) -> list[Memory]:
        clause, values = conditions(space, where)
        sql = f"SELECT {SELECTED} FROM memory WHERE {clause} ORDER BY {ORDERS[order]} LIMIT ? OFFSET ?"
        return self._memories(sql, [*values, -1 if limit is None else limit, offset])

    def iterate(self, space: str, where: Filter) -> Iterator[Memory]:
        clause, values = conditions(space, where)
        sql = (
            f"SELECT memory.row, {SELECTED} FROM memory WHERE {clause} AND (memory.created_at, memory.row) > (?, ?)"
            f" ORDER BY {ORDERS['oldest']} LIMIT ?"
        )
        after: tuple[float, int] = (-math.inf, 0)
        while page := self._page(sql, [*values, *after, PAGE]):
            yield from (memory for _, memory in page)
            last = (page[-1][1].created_at, page[-1][0])
            if last <= after:  # a damaged index may lead back to what was read; this would never end
                raise StoreDamaged(self.path, "an index of its memories is out of order")
            after = last

    @without_damaged
    def count(self, space: str, where: Filter) -> int:
        clause, values = conditions(space, where)
        return int(self._rows(f"SELECT count(*) FROM memory WHERE {clause}", values)[0][0])  # type: ignore[arg-type]

    @without_damaged
    def tally(self, space: str, field: Tallied, where: Filter) -> dict[str, int]:
        clause, values = conditions(space, where)
        rows = self._rows(f"SELECT {TALLIES[field]} WHERE {clause} GROUP BY 2 ORDER BY 1 DESC, 2", values)
        return {str(name): int(count) for count, name in rows}  # type: ignore[arg-type]

    @without_damaged
    def spaces(self) -> dict[str, int]:
        rows = self._rows("SELECT space, count(*) FROM memory GROUP BY space ORDER BY space", [])
        return {str(space): int(count) for space, count in rows}  # type: ignore[arg-type]

    @without_damaged
    def by_words(self, space: str, terms: Sequence[str], where: Filter, limit: int) -> list[Match]:
        with self._reading() as connection:
            return words.by_words(connection, space, terms, where, limit)

    @without_damaged
    def by_vector(self, space: str, vector: Vectors, where: Filter, limit: int) -> list[Match]:
        from nacre.storage.sqlite import search

        with self._reading() as connection:
            return search.by_vector(connection, space, self._mirror(space, connection), vector, where, limit)

    def postings(self, terms: Sequence[str]) -> dict[str, Posting]:
        with self._reading() as connection:
            return words.postings(connection, terms)

    @without_damaged
    def size(self) -> int:
        return int(self._rows("SELECT count(*) FROM memory", [])[0][0])  # type: ignore[arg-type]

    @without_damaged
    def near(self, space: str, vector: Vectors, limit: int, only: Keys | None = None) -> tuple[Keys, Vectors]:
        from nacre.storage.sqlite import search

        with self._reading() as connection:
            index = self._mirror(space, connection).current(connection, len(vector))
            return search.near(connection, index, vector, limit, only)

    @without_damaged
    def cosines(self, space: str, vector: Vectors, keys: Keys) -> Vectors:
        with self._reading() as connection:
            return self._mirror(space, connection).current(connection, len(vector)).cosines(connection, vector, keys)

    @without_damaged
    def places(self, space: str, keys: Keys, where: Filter) -> list[Place]:
        from nacre.storage.sqlite import search

        with self._reading() as connection:
            return search.places(connection, space, keys, where)

    @without_damaged
    def around(self, space: str, spots: Sequence[tuple[str, int]], reach: int, where: Filter) -> list[Place]:
        from nacre.storage.sqlite import search

        with self._reading() as connection:
            return search.around(connection, space, spots, reach, where)

    @without_damaged
    def allowed(self, space: str, where: Filter) -> Keys:
        from nacre.storage.sqlite import search

        with self._reading() as connection:
            return search.allowed(connection, space, where)

    def touch(self, space: str, ids: Sequence[str], at: float) -> None:
        try:
            with self._reading() as connection, in_passing(connection):
                connection.execute(
                    "UPDATE main.memory SET last_accessed = max(last_accessed, ?), access_count = access_count + 1"
                    " WHERE space = ? AND id IN (SELECT value FROM json_each(?))",
                    (at, space, json.dumps(list(ids))),
                )
        except (StoreBusy, StoreDamaged, StoreFull, StoreReadOnly):
            return

    @without_damaged
    def edges(
        self,
        space: str,
        *,
        out_of: Sequence[str] | None = None,
        into: Sequence[str] | None = None,
        rels: Sequence[str] | None = None,
    ) -> list[Edge]:
        with self._reading() as connection:
            return links.edges(connection, space, out_of, into, rels)

    def walked(self, space: str, edges: Sequence[Edge]) -> None:
        try:
            with self._reading() as connection, in_passing(connection):
                links.walked(connection, space, edges)
        except (StoreBusy, StoreDamaged, StoreFull, StoreReadOnly):
            return

    @without_damaged
    def replaced_by(self, space: str, id: str) -> list[Memory]:
        with self._reading() as connection:
            return links.replaced_by(connection, space, id)

    @without_damaged
    def vectors_for(self, digests: Sequence[bytes]) -> dict[bytes, Vectors]:
        from nacre.storage.sqlite import search

        with self._reading() as connection:
            return search.vectors_for(connection, digests)

    @without_damaged
    def vectors(self, space: str, ids: Sequence[str]) -> dict[str, Vectors]:
        from nacre.storage.sqlite import search

        with self._reading() as connection:
            return search.vectors_of(connection, space, ids)

    @without_damaged
    def pending(self, limit: int) -> list[Memory]:
        current = "(SELECT value FROM meta WHERE key = 'generation')"
        return self._memories(f"SELECT {SELECTED} FROM memory WHERE generation < {current} LIMIT ?", [limit])

    def embedder(self) -> EmbedderIdentity:
        with self._reading() as connection:
            return stored_embedder(connection)

    @without_damaged
    def journal(
        self, space: str, where: JournalFilter = EVERYTHING, *, newest_first: bool = True, limit: int | None = None
    ) -> list[JournalEntry]:
        with self._reading() as connection:
            return journal.read(connection, space, where, newest_first=newest_first, limit=limit)

    @without_damaged
    def written_by(self, space: str, at: float) -> int:
        with self._reading() as connection:
            return journal.written_by(connection, space, at)

    def journal_begins(self, space: str) -> tuple[int, float]:
        with self._reading() as connection:
            return journal.begins(connection, space)

    @without_damaged
    def terms(self, kind: str) -> dict[str, Mapping[str, Json]]:
        with self._reading() as connection:
            return words_of(connection, kind)

    def health(self, *, thorough: bool = False) -> Health:
        with self._reading() as connection:
            return health.examine(connection, self.path, thorough=thorough)

    def check_records(self) -> None:
        with self._reading() as connection:
            fault = damage.check_records(connection)
        if fault:
            raise StoreDamaged(self.path, fault)

    def copy_to(self, path: Path) -> None:
        from nacre.storage.sqlite import backup

        with self._reading() as connection:
            backup.copy_to(connection, self.path, path, self._connections.key)

    def close(self) -> None:
        self._connections.close()

    def _mirror(self, space: str, connection: apsw.Connection) -> Mirror:
        from nacre.storage.sqlite.vectors import Mirror, Mirrors

        if connection.in_transaction:
            return Mirror(space)  # what may yet be rolled back must not enter the shared one
        with self._lock:
            self._mirrors = self._mirrors or Mirrors()
        return self._mirrors.of(space)

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        with translated(self.path):
            yield self._connections.get()

    @without_damaged
    def _page(self, sql: str, values: Sequence[SQLValue]) -> list[tuple[int, Memory]]:
        with self._reading() as connection:
            return [(int(row[0]), from_row(row[1:])) for row in connection.execute(sql, values).fetchall()]  # type: ignore[arg-type]

    def _hide_damaged(self) -> bool:
        """True when damaged records were found that were not left out before."""
        with self._reading() as connection:
            return damage.hide(connection, self.path, self._damaged)

    def _rows(self, sql: str, values: Sequence[SQLValue]) -> list[tuple[SQLValue, ...]]:
        with self._reading() as connection:
            return connection.execute(sql, values).fetchall()

    def _memories(self, sql: str, values: Sequence[SQLValue]) -> list[Memory]:
        with self._reading() as connection:
            return [from_row(row) for row in connection.execute(sql, values).fetchall()]
