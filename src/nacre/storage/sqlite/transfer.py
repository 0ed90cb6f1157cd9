"""Reads and writes a whole store row by row, as it was recorded, for a move to or from another backend."""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np

from nacre.errors import StoreDamaged
from nacre.model import JournalFilter
from nacre.protocols import Chunk, Derived, EntryRow, MemoryRow, RowBatch, SpaceRow, TermSet, VersionRow, Words
from nacre.storage import tables
from nacre.storage.sqlite import rows
from nacre.storage.sqlite.connection import translated
from nacre.storage.sqlite.rows import AMONG, SELECTED, fetch, from_row
from nacre.storage.sqlite.store import Versions, entry_rows, from_entry_row, versions_of
from nacre.storage.sqlite.transaction import (
    INDEXED,
    INSERT_CHUNK,
    INSERT_CONTENT,
    INSERT_ENTRY,
    INSERT_IDENTITY,
    VERSION,
    Space,
    SQLiteTransaction,
    Stored,
    content_row,
    entry_row,
    insertion,
    version_row,
)
from nacre.storage.tables import add_counts, links_of
from nacre.storage.transfer import labels_of, runs, spans

if TYPE_CHECKING:
    from pathlib import Path

    from nacre.storage.sqlite.store import SQLiteBackend

AT_ONCE = 250  # memories that are read together
ENTRIES_AT_ONCE = 1_000
BULK_CACHE_KIB = 65_536

INSERT_VERSION = insertion("version", *VERSION, "seq_to")
INSERT_LABEL = insertion("label", "space", "field", "name", "key", "times", "seq_from", "seq_to")
REPLACE_ENTRY = INSERT_ENTRY.replace("INSERT", "INSERT OR REPLACE", 1)
INSERT_LINK = insertion("link", "space", "target", "rel", "key", "weight", "kind", "walks", "seq_from", "seq_to")
USES = VERSION.index("uses")
STATEMENTS = (INSERT_IDENTITY, INSERT_CONTENT, INSERT_VERSION, INSERT_LABEL, INSERT_LINK, INSERT_CHUNK)

SPACES = (
    "SELECT name, seq, last_at, dropped, (SELECT dropped_at FROM space WHERE space.number = present.number),"
    " dropped_memories, dropped_stems,"
    " (SELECT count(*) FROM memory WHERE memory.space = present.number) + seq - dropped AS size"
    " FROM present WHERE seq > 0 OR size > 0 ORDER BY name"
)
SPACES_THERE = "SELECT count(*) FROM space"
VERSIONS = (
    "SELECT version.key, version.seq_from, version.seq_to, version.content, content.words, content.pending,"
    f" version.stems, version.uses, {SELECTED} FROM json_each(?) AS wanted"
    " CROSS JOIN version ON version.key = wanted.value CROSS JOIN memory ON memory.key = version.key"
    " CROSS JOIN content ON content.number = version.content ORDER BY version.key, version.seq_from"
)
CHUNKS = (
    "SELECT chunk.content, start, stop, digest, halves FROM chunk LEFT JOIN vector ON vector.chunk = chunk.id"
    f" WHERE chunk.content {AMONG} ORDER BY chunk.id"
)
WALKS = f"SELECT key, seq_from, seq_to, target, rel, walks FROM link WHERE key {AMONG} AND walks > 0"

Connected = Callable[[], AbstractContextManager[apsw.Connection]]


class SQLiteRowReader:
    """Each part of a walk is read by a connection of its own, which may be one that holds a snapshot."""

    def __init__(self, path: Path, connected: Connected) -> None:
        self._path = path
        self._connected = connected

    def spaces(self) -> list[SpaceRow]:
        return [
            SpaceRow(name, seq, last_at, tuple(dropped), size)
            for name, seq, last_at, *dropped, size in self._read(lambda connection: fetch(connection, SPACES))
        ]

    def memories(self, space: str) -> Iterator[MemoryRow]:
        sql = "SELECT key FROM memory WHERE space = (SELECT number FROM space WHERE name = ?) ORDER BY key"
        keys = array("q", self._read(lambda connection: [key for (key,) in fetch(connection, sql, (space,))]))
        for start in range(0, len(keys), AT_ONCE):
            wanted = json.dumps(keys[start : start + AT_ONCE].tolist())
            yield from self._read(partial(read_memories, keys=wanted))

    def entries(self, space: str, *, images: bool = True) -> Iterator[EntryRow]:
        after = 0
        while read := self._read(partial(read_entries, space=space, after=after, images=images)):
            yield from read
            after = read[-1].entry.seq

    def terms(self) -> Iterator[TermSet]:
        sql = "SELECT kind, name, data FROM vocabulary ORDER BY kind, name"
        for kind, name, data in self._read(lambda connection: fetch(connection, sql)):
            value = rows.legible_object(data)
            if value is None:
                raise StoreDamaged(self._path, f"the term {name!r} of its vocabulary cannot be read")
            yield TermSet(kind, name, value)

    def _read(self, query: Callable[[apsw.Connection], Any]) -> Any:
        with translated(self._path), self._connected() as connection:
            return query(connection)


