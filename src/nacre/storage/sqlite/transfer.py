"""Reads and writes a whole store row by row, as it was recorded, for a move to or from another backend."""

from __future__ import annotations

import json
import re
import zlib
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import apsw
import numpy as np

from nacre.errors import StoreDamaged
from nacre.model import JournalFilter
from nacre.model.journal import MEMORY
from nacre.model.memory import changed_fields, images
from nacre.protocols import ContentRow, EntryRow, MemoryRow, RowBatch, SpaceRow, TermSet, VersionRow
from nacre.storage import tables
from nacre.storage.buffered_transaction import Space
from nacre.storage.sqlite import rows
from nacre.storage.sqlite.connection import translated
from nacre.storage.sqlite.rows import AMONG, SELECTED, USES, fetch, from_row, image_values, record_of_row
from nacre.storage.sqlite.store import VERSIONS_OF_ENTRIES, entry_rows, parsed, split_entry
from nacre.storage.sqlite.transaction import (
    INDEXED,
    INSERT_ENTRY,
    STATEMENTS,
    VERSION,
    SQLiteTransaction,
    insertion,
)
from nacre.storage.tables import CONTENT, IDENTITY, PLACES, image_of, image_text, lists_of
from nacre.storage.transfer import labels_of, latest_of, links_in, runs, spans, stems_of

if TYPE_CHECKING:
    from pathlib import Path

    from nacre.storage.sqlite.store import SQLiteBackend

AT_ONCE = 250  # memories that are read together
ENTRIES_AT_ONCE = 1_000
BULK_CACHE_KIB = 65_536

BEFORE_RECORD = 8  # columns in `VERSIONS`
OF_IDENTITY = len(IDENTITY)  # in a record, those of its content follow, and then those of its version
OF_CONTENT = OF_IDENTITY + len(CONTENT)
VERSION_AT, TEXT_AT, ROLE_AT = PLACES["version"], PLACES["text"], PLACES["role"]
indexed_of = itemgetter(*(PLACES[name] for name in INDEXED))
# Rows with their ends, which a usual change set writes only later.
INSERTIONS = {
    "memory": STATEMENTS["memory"],
    "content": STATEMENTS["content"],
    "version": insertion("version", "space", "row", *VERSION, "seq_to"),
    "label": insertion("label", "space", "field", "name", "key", "times", "seq_from", "seq_to"),
    "link": insertion("link", "space", "target", "rel", "key", "weight", "kind", "walks", "seq_from", "seq_to"),
    "chunk": STATEMENTS["chunk"],
}

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
StoredVersions: TypeAlias = dict[tuple[int, int, str], list[Any]]  # by key, entry, and whether it ended or began it
NULL = "null"
NO_SPACE = f'"space":{NULL}'
# How the image of a new memory begins: to exchange the name in it takes a tenth of the time of writing it anew.
STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
BEFORE_SPACE = re.compile(rf'\{{"id":{STRING},"text":{STRING},"space":')
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
        while read := self._read(partial(read_entries, space=space, after=after, with_images=images)):
            yield from read
            after = read[-1].seq

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
    for row in read:
        key, seq_from, seq_to, content, _, _, stems, uses = row[:BEFORE_RECORD]
        record = record_of_row(row[BEFORE_RECORD:])
        walked = {
            (target, rel): count
            for began, ended, target, rel, count in walks.get(key, ())
            if began <= seq_from and (ended is None or ended > seq_from)
        }
        last, count = tables.from_json(uses)
        lists = lists_of(str(record[-1]))
        versions[key].append(
            VersionRow(record, lists, contents[content], str(stems), seq_from, seq_to, (last, count), walked)
        )
    return [MemoryRow(key, tuple(of_one)) for key, of_one in versions.items()]


def read_contents(connection: apsw.Connection, wanted: Mapping[int, tuple[Any, bool]]) -> dict[int, ContentRow]:
    """By number; `wanted` has the words of each, and whether it waits for its vectors. Versions in a row share them."""
    chunks: dict[int, list[tuple[int, int, bytes]]] = defaultdict(list)
    halves: dict[int, list[bytes]] = defaultdict(list)
    for content, start, stop, digest, vector in fetch(connection, CHUNKS, (json.dumps(list(wanted)),)):
        chunks[content].append((start, stop, digest))
        if vector is not None:
            halves[content].append(vector)
    made: dict[int, ContentRow] = {}
    for content, (words, pending) in wanted.items():
        own, vectors = tuple(chunks[content]), tuple(halves[content])
        made[content] = ContentRow(
            None if words is None else str(words), own, None if pending or len(vectors) != len(own) else vectors
        )
    return made


