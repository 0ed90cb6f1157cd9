"""The archive format: header, limits, line reader, packed vectors, and the summaries of an export or import."""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from nacre.errors import ArchiveRefused
from nacre.files import open_regular
from nacre.model.memory import Json
from nacre.protocols import Progress, Vectors

if TYPE_CHECKING:
    import numpy as np
    from _typeshed import WriteableBuffer
    from numpy.typing import NDArray

ARCHIVE = "archive"  # the name of the format, beside csv and others
NACRE, AHKAI = "nacre/archive", "ai-houkai/export"
VERSIONS = {NACRE: 1, AHKAI: 1}  # the newest of each that this program reads
SUFFIXES = {".ahkai": AHKAI}  # any other name gets our own format
MEBIBYTE = 1 << 20
# A memory of a million characters, its metadata, its links and a thousand vectors take some 20 MiB.
LONGEST_LINE = 64 * MEBIBYTE
# Text compresses to a third and base64 to three quarters; a decompression bomb reaches a thousandfold. A small file of
# equal lines may compress as well as that, and does no harm.
MOST_EXPANSION = 200
HARMLESS = 256 * MEBIBYTE
LARGEST = 64 << 30  # bytes unpacked: some thirty million memories with their vectors
MOST_ROWS = 10_000_000  # each costs some 70 bytes while it is being read
MOST_TERMS = 200_000  # terms of the vocabulary, which are held in memory
LARGEST_VOCABULARY = 32 * MEBIBYTE  # and the characters of them all
MOST_TYPES = 1_000  # among them; the type of each row is looked up in these
MOST_NAMED = 100  # faults that are listed; the others are only counted


@dataclass(frozen=True, slots=True)
class Header:
    form: str
    version: int
    exported_at: str = ""
    space: str = ""
    embedder: str = ""
    dimensions: int = 0
    count: int = 0  # when the export began; the closing line has the final count
    options: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fault:
    """A line that was skipped, and why."""

    line: int
    why: str


@dataclass(frozen=True, slots=True)
class ExportSummary:
    """`elapsed` is in seconds; `path` is None for a stream; `redacted` counts memories without their secrets."""

    path: Path | None
    count: int
    bytes: int
    elapsed: float
    terms: int = 0
    redacted: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """For a dry run, what would happen. `errors` counts skipped lines, `faults` lists the first of them; `batch` is the
    operation that `undo` takes, empty when nothing changed. Of the `skipped`, `different` have an id that is here with
    another text or title, or without other fields that the file has; the others are known."""

    imported: int = 0
    skipped: int = 0
    different: int = 0
    overwritten: int = 0
    renamed: int = 0
    errors: int = 0
    vectors_regenerated: int = 0
    terms: int = 0
    notes: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    batch: str = ""


@dataclass(frozen=True, slots=True)
class ArchiveInfo:
    """`problem` says what is wrong with a damaged file; the counts then cover what could be read."""

    path: Path
    header: Header
    count: int
    types: Mapping[str, int]
    vectors: int
    terms: int
    errors: int
    bytes: int
    unpacked: int
    problem: str = ""

    @property
    def intact(self) -> bool:
        return not self.problem


MAGIC = b"\x1f\x8b"
BUFFER = 1 << 16
BLOCK = 1 << 20  # bytes unpacked at once, where they are only counted
PROGRESS_EVERY = 500  # lines
AGAIN = "Export it again, or take another copy."
DAMAGE = (EOFError, zlib.error)
GZIP = 31  # zlib's code for the gzip container


class Lines:
    """The lines of a file with their numbers."""

    def __init__(self, path: Path, progress: Progress | None = None) -> None:
        self.path = path
        self.unpacked = 0
        self._progress = progress
        self._before, self._last = hashlib.sha256(), b""

    @property
    def digest(self) -> str:
        """Of all lines before the last one that was read."""
        return self._before.hexdigest()

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        try:
            with open_regular(self.path) as raw:
                yield from self._read(raw)
        except DAMAGE as error:
            raise ArchiveRefused(self.path, f"it is damaged or cut short ({error})", AGAIN) from error
        except ArchiveRefused:
            raise
        except OSError as error:
            reason = f"it cannot be read ({error.strerror or error})"
            raise ArchiveRefused(self.path, reason, "Check the path and its permissions.") from error

    def _read(self, raw: IO[bytes]) -> Iterator[tuple[int, bytes]]:
        packed = raw.read(len(MAGIC)) == MAGIC
        size = raw.seek(0, io.SEEK_END)
        raw.seek(0)
        most = most_bytes(size)
        plain = io.BufferedReader(Unpacked(raw), BUFFER) if packed else raw
        number = 0
        while line := plain.readline(LONGEST_LINE + 1):
            number += 1
            self.unpacked += len(line)
            if len(line) > LONGEST_LINE:
                raise self._beyond(f"its line {number:,} has more than {LONGEST_LINE:,} bytes")
            self.bound(number, most)
            self._before.update(self._last)
            self._last = line
            yield number, line
            if self._progress is not None and number % PROGRESS_EVERY == 0:
                self._progress(min(raw.tell(), size), size, "checking the archive")

    def bound(self, number: int, most: int) -> None:
        if self.unpacked > most:
            raise self._beyond(f"it unpacks to more than {most:,} bytes, which no archive of its size does")
        if number > MOST_ROWS:
            raise self._beyond(f"it has more than {MOST_ROWS:,} lines")

    def _beyond(self, reason: str) -> ArchiveRefused:
        return ArchiveRefused(self.path, reason, "Export it in parts, or do not trust it.")


