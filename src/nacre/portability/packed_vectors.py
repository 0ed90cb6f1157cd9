"""Vectors as an archive writes them, and the care with which they are read back."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from nacre.ports import Vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNIT = 0.05  # how far a row may be from unit length: sixteen bits round a little, and no more than that


def packed(vectors: Vectors) -> str:
    """Rows of 16-bit floats, little-endian, as base64; it is what a store keeps of them."""
    return base64.b64encode(vectors.astype("<f2").tobytes()).decode("ascii")


def unpacked(given: object, dimensions: int) -> Vectors | None:
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