def read_entries(connection: apsw.Connection, space: str, after: int, *, with_images: bool) -> list[EntryRow]:
    own, *_ = rows.only_row(connection, "SELECT coalesce((SELECT number FROM space WHERE name = ?), 0)", space)
    read = entry_rows(connection, own, JournalFilter(after=after), newest_first=False, limit=ENTRIES_AT_ONCE)
    if not read:
        return []
    linked = [(key, seq) for seq, _, key, *_ in read if key is not None] if with_images else []
    versions = read_versions(connection, linked)
    sql = "SELECT latest, memories, stems FROM journal WHERE place BETWEEN ? AND ? ORDER BY place"
    sizes = fetch(connection, sql, rows.span(own, read[0][0], read[-1][0]))
    return [
        entry_of(row, (latest, memories, stems), space, versions if with_images else None)
        for row, (latest, memories, stems) in zip(read, sizes, strict=True)
    ]


def read_versions(connection: apsw.Connection, entries: Sequence[tuple[int, int]]) -> StoredVersions:
    """By the entries (a key and a number each) that ended and began them."""
    versions: StoredVersions = {}
    for key, began, ended, *row in fetch(connection, VERSIONS_OF_ENTRIES, (json.dumps(entries),)) if entries else ():
        versions[key, began, "new"] = versions[key, ended, "old"] = row
    return versions


def entry_of(row: Sequence[Any], size: tuple[Any, Any, Any], space: str, versions: StoredVersions | None) -> EntryRow:
    """`versions` are those that give linked entries their images."""
    seq, _, key, old, new, *_ = row
    head, stored, damaged = split_entry(row)
    sides = None if key is None else (bool(old), bool(new))
    before: str | None = None
    after: str | None = None
    try:
        if key is None:
            before, after = (without_space(image, head.kind, space) for image in stored)
        elif versions is not None:
            before, after = linked_images(versions, key, seq, bool(old), bool(new))
    except (KeyError, ValueError, TypeError, zlib.error):  # reported with the number of the entry
        before, after, damaged = None, None, True
    return EntryRow(seq, *head, before, after, *size, sides, damaged)


def linked_images(versions: StoredVersions, key: int, seq: int, old: bool, new: bool) -> tuple[str | None, str | None]:
    """Of a memory that came or went its record; of one that changed what differs. What went has the uses that were
    counted since it was written."""
    if not old and not new:
        return None, None
    if old and new:
        sides = [from_row(row[1:]) for row in (versions[key, seq, "old"], versions[key, seq, "new"])]
        before, after = images(*sides)
        return tables.as_json(before), tables.as_json(after)
    uses, *row = versions[key, seq, "old" if old else "new"]
    if new:
        row[USES] = tables.from_json(uses)
    image = changed_fields(image_values(row))
    if "space" in image:
        image["space"] = None  # its own: see `image_text`
    text = tables.as_json(image)
    return (text, None) if old else (None, text)