class SQLiteRows(SQLiteRowReader):
    keeps_images = False

    def __init__(self, store: SQLiteBackend) -> None:
        super().__init__(store.path, store._connected)
        self._store = store

    @contextmanager
    def snapshot(self) -> Iterator[SQLiteRowReader]:
        with self._store._snapshot(SPACES_THERE, ()) as (connection, _):

            @contextmanager
            def same() -> Iterator[apsw.Connection]:
                yield connection

            yield SQLiteRowReader(self._path, same)

    def write_rows(self, batch: RowBatch) -> None:
        with self._connected() as connection:
            # Rows go to all parts of the indexes: in the usual cache the same pages are read again and again.
            connection.pragma("cache_size", -BULK_CACHE_KIB)
        with self._store.writing(RowTransaction) as transaction:
            transaction.write_rows(batch)

    def drop_space(self, name: str) -> None:
        with self._store.writing(RowTransaction) as transaction:
            transaction.drop_space(name)


def read_memories(connection: apsw.Connection, keys: str) -> list[MemoryRow]:
    read = fetch(connection, VERSIONS, (keys,))
    contents = read_contents(connection, {row[3]: (row[4], bool(row[5])) for row in read})
    walks: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for key, *walk in fetch(connection, WALKS, (keys,)):
        walks[key].append(tuple(walk))
    versions: dict[int, list[VersionRow]] = defaultdict(list)
    for key, seq_from, seq_to, content, _, _, stems, uses, *record in read:
        lines, chunks, vectors = contents[content]
        words = Words(*lines, *tables.unpacked_stems(stems, 2))
        derived = Derived(words, chunks, vectors)
        walked = {
            (target, rel): count
            for began, ended, target, rel, count in walks.get(key, ())
            if began <= seq_from and (ended is None or ended > seq_from)
        }
        last, count = tables.from_json(uses)
        versions[key].append(VersionRow(from_row(record), derived, seq_from, seq_to, (last, count), walked))
    return [MemoryRow(key, tuple(of_one)) for key, of_one in versions.items()]


def read_contents(connection: apsw.Connection, wanted: Mapping[int, tuple[Any, bool]]) -> dict[int, Any]:
    """Stems of title, text and role, the chunks and their vectors, by content; versions in a row share them."""
    chunks: dict[int, list[Chunk]] = defaultdict(list)
    halves: dict[int, list[bytes]] = defaultdict(list)
    for content, start, stop, digest, vector in fetch(connection, CHUNKS, (json.dumps(list(wanted)),)):
        chunks[content].append(Chunk(start, stop, digest))
        if vector is not None:
            halves[content].append(vector)
    made: dict[int, Any] = {}
    for content, (words, pending) in wanted.items():
        own, vectors = tuple(chunks[content]), None
        if not pending and len(halves[content]) == len(own):
            stacked = np.frombuffer(b"".join(halves[content]), "<f2").astype(np.float32)
            vectors = stacked.reshape(len(own), -1) if own else stacked.reshape(0, 0)
        made[content] = (tables.unpacked_stems(words, 3), own, vectors)
    return made


def read_entries(connection: apsw.Connection, space: str, after: int, *, images: bool) -> list[EntryRow]:
    number, *_ = rows.only_row(connection, "SELECT coalesce((SELECT number FROM space WHERE name = ?), 0)", space)
    read = entry_rows(connection, number, JournalFilter(after=after), newest_first=False, limit=ENTRIES_AT_ONCE)
    if not read:
        return []
    linked = [None if key is None else (bool(old), bool(new)) for _, _, key, old, new, *_ in read]
    versions: Versions = {}
    if images:
        versions = versions_of(connection, [(key, seq) for seq, _, key, *_ in read if key is not None])
    else:
        read = [(seq, at, None, None, None, *texts) for seq, at, _, _, _, *texts in read]
    entries = [from_entry_row(row, space, versions) for row in read]
    sql = "SELECT memories, stems, latest FROM journal WHERE place BETWEEN ? AND ? ORDER BY place"
    sizes = fetch(connection, sql, rows.span(number, entries[0].seq, entries[-1].seq))
    return [EntryRow(entry, sides, *size) for entry, sides, size in zip(entries, linked, sizes, strict=True)]


