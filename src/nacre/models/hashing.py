"""Directions without a model: words and letter triples hashed to signs; for tests and emergencies."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from nacre.models.vectors import estimate_tokens
from nacre.protocols import Vectors

DIMENSIONS = 384
WORD = re.compile(r"\w+")
WORD_WEIGHT = 2
TRIPLE_WEIGHT = 1  # a typo changes three triples of a word and keeps the rest, so its row stays near
UNLIMITED = 1_000_000
CACHED_FEATURES = 20_000  # 48 bytes of signs each, spread to 384


class Hashing:
    """Dense on purpose: every feature moves every dimension, so the signs of a row tell texts apart.

    Sums are whole numbers, so rows are equal to the bit in every process and on every platform.
    """

    identity = f"hashing-{DIMENSIONS}"
    dimensions = DIMENSIONS
    token_limit = UNLIMITED
    ready = True

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return estimate_tokens(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for position, text in enumerate(texts):
            rows[position] = _row(text)
        return rows


def _row(text: str) -> Vectors:
    total = np.zeros(DIMENSIONS, dtype=np.int64)
    for feature, weight in _features(text).items():
        total += np.int64(weight) * _signs(feature)  # a weight past 127 must not be squeezed into the signs' int8
    length = math.sqrt(int(total @ total))
    if length == 0:
        total, length = _signs("").astype(np.int64), math.sqrt(DIMENSIONS)
    return (total / length).astype(np.float32)


def _features(text: str) -> Counter[str]:
    features: Counter[str] = Counter()
    for word in WORD.findall(text.lower()):
        features[word] += WORD_WEIGHT
        marked = f"<{word}>"
        for start in range(len(marked) - 2):
            # The bar keeps a triple apart from a word of the same three letters.
            features[f"|{marked[start : start + 3]}"] += TRIPLE_WEIGHT
    return features


@lru_cache(maxsize=CACHED_FEATURES)
def _signs(feature: str) -> NDArray[np.int8]:
    bits = hashlib.shake_256(feature.encode("utf-8", "surrogatepass")).digest(DIMENSIONS // 8)
    return np.unpackbits(np.frombuffer(bits, dtype=np.uint8)).astype(np.int8) * 2 - 1