class RowTransaction(SQLiteTransaction):
    def write_rows(self, batch: RowBatch) -> None:
        space, row = self._space_to_write(batch.space.name), batch.space
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
        for table, sql in INSERTIONS.items():
            self._connection.executemany(sql, self._rows.pop(table, []))
        self._write_entries(space, batch)

    def drop_space(self, name: str) -> None:
        known = self._space(name)
        if known is not None:
            self._forget_space(known)
            del self._spaces[name]

    def _remove_row(self, space: Space, row: MemoryRow) -> None:
        self.scrubbed = True
        self._count_row(space, row.versions[-1], stems_of(row.versions[-1]), -1)
        self._delete(space, row.number)

    def _count_row(self, space: Space, last: VersionRow, stems: list[str], sign: int) -> None:
        """What a memory that exists adds to the counts of its space."""
        if last.seq_to is not None:
            return
        space.memories += sign
        space.stems += sign * len(stems)
        tables.add_record_counts(self._counts, space.number, last.record, last.lists, sign)
        sides = (frozenset[str](), frozenset(stems))
        self._count_terms(space, *sides[::sign])

    def _put_row(self, space: Space, row: MemoryRow) -> None:
        key, last = row.number or self._next("memory"), row.versions[-1]
        gone = 0 if last.seq_to is None else key
        self._add("memory", space.number, key, gone, *last.record[:OF_IDENTITY])
        stems = list[str]()
        for run in runs(row):
            content, anchor = self._put_content(space, run[-1]), run[0].seq_from
            for place, version in enumerate(run):
                if place and indexed_of(run[place - 1].record) != indexed_of(version.record):
                    anchor = version.seq_from
                record, stems = version.record, stems_of(version)
                self._add(
                    "version", space.number, self._next("version") if place else content, key, version.seq_from,
                    anchor, content, record[VERSION_AT], *record[OF_CONTENT:VERSION_AT], record[-1],
                    rows.uses_text(*version.uses), version.stems, len(stems), *rows.place_values(record[ROLE_AT],
                    record[TEXT_AT]), version.seq_to,
                )  # fmt: skip
                space.latest = max(space.latest, *latest_of(record))
        self._count_row(space, last, stems, 1)
        labels, links = self._rows["label"], self._rows["link"]
        for label, times, began, ended, _ in spans(row, labels_of):
            labels.append((space.number, *label, key, times, began, ended))
        if any("links" in version.lists for version in row.versions):
            for target, kept, began, ended, version in spans(row, links_in):
                links.append((space.number, *target, key, *kept, version.walks.get(target, 0), began, ended))

    def _put_content(self, space: Space, last: VersionRow) -> int:
        """The one of versions in a row, of which this is the last. Only what exists waits for its vectors."""
        content, (words, chunks, vectors) = self._next("content"), last.content
        waits = int(vectors is None and last.seq_to is None)
        texts = rows.content_values(*last.record[OF_IDENTITY:OF_CONTENT])
        self._add("content", space.number, content, *texts, words, waits)
        numbered = [(self._next("chunk"), chunk) for chunk in chunks]
        for id, chunk in numbered:
            self._add("chunk", space.number, id, content, *chunk, int(vectors is not None))
        if chunks and vectors is not None:
            pairs = zip(numbered, vectors, strict=True)
            self._vectors[space.number] += [(id, content, np.frombuffer(half, "<f2")) for (id, _), half in pairs]
        return content

    def _write_entries(self, space: Space, batch: RowBatch) -> None:
        self._connection.executemany(
            "DELETE FROM journal WHERE place = ?", [(rows.place(space.number, seq),) for seq in batch.dropped]
        )
        linked, name = self._linked(space, [row for row in batch.entries if row.linked is not None]), batch.space.name
        self._connection.executemany(
            INSERT_ENTRY, [entry_values(space.number, name, row, linked.get(row.seq)) for row in batch.entries]
        )

    def _linked(self, space: Space, entries: Sequence[EntryRow]) -> dict[int, tuple[int, bool, bool]]:
        """By the number of an entry: its memory, and whether it ended and began a version of it."""
        if not entries:
            return {}
        first, last = entries[0].seq, entries[-1].seq
        began, ended = dict[tuple[str, int], int](), dict[tuple[str, int], int]()
        sql = (
            f"SELECT id, memory.key, seq_from, seq_to FROM memory CROSS JOIN main.version ON version.key = memory.key"
            f" WHERE memory.space = ?1 AND id {AMONG.replace('?', '?2')}"
            " AND (seq_from BETWEEN ?3 AND ?4 OR seq_to BETWEEN ?3 AND ?4)"
        )
        ids = json.dumps(list({row.memory_id for row in entries}))
        for id, key, seq_from, seq_to in fetch(self._connection, sql, (space.number, ids, first, last)):
            began[id, seq_from] = key
            if seq_to is not None:
                ended[id, seq_to] = key
        linked = {}
        for row in entries:
            old, new = row.linked or (False, False)
            place = (row.memory_id, row.seq)
            keys = {*([ended.get(place)] if old else []), *([began.get(place)] if new else [])}
            key = keys.pop() if len(keys) == 1 else None
            if key is None:
                raise tables.DamagedRecord(f"the version of entry {row.seq} of its journal is missing")
            linked[row.seq] = (key, old, new)
        return linked


def entry_values(
    space_number: int, space: str, row: EntryRow, versions: tuple[int, bool, bool] | None
) -> tuple[tables.SQLValue, ...]:
    """The columns of `INSERT_ENTRY`. `versions` give the entry's images; without them the images are stored."""
    named = (row.memory_id, row.kind, row.operation, row.actor, row.at, row.batch, row.why)
    stored: tuple[str | None, ...] = (None, None)
    if versions is None:
        stored = tuple(with_space(image, row.kind, space) for image in (row.before, row.after))
    place = rows.place(space_number, row.seq)
    return (place, *named, *(versions or (None, None, None)), *stored, row.latest, row.memories, row.stems)


def with_space(image: str | None, kind: str, space: str) -> str | None:
    """A stored image has the name of its space: see `image_text`."""
    if image is None or kind != MEMORY or NO_SPACE not in image:
        return image
    if (named := BEFORE_SPACE.match(image)) and image.startswith(NULL, named.end()):
        return f"{named[0]}{tables.as_json(space)}{image[named.end() + len(NULL) :]}"
    return tables.as_json(image_of(image, kind, space))


def without_space(image: Any, kind: str, space: str) -> str | None:
    """The reverse. Raises `ValueError` where the image cannot be read."""
    fields = parsed(image)
    if fields is None or kind != MEMORY or fields.get("space") != space:
        return None if fields is None else str(image)
    name = tables.as_json(space)
    if (named := BEFORE_SPACE.match(image)) and image.startswith(name, named.end()):
        return f"{named[0]}{NULL}{image[named.end() + len(name) :]}"
    return image_text(fields, kind, space)
