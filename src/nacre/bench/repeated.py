"""Embeds each distinct text once a run, however many stores of a benchmark hold it."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.ports import Embedder, Vectors


class EmbeddedOnce:
    """A text that comes alone is a question: it is embedded anew each time, so that the time of a recall is true.

    `asked` and `embedded` count the other texts: all of them, and those that had not come before.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._rows: dict[str, Vectors] = {}
        self._tokens: dict[str, int] = {}
        self.asked = 0
        self.embedded = 0

    @property
    def identity(self) -> str:
        return self._embedder.identity

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    @property
    def token_limit(self) -> int:
        return self._embedder.token_limit

    @property
    def ready(self) -> bool:
        return self._embedder.ready

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        new = [text for text in dict.fromkeys(texts) if text not in self._tokens]
        if new:
            self._tokens |= zip(new, self._embedder.count_tokens(new), strict=True)
        return [self._tokens[text] for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        if len(texts) <= 1:
            return self._embedder.embed(texts)
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if new:
            self._rows |= zip(new, self._embedder.embed(new), strict=True)
        self.asked += len(texts)
        self.embedded += len(new)
        return np.stack([self._rows[text] for text in texts])
