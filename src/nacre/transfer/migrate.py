"""Moves a whole store to another one: every version, journal entry, term and vector, compared row by row.

A walk reads both stores side by side, and writes what the target lacks or has otherwise, some thousand rows in a
transaction: an interrupted migration continues by being run again. Then all of the target is read again, and the digest
of each space compared with that of the source.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain, islice
from marshal import dumps
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

from nacre.engine.operation_parts import long_operation
from nacre.errors import InvalidInput, MigrationRefused, NotAStore, StoreDamaged
from nacre.factory import IN_MEMORY, is_empty_file, open_backend, store_file
from nacre.protocols import (
    MIGRATION,
    TOKEN_KIND,
    Backend,
    Data,
    EmbedderBound,
    EntryRow,
    Key,
    MemoryRow,
    Progress,
    RowBatch,
    RowReader,
    RowTransfer,
    SpaceRow,
    TermSet,
)
from nacre.settings import ADDRESS, Settings
from nacre.storage.tables import RECORD

# Versions and entries in a transaction: with fewer of them the same counters are written more often, and the disk is
# waited for; 5,000 take some 40 MB.
AT_ONCE = 5_000
DIGEST_BYTES = 16
READ_AHEAD = 500  # rows: as many as a backend reads together
MOST_ROUNDS = 5  # that follow a source to which others write
COPYING, COMPARING = "Copying", "Comparing"
MARSHAL = 2  # the last version of the format in which equal values always give equal bytes
ID = RECORD.index("id")
NO_STEMS = "\n\n"  # of title, text and role
FACTS_OF_ENTRY = EntryRow._fields.index("latest")  # what is behind them are statistics

Watch: TypeAlias = Callable[[int, int], None]  # how many rows were read, and of how many
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class MovedSpace:
    """What both stores hold of a space. `memories` counts those that exist, `versions` every state of every one;
    `digest` is of all of them and of the journal."""

    name: str
    memories: int
    versions: int
    entries: int
    digest: str


@dataclass(frozen=True, slots=True)
class Migrated:
    """`rounds` above 1: the source was written to meanwhile, and the target has caught up."""

    source: str
    target: str
    spaces: tuple[MovedSpace, ...]
    terms: int
    rounds: int
    elapsed: float


def migrate_store(
    source: Path | str,
    target: Path | str,
    settings: Settings,
    *,
    source_key: str = "",
    target_key: str = "",
    progress: Progress | None = None,
) -> Migrated:
    """Copies the store `source` into `target`, which must be new, empty, or an interrupted migration of this source.

    The keys are settings that name a key, as `file:PATH`; an empty one means a plain file. The source is only read,
    and others may use it meanwhile. Wherever this breaks off, running it again continues. Raises `MigrationRefused`.
    """
    names = address(source), address(target)
    if names[0] == names[1]:
        raise MigrationRefused(f"{names[0]} cannot be moved to itself; name another target.")
    if IN_MEMORY in names:
        raise MigrationRefused("A store in memory ends with this command; name a file or a server.")
    if not ADDRESS.match(str(source)) and is_empty_file(source):
        raise NotAStore(names[0], "it is empty")
    with closing(open_backend(source, replace(settings, key=source_key))) as read:
        Migration.check_source(read, names[0])
        with closing(open_backend(target, replace(settings, key=target_key))) as written:
            return Migration(read, written, names, progress).run()


def address(place: Path | str) -> str:
    """What names a store wherever the command is called, without a password."""
    if str(place) == IN_MEMORY:
        return IN_MEMORY
    if not ADDRESS.match(str(place)):
        return str(store_file(place).absolute().resolve())
    parts = urlsplit(str(place))
    try:
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise InvalidInput(
            f"The port in {parts.hostname}… is not a number; write postgresql://host:5432/name."
        ) from None
    user = f"{parts.username}@" if parts.username else ""
    server = [(name, value) for name, value in parse_qsl(parts.query) if name in ("host", "port", "user", "dbname")]
    query = f"?{urlencode(server, safe='/')}" if server else ""
    return f"{parts.scheme}://{user}{parts.hostname or ''}{port}{parts.path}{query}"


class Migration:
    """`names` are those of the source and the target, for messages and for the mark in the target."""

    def __init__(
        self, source: Backend, target: Backend, names: tuple[str, str], progress: Progress | None = None
    ) -> None:
        self._source, self._target, self._names = source, target, names
        self._progress = progress
        self._from, self._to = rows_of(source, names[0]), rows_of(target, names[1])

    @staticmethod
    def check_source(source: Backend, name: str) -> None:
        rows_of(source, name)
        unfinished = source.term(*MIGRATION)
        if unfinished is not None:
            raise MigrationRefused(
                f"{name} is not complete itself: it is being copied from {unfinished.get('source')}. "
                "Finish that first, by running the same migration again."
            )

    def run(self) -> Migrated:
        with long_operation():
            return self._run()

    def _run(self) -> Migrated:
        begun = time.monotonic()
        self.check_source(self._source, self._names[0])
        self._begin()
        walk = Walk(self._source, self._target, self._names)
        try:
            rounds = self._follow(walk)
        except KeyboardInterrupt as error:
            error.add_note(
                f"{walk.done:,} of {walk.total:,} rows were copied or compared. {self._names[1]} keeps them, but is "
                f"not complete yet: run the same command again to continue. {self._names[0]} is unchanged."
            )
            raise
        self._target.commit([TermSet(*MIGRATION, None)])
        return Migrated(*self._names, tuple(walk.spaces), walk.terms, rounds, time.monotonic() - begun)

    def _follow(self, walk: Walk) -> int:
        """Until the source stands still for a round; how many were needed."""
        for rounds in range(1, MOST_ROUNDS + 1):
            with self._from.snapshot() as state:
                stamp = self._stamp(state)
                walk.run(state, self._watched(COPYING))
                self._verify(walk, self._watched(COMPARING))
            if stamp == self._stamp(self._from):
                return rounds
        raise MigrationRefused(
            f"{self._names[0]} is being written to faster than it can be copied. What is copied is kept: stop whatever "
            "writes to it, and run the same command again."
        )

    def _begin(self) -> None:
        """Marks the target as incomplete, unless it is that already."""
        source, target = self._names
        mark = self._target.term(*MIGRATION)
        if mark is None:
            if held := self._held():
                raise MigrationRefused(f"{target} has {held} already, which would be overwritten; name a new store.")
            self._target.commit([TermSet(*MIGRATION, {"source": source})])
        elif mark.get("source") != source:
            raise MigrationRefused(
                f"{target} holds an interrupted migration of {mark.get('source')}, and not of {source}. Finish that "
                "one, or name a new store."
            )

    def _held(self) -> str:
        """What the target holds; empty for nothing."""
        if self._to.spaces():
            return "memories"
        kinds = {term.kind for term in self._to.terms()}
        if TOKEN_KIND in kinds:
            return "users and tokens"
        return "settings of its own" if kinds or self._target.embedder().name else ""

    def _stamp(self, reader: RowReader) -> object:
        """What tells that the source was written to; uses are counted at any time, and do not count here."""
        return reader.spaces(), terms_of(reader), self._source.embedder()

    def _verify(self, walk: Walk, watch: Watch) -> None:
        """That the target returns all that the walk through the source has read."""
        wanted, walk.done = {space.name: space.digest for space in walk.spaces}, 0
        known = {space.name: place_of(space) for space in self._to.spaces()}
        for space in walk.wanted:
            digest = blake2b(digest_size=DIGEST_BYTES)
            entries = read_ahead(self._to.entries(space.name, images=walk.images))
            digests = (entry_digest(row, images=walk.images) for row in entries)
            for row_digest in chain(map(memory_digest, read_ahead(self._to.memories(space.name))), digests):
                digest.update(row_digest)
                walk.count(watch)
            if digest.hexdigest() != wanted.get(space.name) or known.get(space.name) != place_of(space):
                raise MigrationRefused(
                    f"{self._names[1]} does not return what was written to it, in the space {space.name!r}. Do not use "
                    "it; run `nacre doctor` on both stores, and begin again with a new target."
                )

    def _watched(self, what: str) -> Watch:
        progress = self._progress
        return lambda done, total: None if progress is None else progress(min(done, total), max(1, total), what)


def rows_of(store: Backend, name: str) -> RowTransfer:
    if store.rows is None:
        raise MigrationRefused(f"{name} cannot be moved as a whole; use `nacre export` and `nacre import` instead.")
    return store.rows


class Walk:
    """Makes the target equal to the source, and counts what the source holds."""

    def __init__(self, source: Backend, target: Backend, names: tuple[str, str]) -> None:
        self._source, self._target, self._name = source, target, names[0]
        self._rows = rows_of(target, names[1])
        self.images = rows_of(source, names[0]).keeps_images or self._rows.keeps_images
        self.wanted: list[SpaceRow] = []
        self.spaces: list[MovedSpace] = []
        self.terms = self.done = self.total = 0  # rows that were read, and of how many
        self._watch: Watch = lambda *_: None

    def run(self, state: RowReader, watch: Watch) -> None:
        self.wanted, known = state.spaces(), {space.name: space for space in self._rows.spaces()}
        self.done, self.total = 0, sum(space.rows for space in self.wanted)
        self.spaces, self._watch = [], watch
        self._embedder()
        self._terms(state)
        last = {space.name: space.seq for space in self.wanted}
        for space in list(known.values()):
            if space.seq > last.get(space.name, -1):  # gone, or made anew under its name, or an earlier state restored
                self._rows.drop_space(space.name)
                del known[space.name]
        with ThreadPoolExecutor(1) as writer:  # the target writes while the source is read
            for space in self.wanted:
                self._space(state, space, known.get(space.name), writer)

    def _embedder(self) -> None:
        bound, known = self._source.embedder(), self._target.embedder()
        if (bound, bound.measured) != (known, known.measured):
            self._target.commit([EmbedderBound(bound)])

    def _terms(self, state: RowReader) -> None:
        wanted, known = terms_of(state), terms_of(self._rows)
        changed = [TermSet(*key, data) for key, data in wanted.items() if known.get(key) != data]
        changed += [TermSet(*key, None) for key in known if key not in wanted]
        for start in range(0, len(changed), AT_ONCE):
            self._target.commit(changed[start : start + AT_ONCE])
        self.terms = len(wanted)

    def _space(self, state: RowReader, space: SpaceRow, known: SpaceRow | None, writer: Executor) -> None:
        pending, digest = Pending(space, self._rows, writer), blake2b(digest_size=DIGEST_BYTES)
        if known is None or place_of(known) != place_of(space):
            pending.write()
        memories, versions = self._memories(state, pending, digest.update)
        pending.write_rest()  # before the entries, which are linked to versions
        entries = self._entries(state, pending, digest.update)
        pending.write_rest()
        pending.finish()
        self.spaces.append(MovedSpace(space.name, memories, versions, entries, digest.hexdigest()))

    def _memories(self, state: RowReader, pending: Pending, note: Callable[[bytes], None]) -> tuple[int, int]:
        """Numbers rise in both in the order of first writing, and new memories come last: where a pair does not fit,
        the source no longer has that of the target."""
        there, memories, versions = self._rows.memories(pending.space.name), 0, 0
        other = next(there, None)
        for row in read_ahead(state.memories(pending.space.name)):
            digest = memory_digest(row)
            note(digest)
            while other is not None and not is_same(row, other):
                pending.remove(other)
                other = next(there, None)
            if other is None:
                pending.put(MemoryRow(0, row.versions))
            else:
                if memory_digest(other) != digest:
                    pending.exchange(other, MemoryRow(other.number, row.versions))
                other = next(there, None)
            memories += row.versions[-1].seq_to is None
            versions += len(row.versions)
            self.count(self._watch)
        for left in rest(other, there):
            pending.remove(left)
        return memories, versions

    def _entries(self, state: RowReader, pending: Pending, note: Callable[[bytes], None]) -> int:
        there, entries = self._rows.entries(pending.space.name, images=self.images), 0
        other = next(there, None)
        for row in read_ahead(state.entries(pending.space.name, images=self.images)):
            seq, digest = row.seq, entry_digest(row, images=self.images)
            if row.damaged:
                raise StoreDamaged(self._name, f"entry {seq} of its journal cannot be read")
            note(digest)
            while other is not None and other.seq < seq:
                pending.drop(other.seq)
                other = next(there, None)
            same = other if other is not None and other.seq == seq else None
            if same is None:
                pending.record(row)
            else:
                if entry_digest(same, images=self.images) != digest:
                    pending.drop(seq)
                    pending.record(row)
                other = next(there, None)
            entries += 1
            self.count(self._watch)
        for left in rest(other, there):
            pending.drop(left.seq)
        return entries

    def count(self, watch: Watch) -> None:
        self.done += 1
        watch(self.done, self.total)


class Pending:
    """Rows of a space that wait until there are enough of them for a transaction. One of these is under way while the
    rows of the next are collected."""

    def __init__(self, space: SpaceRow, rows: RowTransfer, writer: Executor) -> None:
        self.space, self._rows, self._writer = space, rows, writer
        self._writing: Future[None] | None = None
        self._clear()

    def _clear(self) -> None:
        self._removed: list[MemoryRow] = []
        self._memories: list[MemoryRow] = []
        self._dropped: list[int] = []
        self._entries: list[EntryRow] = []
        self._size = 0

    def remove(self, row: MemoryRow) -> None:
        self._removed.append(row)
        self._grow(len(row.versions))

    def exchange(self, old: MemoryRow, new: MemoryRow) -> None:
        self._removed.append(old)
        self.put(new)

    def put(self, row: MemoryRow) -> None:
        self._memories.append(row)
        self._grow(len(row.versions))

    def drop(self, seq: int) -> None:
        self._dropped.append(seq)
        self._grow(1)

    def record(self, row: EntryRow) -> None:
        self._entries.append(row)
        self._grow(1)

    def _grow(self, rows: int) -> None:
        self._size += rows
        if self._size >= AT_ONCE:
            self.write()

    def write_rest(self) -> None:
        if self._removed or self._memories or self._dropped or self._entries:
            self.write()

    def write(self) -> None:
        self.finish()
        batch = RowBatch(self.space, self._removed, self._memories, self._dropped, self._entries)
        self._writing = self._writer.submit(self._rows.write_rows, batch)
        self._clear()

    def finish(self) -> None:
        """Waits for what is being written. Raises the error that it met."""
        if self._writing is not None:
            self._writing.result()
            self._writing = None


def terms_of(reader: RowReader) -> dict[Key, Data | None]:
    return {(term.kind, term.name): term.data for term in reader.terms() if (term.kind, term.name) != MIGRATION}


def place_of(space: SpaceRow) -> tuple[object, ...]:
    """What every backend keeps of a space as it was given."""
    return space.name, space.seq, space.last_at, space.dropped[:2]


def is_same(row: MemoryRow, other: MemoryRow) -> bool:
    """Of one id, and not one that had ended before the other began."""
    ended = other.versions[-1].seq_to
    same_id = row.versions[-1].record[ID] == other.versions[-1].record[ID]
    return same_id and (ended is None or ended > row.versions[0].seq_from)


def read_ahead(rows: Iterator[Row]) -> Iterator[Row]:
    """Reads the next of them while those before are used: a server works meanwhile."""
    with ThreadPoolExecutor(1) as reader:
        part = reader.submit(list, islice(rows, READ_AHEAD))
        while read := part.result():
            part = reader.submit(list, islice(rows, READ_AHEAD))
            yield from read


def rest(first: Row | None, others: Iterator[Row]) -> Iterator[Row]:
    if first is not None:
        yield first
        yield from others


# Digests are of what every backend returns as it was given. So they leave out statistics of earlier states, which are
# estimates, and the uses at the time of writing, which the journal has.


def memory_digest(row: MemoryRow) -> bytes:
    digest = blake2b(digest_size=DIGEST_BYTES)
    for version in row.versions:
        words, chunks, vectors = version.content
        facts: tuple[Any, ...] = (version.record, words or NO_STEMS, version.stems, chunks)
        state: tuple[Any, ...] = (version.seq_from, version.seq_to)
        if version.seq_to is None:
            walks = sorted((*link, count) for link, count in version.walks.items() if count)
            state = (*state, vectors is None, tuple(walks))
        digest.update(dumps((facts, state), MARSHAL))
        if vectors is not None:
            digest.update(b"".join(vectors))
    return digest.digest()


def entry_digest(row: EntryRow, *, images: bool) -> bytes:
    """With the images, or with what they are made from."""
    facts = (*row[:FACTS_OF_ENTRY], row.damaged, None if images else row.linked)
    return blake2b(dumps(facts, MARSHAL), digest_size=DIGEST_BYTES).digest()
