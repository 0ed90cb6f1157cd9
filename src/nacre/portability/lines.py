"""Reads a file line by line that may be packed, and may have been made to harm: nothing in it can take all memory."""

from __future__ import annotations

import hashlib
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from nacre.errors import ArchiveRefused
from nacre.files import open_regular
from nacre.portability.archive import HARMLESS, LARGEST, LONGEST_LINE, MOST_EXPANSION, MOST_ROWS
from nacre.ports import Progress

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAGIC = b"\x1f\x8b"
BUFFER = 1 << 16
BLOCK = 1 << 20  # bytes unpacked at once, where they are only counted
TOLD_EVERY = 500  # lines
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
        most = limit(size)
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
            if self._progress is not None and number % TOLD_EVERY == 0:
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
            most = limit(raw.seek(0, io.SEEK_END))
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


def limit(size: int) -> int:
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
