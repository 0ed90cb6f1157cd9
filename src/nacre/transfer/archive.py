"""What an archive is: its header, its limits, and what is said of one that was written, read or looked into."""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from nacre.errors import ArchiveRefused
from nacre.files import open_regular
from nacre.model.memory import Json
from nacre.protocols import Progress, Vectors

if TYPE_CHECKING:
    import numpy as np
    from _typeshed import WriteableBuffer
    from numpy.typing import NDArray

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
MOST_TERMS = 200_000  # words of the vocabulary, which are held together
LARGEST_VOCABULARY = 32 * MEBIBYTE  # and what is told of them all
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


MAGIC = b"\x1f\x8b"
BUFFER = 1 << 16
BLOCK = 1 << 20  # bytes unpacked at once, where they are only counted
PROGRESS_EVERY = 500  # lines
AGAIN = "Export it again, or take another copy."
DAMAGE = (EOFError, zlib.error)
GZIP = 31  # zlib's word for gzip's container


class Lines:
    """The lines of a file with their numbers; `digest` is of all that were read before the last one."""

    def __init__(self, path: Path, progress: Progress | None = None) -> None:
        self.path = path
        self.unpacked = 0
        self._progress = progress
        self._hash = hashlib.sha256()
        self.digest = self._hash.hexdigest()

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
            self.digest = self._hash.hexdigest()
            self._hash.update(line)
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
    """Unpacks a packed file once without reading it: one that was made to harm is refused in seconds, where reading
    its lines would take minutes. Raises `ArchiveRefused`."""
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
        return  # reading its lines says what is wrong, and keeps what stands before the damage


def most_bytes(size: int) -> int:
    """How many bytes a packed file of this size may hold."""
    return min(LARGEST, max(HARMLESS, MOST_EXPANSION * size))


class Unpacked(io.RawIOBase):
    """What a packed file holds, up to the place where it is damaged or ends too early; the standard reader would not
    give out the last of it."""

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
            found = self._packer.decompress(self._waiting, len(room))
            self._waiting = self._packer.unconsumed_tail
            if found:
                room[: len(found)] = found
                return len(found)
            if not self._packer.eof and not self._waiting:
                self._waiting = self._raw.read(BUFFER)
                if not self._waiting:
                    raise EOFError("it ends too early")


UNIT = 0.05  # how far a row may be from unit length: sixteen bits round a little, and no more than that


def pack_vectors(vectors: Vectors) -> str:
    """Rows of 16-bit floats, little-endian, as base64; it is what a store keeps of them."""
    return base64.b64encode(vectors.astype("<f2").tobytes()).decode("ascii")


def unpack_vectors(given: object, dimensions: int) -> Vectors | None:
    """Rows of unit length, or None where there are none that could be trusted."""
    import numpy as np

    flat = from_text(given) if isinstance(given, str) else from_list(given)
    if flat is None or not len(flat) or dimensions < 1 or len(flat) % dimensions:
        return None
    rows = flat.reshape(-1, dimensions)
    with np.errstate(all="ignore"):  # what is too large or no number is nowhere near 1
        lengths = np.linalg.norm(rows, axis=1)
    return rows if bool(np.all(np.abs(lengths - 1) < UNIT)) else None


def from_text(given: str) -> NDArray[np.float32] | None:
    import numpy as np

    try:
        raw = base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        return None
    return None if len(raw) % 2 else np.frombuffer(raw, "<f2").astype(np.float32)


def from_list(given: object) -> NDArray[np.float32] | None:
    import numpy as np

    if not isinstance(given, list) or not all(isinstance(each, int | float) for each in given):
        return None
    try:
        with np.errstate(all="ignore"):
            return np.array(given, np.float64).astype(np.float32)
    except OverflowError:  # a whole number of more digits than any float has
        return None
