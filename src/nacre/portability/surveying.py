"""Reads an archive through once before anything is written: it is whole, and its vocabulary and ids are known."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from nacre.errors import ArchiveRefused, ImportConflict, InvalidInput
from nacre.portability.archive import LARGEST_WORDS, MOST_NAMED, MOST_TYPES, MOST_WORDS
from nacre.portability.incoming import Counts, needs_ids, numbered
from nacre.portability.reading import MemoryRow, Source, WordRow
from nacre.portability.vocabulary import TYPE, Word, checked_word
from nacre.ports import Progress
from nacre.remember.guard import Guard
from nacre.store import MemoryStore

PAGE = 500  # ids that are looked up at once


class Survey(NamedTuple):
    """What the first reading found; it verified the file."""

    archive: Source
    ids: set[int]
    rows: int
    vectors: int
    words: list[Word]
    bad_words: Counts


def surveyed(
    store: MemoryStore, archive: Source, guard: Guard, policy: str, progress: Progress | None = None
) -> Survey:
    """Raises `ImportConflict` where the policy says so."""
    ids: set[int] = set()
    words, collisions = Words(store.space, guard, archive.path), Collisions(store)
    wanted = needs_ids(policy, strict=store.settings.strict_links)
    rows = vectors = 0
    for row in archive.rows(progress):
        if isinstance(row, MemoryRow):
            rows += 1
            vectors += row.vectors is not None
            id = row.fields.get("id")
            if isinstance(id, str) and wanted:
                ids.add(numbered(id.strip()))
            if isinstance(id, str) and policy == "error":
                collisions.look(id.strip())
        elif isinstance(row, WordRow):
            words.take(row)
    collisions.refuse()
    return Survey(archive, ids, rows, vectors, words.taken, words.bad)


@dataclass(slots=True)
class Words:
    """The archive's vocabulary, which is held together, and is bounded for that."""

    space: str
    guard: Guard
    path: Path
    taken: list[Word] = field(default_factory=list)
    bad: Counts = field(default_factory=Counts)
    size: int = 0
    types: int = 0

    def take(self, row: WordRow) -> None:
        try:
            word = checked_word(row, self.space, self.guard)
        except InvalidInput as error:
            self.bad.fault(row.line, str(error))
            return
        self.taken.append(word)
        self.types += word.kind == TYPE
        self.size += len(word.name) + len(str(word.data))
        for count, most, what in (
            (len(self.taken), MOST_WORDS, "words"),
            (self.types, MOST_TYPES, "types"),
            (self.size, LARGEST_WORDS, "characters in its words"),
        ):
            if count > most:
                raise ArchiveRefused(self.path, f"it has more than {most:,} {what}", "Do not trust it.")


@dataclass(slots=True)
class Collisions:
    store: MemoryStore
    count: int = 0
    named: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)

    def look(self, id: str) -> None:
        self.waiting.append(id)
        if len(self.waiting) >= PAGE:
            self._ask()

    def refuse(self) -> None:
        self._ask()
        if self.count:
            raise ImportConflict(self.named, self.count)

    def _ask(self) -> None:
        found = self.store.get_many(self.waiting)
        self.count += len(found)
        self.named += [memory.id for memory in found[: MOST_NAMED - len(self.named)]]
        self.waiting.clear()
