"""Takes memories out of a store into one file that any other store can read."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO

from nacre.memory_store import MemoryStore
from nacre.model import Memory
from nacre.model.instants import Instant, iso
from nacre.model.memory import Json
from nacre.protocols import Progress, Vectors
from nacre.recall_options import Scope
from nacre.remember.derive import same_derived_input
from nacre.transfer import ahkai
from nacre.transfer.archive import AHKAI, NACRE, SUFFIXES, VERSIONS, ExportSummary, packed
from nacre.transfer.vocabulary import Spoken
from nacre.transfer.write_archive import Writer, replacing

PAGE = 256  # memories read, and written, at once


@dataclass(frozen=True, slots=True)
class Choice:
    """Which memories go, and with what. By default everything but the trash, with vectors, and without secrets."""

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
            "type": self.types or None,
            "all_tags": self.tags or None,
            "status": self.status or None,
            "since": self.since,
            "until": self.until,
            "include_superseded": self.include_superseded,
            "include_archived": self.include_archived,
            "include_trashed": self.include_trashed,
            "include_expired": True,
        }

    @property
    def narrowed(self) -> bool:
        return bool(self.types or self.tags or self.status or self.since is not None or self.until is not None)

    def told(self) -> dict[str, Json]:
        names: dict[str, Json] = {"types": list(self.types), "tags": list(self.tags), "status": list(self.status)}
        return {
            **names,
            "since": None if self.since is None else str(self.since),
            "until": None if self.until is None else str(self.until),
            "include_vectors": self.vectors,
            "include_superseded": self.include_superseded,
            "include_archived": self.include_archived,
            "include_trashed": self.include_trashed,
            "redacted": self.redact,
        }


EVERYTHING = Choice()


def export_archive(
    store: MemoryStore,
    out: Path | str | IO[bytes],
    choice: Choice = EVERYTHING,
    *,
    form: str | None = None,
    progress: Progress | None = None,
) -> ExportSummary:
    """In memory that does not grow with the number of memories. To a path whole or not at all; a stream that broke off
    has no closing line, by which whoever reads it knows. `form` follows from the name: AI-Houkai's for `.ahkai`.

    Memories are written oldest first. What others write meanwhile may or may not be in it. Raises `StorageError` when
    the path cannot be written, and `StoreDamaged`, before anything is, when memories would be missing from it.
    """
    started = time.monotonic()
    if not isinstance(out, str | Path):
        exporting = Exporting(store, choice, form or NACRE, Writer(out))
        exporting.run(progress)
        return exporting.summary(None, time.monotonic() - started)
    path = Path(out).expanduser()
    with replacing(path) as file:
        exporting = Exporting(store, choice, form or SUFFIXES.get(path.suffix.lower(), NACRE), Writer(file))
        exporting.run(progress)
    return exporting.summary(path, time.monotonic() - started)


@dataclass(slots=True)
class Exporting:
    store: MemoryStore
    choice: Choice
    form: str
    writer: Writer
    count: int = 0
    words: int = 0
    redacted: int = 0
    lossy: int = 0
    spoken: Spoken = field(init=False)

    def __post_init__(self) -> None:
        self.spoken = Spoken(self.store)

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
            self.put_words()
            self.writer.close()
        else:
            self.writer.end()

    def header(self, total: int) -> dict[str, Json]:
        embedder = self.store.embedder
        bound = self.store.acting_as("export").store.embedder() or embedder.identity
        dimensions = embedder.dimensions if bound == embedder.identity else 0
        names = ahkai.SOURCE if self.form == AHKAI else ("space", "embedder", "dimensions", "count")
        source: dict[str, Json] = dict(zip(names, (self.store.space, bound, dimensions, total), strict=True))
        return {
            "format": self.form,
            "version": VERSIONS[self.form],
            "exported_at": iso(self.store.now()),
            "source": source,
            "options": self.choice.told(),
        }

    def with_vectors(self, page: list[Memory]) -> Iterable[tuple[Memory, Vectors | None]]:
        """A memory that was edited between the reading of its text and of its vectors goes without them."""
        if not self.choice.vectors:
            return ((memory, None) for memory in page)
        ids = [memory.id for memory in page]
        vectors = self.store.vectors(ids)
        now = {memory.id: memory for memory in self.store.get_many(ids)}
        return (
            (
                memory,
                vectors.get(memory.id) if memory.id in now and same_derived_input(memory, now[memory.id]) else None,
            )
            for memory in page
        )

    def put(self, memory: Memory, vectors: Vectors | None) -> None:
        shown = self.store.shown(memory) if self.choice.redact else memory
        if shown != memory:
            self.redacted += 1
            vectors = None  # they tell of the words that were taken out
        self.spoken.note(shown)
        row = self.row(shown, vectors)
        self.writer.put(row, memory.id)
        self.count += 1

    def row(self, memory: Memory, vectors: Vectors | None) -> dict[str, Json]:
        if self.form == AHKAI:
            self.lossy += ahkai.loses(memory)
            row = ahkai.row(memory)
            # The first piece is what its model, which reads no further, would have read.
            return row if vectors is None else {**row, "vector": vectors[0].tolist()}
        told: dict[str, Json] = {"memory": memory.to_dict()}
        return told if vectors is None else {**told, "vectors": packed(vectors)}

    def put_words(self) -> None:
        for kind, name, data in self.told_words():
            self.writer.put({"word": {"kind": kind, "name": name, "data": dict(data)}}, name)
            self.words += 1

    def told_words(self) -> Iterator[tuple[str, str, dict[str, Json]]]:
        for kind, name, data in self.spoken.told(everything=not self.choice.narrowed):
            worded = Memory(id=name, text=name, metadata=data)
            shown = self.store.shown(worded) if self.choice.redact else worded
            if shown.text == name:  # a word whose name is a secret says nothing without it
                yield kind, name, dict(shown.metadata)

    def summary(self, path: Path | None, elapsed: float) -> ExportSummary:
        notes = []
        if self.redacted:
            notes.append(f"{self.redacted:,} were written without what looked like a secret, and without vectors.")
        if self.lossy:
            notes.append(
                f"{self.lossy:,} say more than an .ahkai file has a place for (titles, contexts, metadata, …); "
                "a .nacre file keeps all of it."
            )
        return ExportSummary(path, self.count, self.writer.bytes, elapsed, self.words, self.redacted, tuple(notes))
