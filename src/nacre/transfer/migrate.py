"""Moves a whole store to another one: every version, journal entry, term and vector, compared row by row.

Copying and comparing are one walk: both stores are read side by side, and what the target lacks or has otherwise is
written, some thousand rows in a transaction. So an interrupted migration continues by being run again, and a walk that
has to write nothing proves that the target holds what the source held.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias, TypeVar
from urllib.parse import urlsplit

from nacre.errors import MigrationRefused, StoreDamaged
from nacre.factory import IN_MEMORY, open_backend, store_file
from nacre.model.memory import Json
from nacre.protocols import (
    UPKEEP,
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
    VersionRow,
)
from nacre.settings import ADDRESS, Settings

MARK = (UPKEEP, "migration")  # the term of a target that is not complete; it names the source
AT_ONCE = 2_000  # versions and entries in a transaction: below that the disk is waited for more often than needed
DIGEST_BYTES = 16
MOST_ROUNDS = 5  # that follow a source to which others write
COPYING, COMPARING = "Copying", "Comparing"
VECTOR_TYPE = "<f2"  # as which every lasting backend keeps them

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
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"


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
        unfinished = source.term(*MARK)
        if unfinished is not None:
            raise MigrationRefused(
                f"{name} is not complete itself: it is being copied from {unfinished.get('source')}. "
                "Finish that first, by running the same migration again."
            )

    def run(self) -> Migrated:
        begun = time.monotonic()
        self.check_source(self._source, self._names[0])
        self._begin()
        walk = Walk(self._source, self._target, self._to, self._names[0])
        try:
            rounds = self._follow(walk)
        except KeyboardInterrupt as error:
            error.add_note(
                f"{walk.done:,} of {walk.total:,} rows were copied or compared. {self._names[1]} keeps them, but is "
                f"not complete yet: run the same command again to continue. {self._names[0]} is unchanged."
            )
            raise
        self._target.commit([TermSet(*MARK, None)])
        return Migrated(*self._names, tuple(walk.spaces), walk.terms, rounds, time.monotonic() - begun)

    def _follow(self, walk: Walk) -> int:
        """Until the source stands still for a round; how many were needed."""
        for rounds in range(1, MOST_ROUNDS + 1):
            with self._from.snapshot() as state:
                stamp = self._stamp(state)
                if walk.run(state, self._watched(COPYING)):
                    self._verify(walk.run(state, self._watched(COMPARING)))
            if stamp == self._stamp(self._from):
                return rounds
        raise MigrationRefused(
            f"{self._names[0]} is being written to faster than it can be copied. What is copied is kept: stop whatever "
            "writes to it, and run the same command again."
        )

    def _begin(self) -> None:
        """Marks the target as incomplete, unless it is that already."""
        source, target = self._names
        mark = self._target.term(*MARK)
        if mark is None:
            if self._to.spaces() or next(self._to.terms(), None) is not None or self._target.embedder().name:
                raise MigrationRefused(f"{target} is not empty, and would be overwritten; name a new store.")
            self._target.commit([TermSet(*MARK, {"source": source})])
        elif mark.get("source") != source:
            raise MigrationRefused(
                f"{target} holds an interrupted migration of {mark.get('source')}, and not of {source}. Finish that "
                "one, or name a new store."
            )

    def _stamp(self, reader: RowReader) -> object:
        """What tells that the source was written to; uses are counted at any time, and do not count here."""
        return reader.spaces(), terms_of(reader), self._source.embedder()

    def _verify(self, changes: int) -> None:
        if changes:
            raise MigrationRefused(
                f"{self._names[1]} does not return what was written to it ({changes:,} rows differ). Do not use it; "
                "run `nacre doctor` on both stores, and begin again with a new target."
            )

    def _watched(self, what: str) -> Watch:
        progress = self._progress
        return lambda done, total: None if progress is None else progress(min(done, total), max(1, total), what)


def rows_of(store: Backend, name: str) -> RowTransfer:
    if store.rows is None:
        raise MigrationRefused(f"{name} cannot be moved as a whole; use `nacre export` and `nacre import` instead.")
    return store.rows


@dataclass
class Walk:
    """One walk through both stores, which makes the target equal to the source."""

    source: Backend
    target: Backend
    rows: RowTransfer  # of the target
    name: str  # of the source
    done: int = 0  # rows of the source that were read
    total: int = 0
    changes: int = 0
    terms: int = 0
    spaces: list[MovedSpace] = field(default_factory=list)
    watch: Watch = lambda *_: None

    def run(self, state: RowReader, watch: Watch) -> int:
        """How much had to be written."""
        wanted, known = state.spaces(), {space.name: space for space in self.rows.spaces()}
        self.done, self.total, self.changes = 0, sum(space.rows for space in wanted), 0
        self.spaces, self.watch = [], watch
        self._embedder()
        self._terms(state)
        for gone in known.keys() - {space.name for space in wanted}:
            self.rows.drop_space(gone)
            self.changes += 1
        for space in wanted:
            self._space(state, space, known.get(space.name))
        return self.changes

    def _embedder(self) -> None:
        bound, known = self.source.embedder(), self.target.embedder()
        if (bound, bound.measured) != (known, known.measured):
            self.target.commit([EmbedderBound(bound)])
            self.changes += 1

    def _terms(self, state: RowReader) -> None:
        wanted, known = terms_of(state), terms_of(self.rows)
        changed = [TermSet(*key, data) for key, data in wanted.items() if known.get(key) != data]
        changed += [TermSet(*key, None) for key in known if key not in wanted]
        for start in range(0, len(changed), AT_ONCE):
            self.target.commit(changed[start : start + AT_ONCE])
        self.terms = len(wanted)
        self.changes += len(changed)

    def _space(self, state: RowReader, space: SpaceRow, known: SpaceRow | None) -> None:
        pending, digest = Pending(space, self.rows), blake2b(digest_size=DIGEST_BYTES)
        if known is None or place_of(known) != place_of(space):
            pending.write()
            self.changes += 1
        memories, versions = self._memories(state, pending, digest.update)
        pending.write_rest()  # before the entries, which are linked to versions
        entries = self._entries(state, pending, digest.update)
        pending.write_rest()
        self.changes += pending.written
        self.spaces.append(MovedSpace(space.name, memories, versions, entries, digest.hexdigest()))

    def _memories(self, state: RowReader, pending: Pending, note: Callable[[bytes], None]) -> tuple[int, int]:
        """Numbers rise in both in the order of first writing, and new memories come last: where a pair does not fit,
        the source no longer has that of the target."""
        there, memories, versions = self.rows.memories(pending.space.name), 0, 0
        other = next(there, None)
        for row in state.memories(pending.space.name):
            digest = memory_digest(row)
            note(digest)
            while other is not None and not is_same(row, other):
                pending.remove(other)
                other = next(there, None)
            if other is None:
                pending.put(replace(row, number=0))
            else:
                if memory_digest(other) != digest:
                    pending.exchange(other, replace(row, number=other.number))
                other = next(there, None)
            memories += row.versions[-1].seq_to is None
            versions += len(row.versions)
            self._count()
        for left in rest(other, there):
            pending.remove(left)
        return memories, versions

    def _entries(self, state: RowReader, pending: Pending, note: Callable[[bytes], None]) -> int:
        there, entries = self.rows.entries(pending.space.name), 0
        other = next(there, None)
        for row in state.entries(pending.space.name):
            if row.entry.damaged:
                raise StoreDamaged(self.name, f"entry {row.entry.seq} of its journal cannot be read")
            digest = entry_digest(row)
            note(digest)
            while other is not None and other.entry.seq < row.entry.seq:
                pending.drop(other.entry.seq)
                other = next(there, None)
            same = other is not None and other.entry.seq == row.entry.seq
            if not same or other is None or entry_digest(other) != digest:
                pending.record(row)
            if same:
                other = next(there, None)
            entries += 1
            self._count()
        for left in rest(other, there):
            pending.drop(left.entry.seq)
        return entries

    def _count(self) -> None:
        self.done += 1
        self.watch(self.done, self.total)


class Pending:
    """Rows of a space that wait until there are enough of them for a transaction."""

    def __init__(self, space: SpaceRow, rows: RowTransfer) -> None:
        self.space, self._rows = space, rows
        self.written = 0
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
        self.written += 1
        self._size += rows
        if self._size >= AT_ONCE:
            self.write()

    def write_rest(self) -> None:
        if self._removed or self._memories or self._dropped or self._entries:
            self.write()

    def write(self) -> None:
        self._rows.write_rows(RowBatch(self.space, self._removed, self._memories, self._dropped, self._entries))
        self._clear()


def terms_of(reader: RowReader) -> dict[Key, Data | None]:
    return {(term.kind, term.name): term.data for term in reader.terms() if (term.kind, term.name) != MARK}


def place_of(space: SpaceRow) -> tuple[object, ...]:
    """What every backend keeps of a space as it was given."""
    return space.name, space.seq, space.last_at, space.dropped[:2]


def is_same(row: MemoryRow, other: MemoryRow) -> bool:
    """Of one id, and not one that had ended before the other began."""
    ended = other.versions[-1].seq_to
    same_id = row.versions[-1].memory.id == other.versions[-1].memory.id
    return same_id and (ended is None or ended > row.versions[0].seq_from)


def rest(first: Row | None, others: Iterator[Row]) -> Iterator[Row]:
    if first is not None:
        yield first
        yield from others


# Digests: of what every backend returns as it was given. Statistics of earlier states are estimates, and the uses at
# the time of writing are in the journal.


def memory_digest(row: MemoryRow) -> bytes:
    digest = blake2b(digest_size=DIGEST_BYTES)
    for version in row.versions:
        digest.update(canonical(version_facts(version)))
        vectors = version.derived.vectors
        digest.update(b"" if vectors is None else vectors.astype(VECTOR_TYPE).tobytes())
    return digest.digest()


def version_facts(version: VersionRow) -> list[Json]:
    memory, derived = version.memory, version.derived
    fields: dict[str, Json] = {
        name: float(value) if type(value) is int else value for name, value in memory.to_dict().items()
    }
    stems = [
        " ".join(getattr(derived.words, column).split()) for column in ("title", "text", "role", "tags", "entities")
    ]
    chunks = [[chunk.start, chunk.end, chunk.digest.hex()] for chunk in derived.chunks]
    present = version.seq_to is None
    walks = sorted([*link, count] for link, count in version.walks.items() if count and present)
    waits = present and derived.vectors is None
    return [fields, memory.version, version.seq_from, version.seq_to, *stems, chunks, waits, walks]  # type: ignore[list-item]


def entry_digest(row: EntryRow) -> bytes:
    entry, done = row.entry, row.entry.operation
    told = [entry.seq, entry.memory_id, entry.kind, done.name, done.actor, done.at, done.batch, done.why]
    images = [None if image is None else dict(image) for image in (entry.before, entry.after)]
    return blake2b(canonical([*told, entry.damaged, *images]), digest_size=DIGEST_BYTES).digest()


encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def canonical(value: object) -> bytes:
    return encode(value).encode()
