"""Embedders for tests: real ones that fit in a few lines, deterministic on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from nacre.engine.checked_embedder import PROBE
from nacre.errors import EmbeddingError
from nacre.protocols import Vectors
from nacre.text.tokens import words


class WordBag:
    """A bag of hashed words: texts that share words are near.

    Lists what it is asked to embed, except for the text that is embedded only to compare.
    """

    def __init__(self, dimensions: int = 64, *, token_limit: int = 64, identity: str = "") -> None:
        self.dimensions = dimensions
        self.token_limit = token_limit
        self.identity = identity or f"wordbag-{dimensions}"
        self.ready = True
        self.asked: list[str] = []

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked.extend(text for text in texts if text != PROBE)
        return np.stack([self._row(text) for text in texts] or [self._row("")])[: len(texts)]

    def _row(self, text: str) -> Vectors:
        row = np.full(self.dimensions, 1e-3, np.float32)
        for word in words(text):
            number = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "big")
            row[number % self.dimensions] += 1.0 if number >> 32 & 1 else -1.0
        length = float(np.linalg.norm(row))
        return row / np.float32(length)


class Moody(WordBag):
    """Answers only while `well`. Otherwise it is not ready either, so that no step in the background begins that might
    end when it is well again."""

    @property
    def well(self) -> bool:
        return self.ready

    @well.setter
    def well(self, well: bool) -> None:
        self.ready = well

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not self.well:
            raise EmbeddingError("The model is out today; try again tomorrow.")
        return super().embed(texts)