class RowTransaction(SQLiteTransaction):
    def write_rows(self, batch: RowBatch) -> None:
        space, row = self._get_or_create_space(batch.space.name), batch.space
        space.seq, space.last_at = row.seq, row.last_at
        self._connection.execute(
            "UPDATE space SET (dropped, dropped_at, dropped_memories, dropped_stems) = (?, ?, ?, ?) WHERE number = ?",
            (*row.dropped, space.number),
        )
        for memory in batch.removed:
            self._remove_row(space, memory)
        if batch.removed:
            self.flush()  # erases the contents that nothing holds any more, before others get numbers
        for memory in batch.memories:
            self._put_row(space, memory)
        for sql in STATEMENTS:
            self._connection.executemany(sql, self._rows.pop(sql, []))
        self._write_entries(space, batch)

    def drop_space(self, name: str) -> None:
        known = self._space(name)
        if known is not None:
            self._forget_space(known)
            del self._spaces[name]

    def _remove_row(self, space: Space, row: MemoryRow) -> None:
        self.scrubbed = True
        self._count_row(space, row.versions[-1], tables.indexed(row.versions[-1].derived.words), -1)
        self._delete(space, row.number)

    def _count_row(self, space: Space, last: VersionRow, words: tables.Indexed, sign: int) -> None:
        """What a memory that exists adds to the counts of its space."""
        if last.seq_to is not None:
            return
        space.memories += sign
        space.stems += sign * words.length
        add_counts(self._counts, space.number, last.memory, sign)
        sides = (frozenset[str](), words.distinct)
        self._count_terms(space, *sides[::sign])

    def _put_row(self, space: Space, row: MemoryRow) -> None:
        key, last = row.number or self._next("memory"), row.versions[-1]
        words = [tables.indexed(version.derived.words) for version in row.versions]
        self._count_row(space, last, words[-1], 1)
        uses = (last.memory.last_accessed, last.memory.access_count)
        self._add(INSERT_IDENTITY, key, space.number, 0 if last.seq_to is None else key, last.memory.id, *uses)
        done = 0
        for run in runs(row):
            own, done = words[done : done + len(run)], done + len(run)
            content, anchor = self._put_content(space, run[-1], own[-1]), run[0].seq_from
            for place, version in enumerate(run):
                if place and is_moved(run[place - 1], version):
                    anchor = version.seq_from
                self._put_version(space, key, content, anchor, version, own[place])
                space.latest = max(space.latest, version.memory.created_at, version.memory.updated_at)
        labels, links = self._rows[INSERT_LABEL], self._rows[INSERT_LINK]
        for label, times, began, ended, _ in spans(row, labels_of):
            labels.append((space.number, *label, key, times, began, ended))
        if any(version.memory.links for version in row.versions):
            for target, kept, began, ended, version in spans(row, lambda each: links_of(each.memory)):
                links.append((space.number, *target, key, *kept, version.walks.get(target, 0), began, ended))

    def _put_version(
        self, space: Space, key: int, content: int, anchor: int, version: VersionRow, words: tables.Indexed
    ) -> None:
        stored = Stored(key, content, version.seq_from, anchor, words.names, words.length, version.memory)
        values = version_row(space.number, stored)
        values[USES] = tables.as_json(list(version.uses))
        self._add(INSERT_VERSION, *values, version.seq_to)

    def _put_content(self, space: Space, last: VersionRow, words: tables.Indexed) -> int:
        """The one of versions in a row, of which this is the last. Only what exists waits for its vectors."""
        number, derived = self._next("content"), last.derived
        bare = not derived.chunks and derived.vectors is None and not any(words.content)
        waits = derived.vectors is None and last.seq_to is None
        values = content_row(last.memory, None if bare else words, pending=waits)
        self._add(INSERT_CONTENT, number, space.number, *values)
        self._put_chunks(space, number, derived)
        return number

    def _write_entries(self, space: Space, batch: RowBatch) -> None:
        self._connection.executemany(
            "DELETE FROM journal WHERE place = ?", [(rows.place(space.number, seq),) for seq in batch.dropped]
        )
        linked = self._linked(space, [row for row in batch.entries if row.linked is not None])
        self._connection.executemany(
            REPLACE_ENTRY,
            [
                (*entry_row(space.number, row.entry, linked.get(row.entry.seq)), row.latest, row.memories, row.stems)
                for row in batch.entries
            ],
        )

    def _linked(self, space: Space, entries: Sequence[EntryRow]) -> dict[int, tuple[int, bool, bool]]:
        """By the number of an entry: its memory, and whether it ended and began a version of it."""
        if not entries:
            return {}
        first, last = entries[0].entry.seq, entries[-1].entry.seq
        began, ended = dict[tuple[str, int], int](), dict[tuple[str, int], int]()
        sql = (
            f"SELECT id, memory.key, seq_from, seq_to FROM memory CROSS JOIN main.version ON version.key = memory.key"
            f" WHERE memory.space = ?1 AND id {AMONG.replace('?', '?2')}"
            " AND (seq_from BETWEEN ?3 AND ?4 OR seq_to BETWEEN ?3 AND ?4)"
        )
        ids = json.dumps(list({row.entry.memory_id for row in entries}))
        for id, key, seq_from, seq_to in fetch(self._connection, sql, (space.number, ids, first, last)):
            began[id, seq_from] = key
            if seq_to is not None:
                ended[id, seq_to] = key
        linked = {}
        for row in entries:
            old, new = row.linked or (False, False)
            place = (row.entry.memory_id, row.entry.seq)
            keys = {*([ended.get(place)] if old else []), *([began.get(place)] if new else [])}
            key = keys.pop() if len(keys) == 1 else None
            if key is None:
                raise tables.DamagedRecord(f"the version of entry {row.entry.seq} of its journal is missing")
            linked[row.entry.seq] = (key, old, new)
        return linked


def is_moved(one: VersionRow, other: VersionRow) -> bool:
    return any(getattr(one.memory, name) != getattr(other.memory, name) for name in INDEXED)
