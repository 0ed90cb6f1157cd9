"""The multilingual model's table of pieces of words: codes instead of numbers, more of them for the common pieces.

A row is a direction and a length. The direction is cut into groups of equal width, and each group is a code of one byte
for one of 256 short vectors.
"""

from __future__ import annotations

from pathlib import Path

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
        raw = np.memmap(file, np.uint8, mode="r")
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
            self._tiers.append((codes, books.astype(np.float32), np.arange(groups), gains))

    def rows(self, ids: NDArray[np.int64]) -> Vectors:
        """For each id its row, in one more dimension."""
        flat = ids.ravel()
        rows = np.empty((len(flat), WIDTH), np.float32)
        first = 0
        for (codes, books, groups, gains), (count, _) in zip(self._tiers, TIERS, strict=True):
            here = np.flatnonzero((flat >= first) & (flat < first + count))
            if len(here):
                own = flat[here] - first
                rows[here] = books[groups, codes[own]].reshape(len(here), WIDTH)
                rows[here] *= gains[own].astype(np.float32)[:, None]
            first += count
        return rows.reshape(*ids.shape, WIDTH)
