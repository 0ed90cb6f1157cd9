"""An embedder that loads in the background: until it is there, nobody waits for it and everybody is told so."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from nacre.errors import EmbeddingError, ModelUnavailable
from nacre.ports import Embedder, Vectors

log = logging.getLogger("nacre")

PATIENCE = 600.0  # seconds until a load that failed is tried again: it may have been the network
REMEDY = "Ask again in a few seconds for an answer from meaning too."


class WarmingEmbedder:
    """`start` returns at once and may be called any number of times."""

    def __init__(self, inner: Embedder, clock: Callable[[], float] = time.monotonic) -> None:
        self._inner = inner
        self._clock = clock
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._failure: tuple[float, str] | None = None

    @property
    def identity(self) -> str:
        return self._inner.identity

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    @property
    def token_limit(self) -> int:
        return self._inner.token_limit

    @property
    def ready(self) -> bool:
        return self._inner.ready

    @property
    def failure(self) -> str:
        """Why it could not be loaded, if it could not."""
        return self._failure[1] if self._failure is not None else ""

    def start(self) -> None:
        with self._lock:
            if self._inner.ready or (self._thread is not None and self._thread.is_alive()) or self._refused():
                return
            self._thread = threading.Thread(target=self._load, name="nacre-model", daemon=True)
            self._thread.start()

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        if self._inner.ready:
            return self._inner.count_tokens(texts)
        from nacre.embedding.rows import estimate_tokens

        return estimate_tokens(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self._inner.ready:
            return self._inner.embed(texts)
        self.start()
        if self._failure is not None:
            raise EmbeddingError(self._failure[1])
        raise ModelUnavailable(self.identity, "it is still loading", REMEDY)

    def _refused(self) -> bool:
        return self._failure is not None and self._clock() - self._failure[0] < PATIENCE

    def _load(self) -> None:
        try:
            self._inner.embed(["."])
            self._failure = None
        except EmbeddingError as error:
            log.warning("The embedding model could not be loaded: %s", error)
            self._failure = (self._clock(), str(error))
