"""Loads an embedder in the background, so that nobody waits for a model."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from nacre.errors import EmbeddingError, ModelUnavailable
from nacre.files import ThreadLock
from nacre.models.shipped_embedder import ShippedEmbedder
from nacre.protocols import Embedder, Vectors

log = logging.getLogger("nacre")

PATIENCE = 3.0  # seconds in which the first calls of a process wait for the shipped model, which loads in one
RETRY_SECONDS = 600.0  # after which a failed load is tried again: a service may have been away
REMEDY = "Ask again in a few seconds for an answer by meaning too."


def embedder_of_store(embedder: Embedder, stored: Callable[[], str]) -> Embedder:
    """The shipped one that filled the store, where the setting is auto; else the embedder itself. `stored` tells the
    identity of the one that filled it, empty for a new store."""
    if isinstance(embedder, BackgroundEmbedder | ShippedEmbedder) and embedder.follows_store:
        return embedder.following(stored())
    return embedder


class WrappedEmbedder:
    """An embedder around another one, whose vectors it gives."""

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner

    @property
    def identity(self) -> str:
        return self.inner.identity

    @property
    def dimensions(self) -> int:
        return self.inner.dimensions

    @property
    def token_limit(self) -> int:
        return self.inner.token_limit

    @property
    def ready(self) -> bool:
        return self.inner.ready


class WithoutAnswers(WrappedEmbedder):
    """For questions to a store of which some memories have no vectors yet: beside the others, these would seem to have
    nothing in common with any question. Loads the model all the same, because it is to embed what waits."""

    def __init__(self, inner: Embedder, reason: str) -> None:
        super().__init__(inner)
        self._reason = reason

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self.inner.count_tokens(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Raises `EmbeddingError`."""
        self.inner.embed(texts)
        raise EmbeddingError(self._reason)


class BackgroundEmbedder(WrappedEmbedder):
    """Until the model is loaded, `embed` raises at once: texts are stored and searched by their words, and get their
    vectors later.

    `load` is False for a process that ends soon: what is not loaded already is not loaded at all. With `patience`, the
    calls in so many seconds after the loading began wait for a shipped model.
    """

    def __init__(
        self,
        inner: Embedder,
        *,
        load: bool = True,
        patience: float = 0.0,
        on_failure: Callable[[str], None] = log.warning,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(inner)
        self._loads = load
        self.patience = patience
        self._began = 0.0  # to load, by the clock
        self._on_failure = on_failure
        self._clock = clock
        self._lock = ThreadLock()
        self._thread: threading.Thread | None = None
        self._failure: tuple[float, str] | None = None
        self._other: BackgroundEmbedder | None = None

    @property
    def follows_store(self) -> bool:
        return isinstance(self.inner, ShippedEmbedder) and self.inner.follows_store

    def following(self, stored: str) -> BackgroundEmbedder:
        """See `ShippedEmbedder.following`; all stores that were filled with the other one share it."""
        inner = self.inner.following(stored) if isinstance(self.inner, ShippedEmbedder) else self.inner
        if inner is self.inner:
            return self
        with self._lock:
            if self._other is None:
                self._other = BackgroundEmbedder(
                    inner, load=self._loads, patience=self.patience, on_failure=self._on_failure, clock=self._clock
                )
            return self._other

    def start(self) -> threading.Thread | None:
        """Begins to load and returns at once; the thread, or None where there is nothing to load now."""
        with self._lock:
            failed_recently = self._failure is not None and self._clock() - self._failure[0] < RETRY_SECONDS
            if self.inner.ready or failed_recently or not self._loads:
                return None
            if self._thread is None or not self._thread.is_alive():  # a forked child does not have the thread
                self._thread = threading.Thread(target=self._load, name="nacre-model", daemon=True)
                self._began = self._clock()
                self._thread.start()
            return self._thread

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """An estimate until the model is loaded."""
        if self.inner.ready:
            return self.inner.count_tokens(texts)
        from nacre.models.embedders import estimate_tokens

        return estimate_tokens(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Raises `EmbeddingError` where loading failed, and `ModelUnavailable` until it is done."""
        if self.wait():
            return self.inner.embed(texts)
        if self._failure is not None:
            raise EmbeddingError(self._failure[1])
        raise ModelUnavailable(self.identity, "it is not loaded yet", REMEDY)

    def wait(self) -> bool:
        """Begins to load, waits as long as it should, and says whether the model is ready."""
        loading = None if self.inner.ready else self.start()
        left = self._began + self.patience - self._clock()
        if loading is not None and left > 0 and isinstance(self.inner, ShippedEmbedder):
            loading.join(left)
        return self.inner.ready

    def _load(self) -> None:
        failure = None
        try:
            self.inner.embed(["."])
        except EmbeddingError as error:
            failure = (self._clock(), str(error))
            self._on_failure(f"The embedding model could not be loaded: {error}")
        with self._lock:
            self._failure, self._thread = failure, None
