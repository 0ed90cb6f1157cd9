"""How many runs of a model may go on at once."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from nacre.protocols import Vectors


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # a container is often given fewer than the machine has
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


WORDS_TO_TOKENS = 1.5  # English prose takes 1.3 pieces a word, identifiers and other languages more
CHARACTERS_A_TOKEN = 4


def unit_rows(values: ArrayLike, count: int) -> Vectors:
    """Raises ValueError, saying what is wrong, unless `values` are `count` rows of finite numbers."""
    rows = np.array(values, dtype=np.float32)
    if rows.shape[:1] != (count,) or rows.ndim != 2 or not rows.shape[1]:
        raise ValueError(f"{count} rows were expected, and the answer has the shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError("a row holds a number that is not finite")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    # A row of zeros has no direction; the first axis stands in, so that the row is still one of unit length.
    rows[lengths[:, 0] == 0, 0] = 1
    return np.asarray(rows / np.where(lengths == 0, 1, lengths), dtype=np.float32)


def estimate_tokens(texts: Sequence[str]) -> list[int]:
    """For an embedder whose tokenizer is out of reach; leans to the high side."""
    return [max(round(len(text.split()) * WORDS_TO_TOKENS), len(text) // CHARACTERS_A_TOKEN) for text in texts]
