"""What an archive is: its header, its limits, and what is said of one that was written, read or looked into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nacre.model.memory import Json

NACRE, AHKAI = "nacre/archive", "ai-houkai/export"
VERSIONS = {NACRE: 1, AHKAI: 1}  # the newest of each that this program reads
SUFFIXES = {".ahkai": AHKAI}  # any other name gets our own form
MEBIBYTE = 1 << 20
# A memory of a million characters, its notes, its ties and a thousand vectors take some 20 MiB.
LONGEST_LINE = 64 * MEBIBYTE
# Sentences shrink to a third and base64 to three quarters; a thousandfold is what a bomb does. A file of equal lines
# may shrink a lot and still be small, and harms nobody.
MOST_EXPANSION = 200
HARMLESS = 256 * MEBIBYTE
LARGEST = 64 << 30  # bytes unpacked: some thirty million memories with their vectors
MOST_ROWS = 10_000_000  # each costs some 70 bytes while it is being read
MOST_WORDS = 200_000  # words of the vocabulary, which are held together
LARGEST_WORDS = 32 * MEBIBYTE  # and what is told of them all
MOST_TYPES = 1_000  # among them; each row's is looked for in all of these
MOST_NAMED = 100  # faults that are told one by one; of the others only the number


@dataclass(frozen=True, slots=True)
class Header:
    form: str
    version: int
    exported_at: str
    space: str
    embedder: str
    dimensions: int
    count: int  # as it stood when the export began; the closing line has the true one
    options: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fault:
    """A line that was passed over, and why."""

    line: int
    why: str


@dataclass(frozen=True, slots=True)
class ExportSummary:
    """`elapsed` is in seconds; `path` is None for a stream; `redacted` memories left without their secrets."""

    path: Path | None
    count: int
    bytes: int
    elapsed: float
    words: int = 0
    redacted: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """Of a dry run, what would be. `errors` counts lines that were passed over, `faults` names the first of them;
    `batch` is what `undo` takes it back by, empty where nothing changed."""

    imported: int = 0
    skipped: int = 0
    overwritten: int = 0
    renamed: int = 0
    errors: int = 0
    vectors_regenerated: int = 0
    words: int = 0
    notes: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    batch: str = ""


@dataclass(frozen=True, slots=True)
class ArchiveInfo:
    """`problem` says what is wrong with a file that is not `whole`; the counts are then of what could be read."""

    path: Path
    header: Header
    count: int
    types: Mapping[str, int]
    vectors: int
    words: int
    errors: int
    bytes: int
    unpacked: int
    problem: str = ""

    @property
    def whole(self) -> bool:
        return not self.problem
