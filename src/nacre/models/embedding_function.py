"""Any function from texts to rows as an embedder."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from numpy.typing import ArrayLike

from nacre.errors import EmbeddingError
from nacre.models.vectors import estimate_tokens, unit_rows
from nacre.protocols import Vectors

DEFAULT_TOKEN_LIMIT = 256  # of the small models that people wrap; a larger one is named by its owner
PROBE = "How many dimensions?"


class FromCallable:
    """Calls are made one at a time: a function that was not written for several threads need not be."""

    ready = True

    def __init__(
        self,
        function: Callable[[Sequence[str]], ArrayLike],
        identity: str,
        dimensions: int | None = None,
        token_limit: int = DEFAULT_TOKEN_LIMIT,
    ) -> None:
        self.identity = identity
        self.token_limit = token_limit
        self._function = function
        self._dimensions = dimensions
        self._lock = threading.Lock()

    @property
    def dimensions(self) -> int:
        if self._dimensions is None:
            self._dimensions = int(self._rows([PROBE]).shape[1])
        return self._dimensions

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return estimate_tokens(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = self._rows(texts)
        if self._dimensions is None:
            self._dimensions = int(rows.shape[1])
        if rows.shape[1] != self.dimensions:
            raise EmbeddingError(
                f"The embedder {self.identity!r} gave rows of {rows.shape[1]} numbers instead of {self.dimensions}. "
                "Give each model an identity of its own, and its true number of dimensions."
            )
        return rows

    def _rows(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return unit_rows([[0.0] * self.dimensions], 1)[:0]
        with self._lock:
            given = self._function(texts)
        try:
            return unit_rows(given, len(texts))
        except (ValueError, TypeError) as error:
            raise EmbeddingError(
                f"The embedder {self.identity!r} gave no usable rows ({error}). "
                "Return one row of numbers for each text."
            ) from error
