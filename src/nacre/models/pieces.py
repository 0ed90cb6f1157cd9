"""The multilingual model's pieces of words: their numbers, and their rows as codes, more of them for the common pieces.

A row is a direction and a length. The direction is cut into groups of equal width, and each group is a code of one byte
for one of 256 short vectors.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from nacre.protocols import Vectors

WIDTH = 512
CODES = 256
# Pieces are numbered from the commonest on: how many of them, and in how many groups. The first tier has 82 % of the
# tokens of ordinary notes and keeps 99 % of its values' variance, the second 13 % and 91 %, the last 5 % and 68 %.
TIERS = ((12_288, 256), (36_864, 128), (78_848, 64))
PIECES = sum(count for count, _ in TIERS)


class PieceTable:
    """Reads the file as it is used: nothing of it is copied into memory at the start."""

    def __init__(self, file: Path) -> None:
        raw = np.memmap(file, np.uint8, mode="r").view(np.ndarray)  # whose parts are made much faster
        self._tiers = []
        offset = 0
        for count, groups in TIERS:
            width = WIDTH // groups
            parts: list[NDArray[np.generic]] = []
            for kind, shape in (
                (np.uint8, (count, groups)),
                (np.float16, (groups, CODES, width)),
                (np.float16, (count,)),
            ):
                size = int(np.prod(shape)) * np.dtype(kind).itemsize
                parts.append(raw[offset : offset + size].view(kind).reshape(shape))
                offset += size
            codes, books, gains = parts
            book = books.astype(np.float32).reshape(groups * CODES, width)
            self._tiers.append((codes, book, np.arange(groups) * CODES, gains))

    def rows(self, ids: NDArray[np.int64]) -> Vectors:
        """For each id its row, in one more dimension."""
        flat = ids.ravel()
        rows = np.empty((len(flat), WIDTH), np.float32)
        first = 0
        for (codes, book, starts, gains), (count, _) in zip(self._tiers, TIERS, strict=True):
            here = np.flatnonzero((flat >= first) & (flat < first + count))
            if len(here):
                own = flat[here] - first
                places = np.add(codes[own], starts, dtype=np.intp)
                # Without a check of places that cannot be wrong, nor two indexes: either takes three times as long.
                made = book.take(places, axis=0, mode="clip").reshape(len(here), WIDTH)
                made *= gains[own].astype(np.float32)[:, None]
                rows[here] = made
            first += count
        return rows.reshape(*ids.shape, WIDTH)


NEWLINE = ord("\n")


class StoredPieces:
    """The number of each piece. A dictionary of all of them would take a command longer than all that it then asks of
    the model, and 20 MB.

    `lines` has a piece a line, by number; `order` what `sorted_checksums` gives for them.
    """

    def __init__(self, lines: bytes, order: NDArray[np.uint32]) -> None:
        self._lines = lines
        ends = np.flatnonzero(np.frombuffer(lines, np.uint8) == NEWLINE)
        starts = np.concatenate([[0], ends + 1])
        self._starts = starts.data
        self._checksums, self._numbers = order[0].data, order[1].data

    def get(self, piece: str, /) -> int | None:
        text = piece.encode("utf-8", "surrogatepass")
        checksum = crc32(text)
        place = bisect_left(self._checksums, checksum)
        while place < len(self._checksums) and self._checksums[place] == checksum:
            number: int = self._numbers[place]
            if self._lines[self._starts[number] : self._starts[number + 1] - 1] == text:
                return number
            place += 1
        return None

    def lengths(self) -> dict[str, int]:
        """By the first one or two characters of pieces: how long the longest piece is that begins so."""
        longest: dict[str, int] = {}
        for piece in self._lines.decode("utf-8").split("\n"):
            begins = piece[:2]
            if len(piece) > longest.get(begins, 0):
                longest[begins] = len(piece)
        return longest


def sorted_checksums(pieces: Iterable[str]) -> NDArray[np.uint32]:
    """Two rows: the checksums of the pieces, rising, and the number of the piece that each is of."""
    checksums = np.array([crc32(piece.encode("utf-8")) for piece in pieces], np.uint32)
    numbers = np.argsort(checksums, kind="stable")
    return np.stack([checksums[numbers], numbers.astype(np.uint32)])
