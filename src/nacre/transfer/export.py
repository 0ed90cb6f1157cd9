"""Writes memories into an archive: one file that any other store can import."""

from __future__ import annotations

import hashlib
import json
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO

from nacre import files
from nacre.errors import ArchiveRefused, InvalidInput, StorageError
from nacre.memory_store import MemoryStore
from nacre.model import Memory
from nacre.model.instants import Instant, iso
from nacre.model.memory import Json
from nacre.protocols import Progress, Vectors
from nacre.recall_options import Scope
from nacre.remember.derive import same_derived_input
from nacre.transfer import ahkai
from nacre.transfer.archive import AHKAI, GZIP, LONGEST_LINE, NACRE, SUFFIXES, VERSIONS, ExportSummary, pack_vectors
from nacre.transfer.read_archive import Archive
from nacre.transfer.vocabulary import ExportedVocabulary

LEVEL = 3  # compression level: takes half the time of level 6 for 2 % more bytes where most of the file is vectors


class Writer:
    """Writes packed lines with a checksum. `count` is the number of rows after the header, `bytes` what was written. An
    archive that was not closed has no closing line, so a reader sees that it is incomplete."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._packer = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
        self._hash = hashlib.sha256()
        self.count = -1
        self.bytes = 0

    def put(self, row: Mapping[str, Json], name: str = "") -> None:
        line = json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        if len(line) > LONGEST_LINE:
            raise InvalidInput(
                f"The memory {name} takes {len(line):,} bytes, and a line of an archive holds {LONGEST_LINE:,}; "
                "remove some of its links or metadata, or leave it out."
            )
        self._hash.update(line)
        self._write(self._packer.compress(line))
        self.count += 1

    def close(self) -> None:
        """Writes the closing line, which reveals any change or gap before it."""
        self.put({"end": {"count": self.count, "sha256": self._hash.hexdigest()}})
        self.end()

    def end(self) -> None:
        self._write(self._packer.flush())

    def _write(self, packed: bytes) -> None:
        self._out.write(packed)
        self.bytes += len(packed)


@contextmanager
def replacing(path: Path, refuse: Callable[[Path], None] | None = None) -> Iterator[IO[bytes]]:
    """A temporary file that replaces `path` when the block succeeds. Raises `StorageError`.

    `refuse` raises for a file that must not be replaced; by default anything but an archive, so that a typing mistake
    does not destroy a store.
    """
    (refuse or refuse_other)(path)
    try:
        with files.atomic_writer(path) as file:
            yield file
    except StorageError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"Cannot write to {path} ({reason}); choose another place.") from error


def refuse_existing(path: Path) -> None:
    refuse_other(path)
    if path.exists() and path.stat().st_size:
        raise InvalidInput(f"{path} already exists; add --force to replace it, or choose another name.")


def refuse_other(path: Path) -> None:
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        return
    try:
        if not path.is_file():  # reading a pipe, for example, would block
            raise ArchiveRefused(path, "it is not a file", "Choose another name.")
        Archive(path)
    except ArchiveRefused as error:
        raise InvalidInput(f"{path} already exists and is not an archive; choose another name.") from error


PAGE = 256  # memories read, and written, at once


@dataclass(frozen=True, slots=True)
class Choice:
    """Which memories to export. By default everything except the trash, with vectors and without secrets."""

    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # all of them
    status: tuple[str, ...] = ()
    since: Instant | None = None
    until: Instant | None = None
    include_superseded: bool = True
    include_archived: bool = True
    include_trashed: bool = False
    vectors: bool = True
    redact: bool = True

    def scope(self) -> Scope:
        return {
            "type": self.types or None, "all_tags": self.tags or None, "status": self.status or None,
            "since": self.since, "until": self.until, "include_superseded": self.include_superseded,
            "include_archived": self.include_archived, "include_trashed": self.include_trashed,
            "include_expired": True,
        }  # fmt: skip

    @property
    def selective(self) -> bool:
        return bool(self.types or self.tags or self.status or self.since is not None or self.until is not None)

    def header_options(self) -> dict[str, Json]:
        return {
            "types": [*self.types], "tags": [*self.tags], "status": [*self.status],
            "since": None if self.since is None else str(self.since),
            "until": None if self.until is None else str(self.until),
            "include_vectors": self.vectors, "include_superseded": self.include_superseded,
            "include_archived": self.include_archived, "include_trashed": self.include_trashed,
            "redacted": self.redact,
        }  # fmt: skip


EVERYTHING = Choice()


def export_archive(
    store: MemoryStore, out: Path | str | IO[bytes], choice: Choice = EVERYTHING, *, form: str | None = None,
    progress: Progress | None = None, overwrite: bool = True,
) -> ExportSummary:  # fmt: skip
    """Writes the memories, oldest first, using a constant amount of memory. A path is written completely or not at all;
    an interrupted stream has no closing line. `form` is by default AI-Houkai's for `.ahkai`, else our own. An archive
    of that name is replaced, unless `overwrite` is False; any other file never is.

    Memories written meanwhile by others may or may not be included. Raises `StorageError` when the path cannot be
    written, and `StoreDamaged`, before anything is written, when memories would be missing.
    """
    started = time.monotonic()
    if not isinstance(out, str | Path):
        exporting = Export(store, choice, form or NACRE, Writer(out))
        exporting.run(progress)
        return exporting.summary(None, time.monotonic() - started)
    path = Path(out).expanduser()
    with replacing(path, refuse_other if overwrite else refuse_existing) as file:
        exporting = Export(store, choice, form or SUFFIXES.get(path.suffix.lower(), NACRE), Writer(file))
        exporting.run(progress)
    return exporting.summary(path, time.monotonic() - started)


@dataclass(slots=True)
class Export:
    store: MemoryStore
    choice: Choice
    form: str
    writer: Writer
    count: int = 0
    terms_written: int = 0
    redacted: int = 0
    lossy: int = 0
    vocabulary: ExportedVocabulary = field(init=False)

    def __post_init__(self) -> None:
        self.vocabulary = ExportedVocabulary(self.store)

    def run(self, progress: Progress | None) -> None:
        self.store.check_records()
        scope = self.choice.scope()
        total = self.store.count(**scope)
        self.writer.put(self.header(total))
        memories = self.store.iterate(**scope)
        while page := list(islice(memories, PAGE)):
            for memory, vectors in self.with_vectors(page):
                self.put(memory, vectors)
            if progress is not None:
                progress(self.count, max(total, self.count), "exporting memories")
        if self.form == NACRE:
            for kind, name, data in self.terms():
                self.writer.put({"word": {"kind": kind, "name": name, "data": data}}, name)
                self.terms_written += 1
            self.writer.close()
        else:
            self.writer.end()

    def header(self, total: int) -> dict[str, Json]:
        embedder = self.store.embedder
        bound = self.store.backend.embedder().name or embedder.identity
        dimensions = embedder.dimensions if bound == embedder.identity else 0
        names = ahkai.SOURCE if self.form == AHKAI else ("space", "embedder", "dimensions", "count")
        source: dict[str, Json] = dict(zip(names, (self.store.space, bound, dimensions, total), strict=True))
        return {
            "format": self.form,
            "version": VERSIONS[self.form],
            "exported_at": iso(self.store.now()),
            "source": source,
            "options": self.choice.header_options(),
        }

    def with_vectors(self, page: list[Memory]) -> Iterable[tuple[Memory, Vectors | None]]:
        """Leaves out the vectors of a memory that was edited between reading its text and its vectors."""
        if not self.choice.vectors:
            return ((memory, None) for memory in page)
        ids = [memory.id for memory in page]
        vectors = self.store.vectors(ids)
        now = {memory.id: memory for memory in self.store.get_many(ids)}
        unedited = {each.id for each in page if each.id in now and same_derived_input(each, now[each.id])}
        return ((memory, vectors.get(memory.id) if memory.id in unedited else None) for memory in page)

    def put(self, memory: Memory, vectors: Vectors | None) -> None:
        written = self.store.clean(memory) if self.choice.redact else memory
        if written != memory:
            self.redacted += 1
            vectors = None  # they were computed from the removed text too
        self.vocabulary.note(written)
        self.writer.put(self.row(written, vectors), memory.id)
        self.count += 1

    def row(self, memory: Memory, vectors: Vectors | None) -> dict[str, Json]:
        if self.form == AHKAI:
            self.lossy += ahkai.loses(memory)
            row = ahkai.row(memory)
            # AI-Houkai's model reads only the first chunk.
            return row if vectors is None else {**row, "vector": vectors[0].tolist()}
        row_fields: dict[str, Json] = {"memory": memory.to_dict()}
        return row_fields if vectors is None else {**row_fields, "vectors": pack_vectors(vectors)}

    def terms(self) -> Iterator[tuple[str, str, dict[str, Json]]]:
        for kind, name, data in self.vocabulary.rows(everything=not self.choice.selective):
            worded = Memory(id=name, text=name, metadata=data)
            written = self.store.clean(worded) if self.choice.redact else worded
            if written.text == name:  # leave out a term whose name is a secret
                yield kind, name, dict(written.metadata)

    def summary(self, path: Path | None, elapsed: float) -> ExportSummary:
        notes = []
        if self.redacted:
            were = "1 memory was" if self.redacted == 1 else f"{self.redacted:,} memories were"
            notes.append(f"{were} written without vectors and what looked like a secret.")
        if self.lossy:
            notes.append(
                f"{self.lossy:,} memories have fields that an .ahkai file cannot hold (titles, contexts, metadata, …); "
                "a .nacre file keeps all of it."
            )
        return ExportSummary(
            path, self.count, self.writer.bytes, elapsed, self.terms_written, self.redacted, tuple(notes)
        )
