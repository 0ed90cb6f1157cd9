"""Reads and writes a whole store row by row, as it was recorded, for a move to or from another backend."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.protocols import Chunk, Derived, EntryRow, MemoryRow, RowBatch, SpaceRow, TermSet, VersionRow, Words
from nacre.storage.postgres.arrays import BIG, DOUBLE, TEXT, column
from nacre.storage.postgres.connection import Session
from nacre.storage.postgres.rows import NOWHERE, OPEN, RECORDS, SELECTED, from_row, parsed
from nacre.storage.postgres.transaction import (
    TABLES,
    PostgresTransaction,
    Space,
    Stored,
    insertion,
    stored_image,
    version_row,
)
from nacre.storage.tables import QUESTION_MARKS, Indexed, Stems, indexed, links_of, unpacked_stems
from nacre.storage.transfer import labels_of, runs, spans

if TYPE_CHECKING:
    from nacre.storage.postgres.store import PostgresBackend

AT_ONCE = 500  # memories that are read together, or sent while the rows of the next are made
ENTRIES_AT_ONCE = 1_000
# Rows with their ends, which a usual change set writes only later.
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "memory": {**TABLES["memory"], "gone": BIG},
    "version": {**TABLES["version"], "seq_to": BIG},
    "label": {**TABLES["label"], "seq_to": BIG},
    "link": {
        "target": TEXT, "rel": TEXT, "key": BIG, "weight": DOUBLE, "kind": TEXT, "walks": BIG, "seq_from": BIG,
        "seq_to": BIG,
    },
    "journal": TABLES["journal"],
}  # fmt: skip
SPACES = (
    "SELECT name, seq, last_at, dropped, dropped_at, dropped_memories, dropped_stems, (SELECT count(*) FROM memory"
    " WHERE memory.space_id = spaces.space_id) + seq - dropped FROM spaces ORDER BY name"
)
NUMBER = "SELECT space_id FROM spaces WHERE name = %(name)s"
KEYS = "SELECT key FROM memory WHERE space_id = %(space)s AND key > %(after)s ORDER BY key LIMIT %(limit)s"
VERSIONS = (
    "SELECT version.key, version.seq_from, version.seq_to, version.content, content.words, content.pending,"
    f" version.stems, {SELECTED} FROM {RECORDS} WHERE version.space_id = %(space)s"
    " AND version.key = ANY(%(keys)s::bigint[]) ORDER BY version.key, version.seq_from"
)
CHUNKS = (
    "SELECT content, start, stop, digest, embedding FROM chunk WHERE space_id = %(space)s"
    " AND content = ANY(%(contents)s::bigint[]) ORDER BY number"
)
WALKS = (
    "SELECT key, seq_from, seq_to, target, rel, walks FROM link WHERE space_id = %(space)s"
    " AND key = ANY(%(keys)s::bigint[]) AND walks > 0"
)
ENTRIES = (
    "SELECT latest, memories, stems, seq, memory_id, kind, act, actor, at, batch, why, before, after FROM journal"
    " WHERE space_id = %(space)s AND seq > %(after)s ORDER BY seq LIMIT %(limit)s"
)
Ask = Callable[[Callable[[Session], Any]], Any]


class PostgresRowReader:
    """`ask` reads with a session that sees every space."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def spaces(self) -> list[SpaceRow]:
        read = self._ask(lambda session: session.fetch(SPACES))
        return [
            SpaceRow(name, seq, last_at, tuple(dropped), size)
            for name, seq, last_at, *dropped, size in read
            if seq or size
        ]

    def memories(self, space: str) -> Iterator[MemoryRow]:
        after = 0
        while True:
            last, read = self._ask(partial(read_memories, space=space, after=after))
            yield from read
            if last is None:
                return
            after = last

    def entries(self, space: str, *, images: bool = True) -> Iterator[EntryRow]:  # noqa: ARG002
        after = 0
        while read := self._ask(partial(read_entries, space=space, after=after)):
            yield from read
            after = read[-1].entry.seq

    def terms(self) -> Iterator[TermSet]:
        sql = "SELECT kind, name, data FROM vocabulary ORDER BY kind, name"
        for kind, name, data in self._ask(lambda session: session.fetch(sql)):
            yield TermSet(kind, name, parsed(data))


