"""Reads and writes a whole store row by row, as it was recorded, for a move to or from another backend."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.protocols import ContentRow, EntryRow, MemoryRow, RowBatch, SpaceRow, TermSet, VersionRow
from nacre.storage.postgres.arrays import BIG, DOUBLE, TEXT, column
from nacre.storage.postgres.connection import HALF_VECTOR_HEADER, Session, Statement
from nacre.storage.postgres.rows import NOWHERE, OPEN, RECORDS, SELECTED, parsed
from nacre.storage.postgres.transaction import TABLES, PostgresTransaction, Space, insertion
from nacre.storage.tables import CONTENT, IDENTITY, PLACES, QUESTION_MARKS, add_record_counts, lists_of, unpacked_stems
from nacre.storage.transfer import labels_of, latest_of, links_in, runs, spans, stems_of

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
    **{table: TABLES[table] for table in ("content", "chunk", "journal")},
}  # fmt: skip
SPACES = (
    "SELECT name, seq, last_at, dropped, dropped_at, dropped_memories, dropped_stems, (SELECT count(*) FROM memory"
    " WHERE memory.space_id = spaces.space_id) + seq - dropped FROM spaces ORDER BY name"
)
NUMBER = "SELECT space_id FROM spaces WHERE name = %(name)s"
KEYS = "SELECT key FROM memory WHERE space_id = %(space)s AND key > %(after)s ORDER BY key LIMIT %(limit)s"
# Between two keys, and not with a list of them: servers before PostgreSQL 17 read a whole space for a list in order.
VERSIONS = (
    "SELECT version.key, version.seq_from, version.seq_to, version.content, content.words, content.pending,"
    f" version.stems, {SELECTED} FROM {RECORDS} WHERE version.space_id = %(space)s"
    " AND version.key BETWEEN %(first)s AND %(last)s ORDER BY version.key, version.seq_from"
)
CHUNKS = (
    "SELECT content, start, stop, digest, halfvec_send(embedding) FROM chunk WHERE space_id = %(space)s"
    " AND content = ANY(%(contents)s::bigint[]) ORDER BY number"
)
WALKS = (
    "SELECT key, seq_from, seq_to, target, rel, walks FROM link WHERE space_id = %(space)s"
    " AND key BETWEEN %(first)s AND %(last)s AND walks > 0"
)
ENTRIES = (
    f"SELECT {', '.join(TABLES['journal'])} FROM journal"
    " WHERE space_id = %(space)s AND seq > %(after)s ORDER BY seq LIMIT %(limit)s"
)
OF_IDENTITY = len(IDENTITY)  # in a record, those of its content follow, and then those of its version
OF_CONTENT = OF_IDENTITY + len(CONTENT)
VERSION_AT = PLACES["version"]
BEFORE_RECORD = 7  # columns in `VERSIONS`
OF_ENTRY = len(TABLES["journal"])  # the first columns of an entry, as the table has them
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
            after = read[-1].seq

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
    asked = {"space": number, "first": keys[0], "last": keys[-1]}
    read = session.fetch(VERSIONS, asked, binary=True)
    contents = read_contents(session, number, {row[3]: (row[4], row[5]) for row in read})
    walks: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for key, *walk in session.fetch(WALKS, asked):
        walks[key].append(tuple(walk))
    versions: dict[int, list[VersionRow]] = defaultdict(list)
    for row in read:
        key, seq_from, seq_to, content, _, _, stems = row[:BEFORE_RECORD]
        record = row[BEFORE_RECORD:]
        walked = {
            (target, rel): count for began, ended, target, rel, count in walks.get(key, ()) if began <= seq_from < ended
        }
        versions[key].append(
            VersionRow(
                record, lists_of(record[-1]), contents[content], stems, seq_from, None if seq_to == OPEN else seq_to,
                record[1:OF_IDENTITY], walked,
            )
        )  # fmt: skip
    return keys[-1], [MemoryRow(key, tuple(of_one)) for key, of_one in versions.items()]


def read_contents(session: Session, space: int, wanted: Mapping[int, tuple[str | None, bool]]) -> dict[int, ContentRow]:
    """By number; `wanted` has the words of each, and whether it waits for its vectors. Versions in a row share them."""
    chunks: dict[int, list[tuple[int, int, bytes]]] = defaultdict(list)
    embedded: dict[int, list[bytes]] = defaultdict(list)
    asked = {"space": space, "contents": list(wanted)}
    read = session.fetch(CHUNKS, asked, binary=True)
    for (content, start, stop, digest, _), vector in zip(read, halves(row[-1] for row in read), strict=True):
        chunks[content].append((start, stop, digest))
        if vector is not None:
            embedded[content].append(vector)
    made: dict[int, ContentRow] = {}
    for content, (words, pending) in wanted.items():
        own, vectors = tuple(chunks[content]), tuple(embedded[content])
        made[content] = ContentRow(words, own, None if pending or len(vectors) != len(own) else vectors)
    return made


def halves(sent: Iterable[bytes | None]) -> Iterator[bytes | None]:
    """Vectors with the lower byte first, of those that the server sends: the bytes of all are exchanged together."""
    bare = [None if vector is None else vector[HALF_VECTOR_HEADER:] for vector in sent]
    exchanged, at = np.frombuffer(b"".join(filter(None, bare)), ">f2").astype("<f2").tobytes(), 0
    for vector in bare:
        size = len(vector or b"")
        yield None if vector is None else exchanged[at : at + size]
        at += size


def read_entries(session: Session, space: str, after: int) -> list[EntryRow]:
    asked = {"space": number_of(session, space), "after": after, "limit": ENTRIES_AT_ONCE}
    return [EntryRow(*row) for row in session.fetch(ENTRIES, asked, binary=True)]


class RowTransaction(PostgresTransaction):
    def write_rows(self, batch: RowBatch) -> None:
        space = self._spaces[batch.space.name]
        space.seq, space.last_at = batch.space.seq, batch.space.last_at
        self._note_dropped(space.number, *batch.space.dropped)
        for row in batch.removed:
            self._count_row(space, row.versions[-1], stems_of(row.versions[-1]), -1)
            self._delete(space, row.number)
        self.flush()  # erases the contents that nothing holds any more
        if batch.dropped:
            sql = "DELETE FROM journal WHERE space_id = %(space)s AND seq = ANY(%(gone)s::bigint[])"
            self._session.send((sql, {"space": space.number, "gone": batch.dropped}))
        self._made: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        for number, row in enumerate(batch.memories, start=1):
            self._put_row(space, row)
            if number % AT_ONCE == 0:
                self._send(space)
        for number, entry_row in enumerate(batch.entries, start=1):
            self._made["journal"].append(entry_row[:OF_ENTRY])
            if number % AT_ONCE == 0:
                self._send(space)
        self._send(space)

    def drop_space(self, name: str) -> None:
        space = self._spaces.pop(name)
        self._saved.pop(name, None)
        self._empty(space)
        self._session.execute("DELETE FROM spaces WHERE space_id = %(space)s", {"space": space.number})

    def _count_row(self, space: Space, last: VersionRow, stems: list[str], sign: int) -> None:
        """What a memory that exists adds to the counts of its space."""
        if last.seq_to is not None:
            return
        space.memories += sign
        space.stems += sign * len(stems)
        add_record_counts(self._counts, space.number, last.record, last.lists, sign)
        self._count_terms(space, *(frozenset[str](), frozenset(stems))[::sign])

    def _put_row(self, space: Space, row: MemoryRow) -> None:
        space.memory_key = max(space.memory_key + (row.number == 0), row.number)
        key, last = row.number or space.memory_key, row.versions[-1]
        self._made["memory"].append((key, *last.record[:OF_IDENTITY], 0 if last.seq_to is None else key))
        stems, versions = list[str](), self._made["version"]
        for run in runs(row):
            content = self._put_content(space, run[-1])
            for version in run:
                record, stems = version.record, stems_of(version)
                versions.append((
                    key, version.seq_from, content, record[VERSION_AT], *record[OF_CONTENT:VERSION_AT], record[-1],
                    version.stems, len(stems), end_of(version.seq_to),
                ))  # fmt: skip
                space.latest = max(space.latest, *latest_of(record))
        self._count_row(space, last, stems, 1)
        for label, times, began, ended, _ in spans(row, labels_of):
            self._made["label"].append((*label, key, began, times, end_of(ended)))
        if any("links" in version.lists for version in row.versions):
            for target, kept, began, ended, version in spans(row, links_in):
                walks = version.walks.get(target, 0)
                self._made["link"].append((*target, key, *kept, walks, began, end_of(ended)))

    def _put_content(self, space: Space, last: VersionRow) -> int:
        """The one of versions in a row, of which this is the last. Only what exists waits for its vectors."""
        space.content_number += 1
        number, (words, chunks, vectors) = space.content_number, last.content
        text, title, role = last.record[OF_IDENTITY:OF_CONTENT]
        waits, asks = vectors is None and last.seq_to is None, text.endswith(QUESTION_MARKS)
        self._made["content"].append((number, text, title, role, asks, words, waits))
        self._put_postings(space, number, unpacked_stems(words, len(CONTENT)))
        for chunk, vector in zip(chunks, repeat(None) if vectors is None else vectors, strict=False):
            space.chunk_number += 1
            self._made["chunk"].append((space.chunk_number, number, *chunk, vector))
        return number

    def _send(self, space: Space) -> None:
        """Lets the server write them. The words come last: they take longest, while the next rows are made."""
        statements: list[Statement] = []
        for table, made in self._made.items():
            columns = COLUMNS[table]
            pairs = zip(columns.items(), zip(*made, strict=True), strict=True)
            values: dict[str, Any] = {field: column(kind, each) for (field, kind), each in pairs}
            statements.append((insertion(table, columns), {**values, "space": space.number}))
        self._made.clear()
        self._session.send(*statements, *self._collected())


def end_of(seq: int | None) -> int:
    return OPEN if seq is None else seq
