from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nacre.models import pieces
from nacre.models.pieces import PieceTable
from nacre.models.shipped import WEIGHTS


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PieceTable:
    """Three pieces in two groups and two in one, of width 4; the code of a group is its one number."""
    monkeypatch.setattr(pieces, "WIDTH", 4)
    monkeypatch.setattr(pieces, "TIERS", ((3, 2), (2, 1)))
    parts = []
    for codes, gains in (([[1, 2], [3, 4], [5, 6]], [1, 2, 0.5]), ([[7], [8]], [1, 10])):
        groups = len(codes[0])
        book = np.repeat(np.arange(256.0), 4 // groups).reshape(256, 4 // groups)
        parts += [np.array(codes, "u1"), np.stack([book] * groups).astype("<f2"), np.array(gains, "<f2")]
    (tmp_path / "pieces.bin").write_bytes(b"".join(part.tobytes() for part in parts))
    return PieceTable(tmp_path / "pieces.bin")


def test_a_row_is_what_its_codes_stand_for_times_its_length(table: PieceTable) -> None:
    rows = table.rows(np.array([[0, 1], [2, 4]]))
    assert rows.tolist() == [[[1, 1, 2, 2], [6, 6, 8, 8]], [[2.5, 2.5, 3, 3], [80, 80, 80, 80]]]


def test_shipped_rows_are_what_their_codes_stand_for_to_the_bit() -> None:
    file, offset, first = WEIGHTS / "pieces.bin", 0, 0
    table, raw = PieceTable(file), np.memmap(file, np.uint8, mode="r")
    for count, groups in pieces.TIERS:
        kinds = ("u1", (count, groups)), ("<f2", (groups, pieces.CODES, pieces.WIDTH // groups)), ("<f2", (count,))
        parts = []
        for kind, shape in kinds:
            size = int(np.prod(shape)) * np.dtype(kind).itemsize
            parts.append(raw[offset : offset + size].view(kind).reshape(shape))
            offset += size
        codes, books, gains = parts
        own = np.array([0, 1, count // 3, count - 1])
        expected = books.astype(np.float32)[np.arange(groups), codes[own]].reshape(len(own), pieces.WIDTH)
        expected *= gains[own].astype(np.float32)[:, None]
        assert table.rows(first + own).tobytes() == expected.tobytes()
        first += count


def test_the_shipped_tiers_hold_every_piece() -> None:
    assert pieces.PIECES == 128_000