class PostgresRows(PostgresRowReader):
    keeps_images = True

    def __init__(self, store: PostgresBackend) -> None:
        super().__init__(store._read_all)
        self._store = store

    @contextmanager
    def snapshot(self) -> Iterator[PostgresRowReader]:
        with self._store.frozen() as session:
            yield PostgresRowReader(lambda work: work(session))

    def write_rows(self, batch: RowBatch) -> None:
        with self._store.writing_rows(batch.space.name) as transaction:
            transaction.write_rows(batch)

    def drop_space(self, name: str) -> None:
        with self._store.writing_rows(name) as transaction:
            transaction.drop_space(name)


def number_of(session: Session, space: str) -> int:
    return next((int(number) for (number,) in session.fetch(NUMBER, {"name": space})), NOWHERE)


def read_memories(session: Session, space: str, after: int) -> tuple[int | None, list[MemoryRow]]:
    """With the number after which to go on; None at the end."""
    number = number_of(session, space)
    keys = [key for (key,) in session.fetch(KEYS, {"space": number, "after": after, "limit": AT_ONCE})]
    if not keys:
        return None, []
    asked = {"space": number, "keys": keys}
    read = session.fetch(VERSIONS, asked)
    contents = read_contents(session, number, {row[3]: (row[4], row[5]) for row in read})
    walks: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for key, *walk in session.fetch(WALKS, asked):
        walks[key].append(tuple(walk))
    versions: dict[int, list[VersionRow]] = defaultdict(list)
    for key, seq_from, seq_to, content, _, _, stems, *record in read:
        memory, (lines, chunks, vectors) = from_row(record, space), contents[content]
        derived = Derived(Words(*lines, *unpacked_stems(stems, 2)), chunks, vectors)
        uses = (memory.last_accessed, memory.access_count)
        walked = {
            (target, rel): count for began, ended, target, rel, count in walks.get(key, ()) if began <= seq_from < ended
        }
        ended = None if seq_to == OPEN else seq_to
        versions[key].append(VersionRow(memory, derived, seq_from, ended, uses, walked))
    return keys[-1], [MemoryRow(key, tuple(of_one)) for key, of_one in versions.items()]


def read_contents(session: Session, space: int, wanted: Mapping[int, tuple[str | None, bool]]) -> dict[int, Any]:
    """Stems of title, text and role, the chunks and their vectors, by content; versions in a row share them."""
    chunks: dict[int, list[Chunk]] = defaultdict(list)
    embedded: dict[int, list[Any]] = defaultdict(list)
    asked = {"space": space, "contents": list(wanted)}
    for content, start, stop, digest, vector in session.fetch(CHUNKS, asked, binary=True):
        chunks[content].append(Chunk(start, stop, bytes(digest)))
        if vector is not None:
            embedded[content].append(vector)
    made: dict[int, Any] = {}
    for content, (words, pending) in wanted.items():
        own, vectors = tuple(chunks[content]), None
        if not pending and len(embedded[content]) == len(own):
            vectors = np.array(embedded[content]) if own else np.empty((0, 0), np.float32)
        made[content] = (unpacked_stems(words, 3), own, vectors)
    return made


def read_entries(session: Session, space: str, after: int) -> list[EntryRow]:
    from nacre.storage.postgres.store import from_entry_row

    asked = {"space": number_of(session, space), "after": after, "limit": ENTRIES_AT_ONCE}
    return [
        EntryRow(from_entry_row(row, space), None, memories, stems, latest)
        for latest, memories, stems, *row in session.fetch(ENTRIES, asked)
    ]