def check_size(path: Path) -> None:
    """Unpacks the file once without parsing it: a decompression bomb is refused in seconds, where reading its lines
    would take minutes. Raises `ArchiveRefused`."""
    lines = Lines(path)
    try:
        with open_regular(path) as raw:
            if raw.read(len(MAGIC)) != MAGIC:
                return
            most = most_bytes(raw.seek(0, io.SEEK_END))
            raw.seek(0)
            unpacked, ends = Unpacked(raw), 0
            block = bytearray(BLOCK)
            while size := unpacked.readinto(block):
                lines.unpacked += size
                ends += block.count(b"\n", 0, size)
                lines.bound(ends, most)
    except (*DAMAGE, OSError) as error:
        if isinstance(error, ArchiveRefused):
            raise
        return  # reading the lines reports it, and keeps what comes before the damage


def most_bytes(size: int) -> int:
    """How many bytes a packed file of this size may hold."""
    return min(LARGEST, max(HARMLESS, MOST_EXPANSION * size))


class Unpacked(io.RawIOBase):
    """The unpacked bytes of a file, up to where it is damaged or cut short; the standard reader would drop the
    last of them."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._packer = zlib.decompressobj(GZIP)
        self._waiting = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        room = memoryview(buffer)
        while True:
            if self._packer.eof:
                self._waiting = self._packer.unused_data or self._raw.read(BUFFER)
                if not self._waiting:
                    return 0
                self._packer = zlib.decompressobj(GZIP)  # one packed file may follow another
            data = self._packer.decompress(self._waiting, len(room))
            self._waiting = self._packer.unconsumed_tail
            if data:
                room[: len(data)] = data
                return len(data)
            if not self._packer.eof and not self._waiting:
                self._waiting = self._raw.read(BUFFER)
                if not self._waiting:
                    raise EOFError("it ends too early")


UNIT = 0.05  # how far a row may be from unit length: 16-bit rounding explains no more than that


def pack_vectors(vectors: Vectors) -> str:
    """Rows of 16-bit floats, little-endian, as base64, as precise as a store holds them."""
    return base64.b64encode(vectors.astype("<f2").tobytes()).decode("ascii")


def unpack_vectors(values: Sequence[object], dimensions: int) -> list[Vectors | None]:
    """Of each value its rows, of unit length; None when it is missing or wrong. Together, because numpy takes as long
    for one row as for a hundred."""
    import numpy as np

    flat = [from_text(value) if isinstance(value, str) else from_list(value) for value in values]
    fitting = [
        numbers if numbers is not None and dimensions >= 1 and len(numbers) and not len(numbers) % dimensions else None
        for numbers in flat
    ]
    known = [numbers for numbers in fitting if numbers is not None]
    if not known:
        return [None for _ in values]
    rows = np.concatenate(known).astype(np.float32, copy=False).reshape(-1, dimensions)
    with np.errstate(all="ignore"):  # infinities and NaN fail the check
        wrong = ~(np.abs(np.linalg.norm(rows, axis=1) - 1) < UNIT)
    unpacked: list[Vectors | None] = []
    start = 0
    for numbers in fitting:
        end = start + (0 if numbers is None else len(numbers) // dimensions)
        unpacked.append(None if numbers is None or wrong[start:end].any() else rows[start:end])
        start = end
    return unpacked


def from_text(text: str) -> NDArray[Any] | None:
    import numpy as np

    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return None if len(raw) % 2 else np.frombuffer(raw, "<f2")


def from_list(values: object) -> NDArray[np.float32] | None:
    import numpy as np

    try:
        array = np.array(values) if isinstance(values, list) else np.empty(0)
    except ValueError:  # lists of different lengths
        return None
    with np.errstate(all="ignore"):
        return array.astype(np.float32) if array.ndim == 1 and array.dtype.kind in "fi" else None
