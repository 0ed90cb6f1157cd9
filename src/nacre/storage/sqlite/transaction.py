"""One act on the file: row, side tables, words, chunks, vectors and journal, together or not at all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import apsw

from nacre.errors import EmbeddingMismatch
from nacre.model import JournalEntry, Memory
from nacre.model.memory import Json
from nacre.ports import Derived, Vectors
from nacre.storage.sqlite import compressed, journal, links, renaming, words
from nacre.storage.sqlite.rows import COLUMNS, SELECTED, from_row, to_row
from nacre.storage.sqlite.vocabulary import words_of

INSERT = f"INSERT INTO main.memory({', '.join(COLUMNS)}, generation) VALUES ({', '.join('?' for _ in COLUMNS)}, 0)"
# Eight blocks of vectors: an act on a million memories holds no more than these at once.
VECTORS_HELD = 2_048
UPDATE = f"UPDATE main.memory SET {', '.join(f'{name} = ?' for name in COLUMNS)} WHERE row = ?"


class SQLiteTransaction:
    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._new: dict[str, list[tuple[int, int, Vectors]]] = defaultdict(list)
        self._gone: dict[str, list[int]] = defaultdict(list)
        self._scrubbed = False

    def get(self, space: str, id: str) -> Memory | None:
        found = self._connection.execute(
            f"SELECT {SELECTED} FROM memory WHERE space = ? AND id = ?", (space, id)
        ).fetchone()
        return None if found is None else from_row(found)

    def put(self, memory: Memory, derived: Derived | None = None) -> None:
        row = self._row(memory.space, memory.id)
        if row is None:
            # Most memories are new: nothing of theirs is there that would have to go first.
            self._connection.execute(INSERT, to_row(memory))
            row = self._connection.last_insert_rowid()
        else:
            self._connection.execute(UPDATE, (*to_row(memory), row))
            self._drop_lists(row)
            if derived is not None:
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
        found = self._connection.execute("SELECT row FROM memory WHERE space = ? AND id = ?", (space, id)).fetchone()
        return None if found is None else int(found[0])

    def claim_embedder(self, identity: str, dimensions: int) -> None:
        stored = self._connection.execute("SELECT value FROM meta WHERE key = 'embedder'").fetchone()
        if stored is None:
            self._bind(identity, dimensions)
        elif stored[0] != identity:
            raise EmbeddingMismatch(str(stored[0]), identity)

    def change_embedder(self, identity: str, dimensions: int) -> None:
        self.flush()
        self._connection.execute("DELETE FROM block; DELETE FROM removed; UPDATE chunk SET embedded = 0")
        self._connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
        self._connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'vector_epoch'")
        self._bind(identity, dimensions)

    def rebuild_indexes(self) -> None:
        """Also empties a word index that is damaged or disagrees with the memories: all of them are pending then."""
        self._connection.execute("REINDEX")
        if not words.agree(self._connection):
            words.empty(self._connection)
            self._connection.execute("UPDATE main.memory SET generation = 0")

    def _bind(self, identity: str, dimensions: int) -> None:
        self._connection.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)", [("embedder", identity), ("dimensions", dimensions)]
        )

    def append(self, entries: Sequence[JournalEntry]) -> None:
        journal.append(self._connection, entries)

    def scrub_journal(self, space: str, id: str) -> int:
        self._scrubbed = True
        return journal.scrub(self._connection, space, id)

    def forget_journal(self, space: str, upto: int) -> int:
        return journal.drop(self._connection, space, upto)

    def rename_space(self, old: str, new: str) -> None:
        self.flush()
        renaming.rename(self._connection, old, new)

    def forget_words(self, space: str) -> None:
        self._scrubbed = True
        renaming.forget_words(self._connection, space)

    def word(self, kind: str, name: str) -> Mapping[str, Json] | None:
        return words_of(self._connection, kind, name).get(name)

    def put_word(self, kind: str, name: str, data: Mapping[str, Json] | None) -> None:
        if data is None:
            self._connection.execute("DELETE FROM vocabulary WHERE kind = ? AND name = ?", (kind, name))
        else:
            self._connection.execute(
                "INSERT OR REPLACE INTO vocabulary VALUES (?, ?, ?)", (kind, name, journal.as_json(data))
            )

    def flush(self) -> None:
        """Vectors are written together, so that a batch of a thousand makes four blocks and not a thousand."""
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

    def _put_derived(self, space: str, row: int, derived: Derived) -> None:
        words = derived.words
        self._connection.execute(
            "INSERT INTO word(rowid, title, text, role, tags, entities) VALUES (?, ?, ?, ?, ?, ?)",
            (row, words.title, words.text, words.role, words.tags, words.entities),
        )
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
        self._connection.execute("DELETE FROM word WHERE rowid = ?", (row,))
        self._connection.execute("UPDATE main.memory SET generation = 0 WHERE row = ?", (row,))