class RowTransaction(PostgresTransaction):
    def write_rows(self, batch: RowBatch) -> None:
        space = self._spaces[batch.space.name]
        space.seq, space.last_at = batch.space.seq, batch.space.last_at
        self._note_dropped(space.space_id, *batch.space.dropped)
        for row in batch.removed:
            self._count_row(space, row.versions[-1], indexed(row.versions[-1].derived.words), -1)
            self._delete(space, row.number)
        self.flush()  # erases the contents that nothing holds any more
        if gone := [*batch.dropped, *(row.entry.seq for row in batch.entries)]:
            sql = "DELETE FROM journal WHERE space_id = %(space)s AND seq = ANY(%(gone)s::bigint[])"
            self._session.send((sql, {"space": space.space_id, "gone": gone}))
        self._made: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        for number, row in enumerate(batch.memories, start=1):
            self._put_row(space, row)
            if number % AT_ONCE == 0:
                self._send(space)
        for number, entry_row in enumerate(batch.entries, start=1):
            self._put_entry(entry_row)
            if number % AT_ONCE == 0:
                self._send(space)
        self._send(space)

    def drop_space(self, name: str) -> None:
        space = self._spaces.pop(name)
        self._saved.pop(name, None)
        self._empty(space)
        self._session.execute("DELETE FROM spaces WHERE space_id = %(space)s", {"space": space.space_id})

    def _count_row(self, space: Space, last: VersionRow, words: Indexed, sign: int) -> None:
        """What a memory that exists adds to the counts of its space."""
        if last.seq_to is not None:
            return
        space.memories += sign
        space.stems += sign * words.length
        self._add_counts(space, last.memory, sign)
        self._count_terms(space, *(frozenset[str](), words.distinct)[::sign])

    def _put_row(self, space: Space, row: MemoryRow) -> None:
        space.memory_key = max(space.memory_key + (row.number == 0), row.number)
        key, last = row.number or space.memory_key, row.versions[-1]
        words = [indexed(version.derived.words) for version in row.versions]
        self._count_row(space, last, words[-1], 1)
        uses = (last.memory.last_accessed, last.memory.access_count)
        self._made["memory"].append((key, last.memory.id, *uses, 0 if last.seq_to is None else key))
        versions, done = self._made["version"], 0
        for run in runs(row):
            content = self._put_content(space, run[-1], words[done + len(run) - 1].content)
            for version, own in zip(run, words[done:], strict=False):
                memory = version.memory
                stored = Stored(key, content, version.seq_from, own.names, own.length, memory)
                versions.append((*version_row(stored), end_of(version.seq_to)))
                space.latest = max(space.latest, memory.created_at, memory.updated_at)
            done += len(run)
        for label, times, began, ended, _ in spans(row, labels_of):
            self._made["label"].append((*label, key, began, times, end_of(ended)))
        if any(version.memory.links for version in row.versions):
            for target, kept, began, ended, version in spans(row, lambda each: links_of(each.memory)):
                walks = version.walks.get(target, 0)
                self._made["link"].append((*target, key, *kept, walks, began, end_of(ended)))

    def _put_content(self, space: Space, last: VersionRow, lines: Stems) -> int:
        """The one of versions in a row, of which this is the last. Only what exists waits for its vectors."""
        space.content_number += 1
        number, memory, derived = space.content_number, last.memory, last.derived
        bare = not derived.chunks and derived.vectors is None and not any(lines)
        waits = derived.vectors is None and last.seq_to is None
        asks, words = memory.text.endswith(QUESTION_MARKS), None if bare else "\n".join(lines)
        self._add("content", space, number, memory.text, memory.title, memory.role, asks, words, waits)
        self._put_postings(space, number, lines)
        self._put_chunks(space, number, derived)
        return number

    def _put_entry(self, row: EntryRow) -> None:
        entry, done = row.entry, row.entry.operation
        images = (stored_image(entry, entry.before), stored_image(entry, entry.after))
        self._made["journal"].append((
            entry.seq, entry.memory_id, entry.kind, done.name, done.actor, done.at, done.batch, done.why, *images,
            row.latest, row.memories, row.stems,
        ))  # fmt: skip

    def _send(self, space: Space) -> None:
        """Lets the server write them while the next rows are made."""
        statements = self._collected()
        for table, made in self._made.items():
            columns = COLUMNS[table]
            pairs = zip(columns.items(), zip(*made, strict=True), strict=True)
            values: dict[str, Any] = {field: column(kind, each) for (field, kind), each in pairs}
            statements.append((insertion(table, columns), {**values, "space": space.space_id}))
        self._made.clear()
        self._session.send(*statements)


def end_of(seq: int | None) -> int:
    return OPEN if seq is None else seq
