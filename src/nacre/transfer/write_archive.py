"""Writes an archive line by line: packed, counted, with a checksum, and under its own name only when it is whole."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from nacre import files
from nacre.errors import ArchiveRefused, InvalidInput, StorageError
from nacre.model.memory import Json
from nacre.transfer.archive import LONGEST_LINE
from nacre.transfer.read_archive import Archive

GZIP = 31  # zlib's word for gzip's container, with its largest window
LEVEL = 3  # of compression: half as long as level 6, for a fiftieth more where most of it is vectors


class Writer:
    """`count` is of the rows after the header, `bytes` of what they take. What is not ended has no end: a reader sees
    that it broke off."""

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
                "take some of its ties or metadata away, or leave it out."
            )
        self._hash.update(line)
        self._write(self._packer.compress(line))
        self.count += 1

    def close(self) -> None:
        """The closing line: whatever is missing or changed before it shows."""
        self.put({"end": {"count": self.count, "sha256": self._hash.hexdigest()}})
        self.end()

    def end(self) -> None:
        self._write(self._packer.flush())

    def _write(self, packed: bytes) -> None:
        self._out.write(packed)
        self.bytes += len(packed)


@contextmanager
def replacing(path: Path, refuse: Callable[[Path], None] | None = None) -> Iterator[IO[bytes]]:
    """A file under another name, which takes the place of `path` when all went well. Raises `StorageError`.

    What is there already is replaced only when `refuse` lets it be, by default an archive: a slip must not cost a
    store.
    """
    (refuse or refuse_other)(path)
    try:
        with files.replacing(path) as file:
            yield file
    except StorageError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"Nothing can be written to {path} ({reason}); choose another place.") from error


def refuse_other(path: Path) -> None:
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        return
    try:
        if not path.is_file():  # a pipe, say, which would make us wait
            raise ArchiveRefused(path, "it is no file", "Choose another name.")
        Archive(path)
    except ArchiveRefused as error:
        raise InvalidInput(f"{path} is there already and is no archive; choose another name.") from error
