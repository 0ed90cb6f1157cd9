"""An embedder that answers only where it need not load anything first: a client does not wait for a model."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from nacre.errors import EmbeddingError, ModelUnavailable
from nacre.ports import Embedder, Vectors


class WhenReady:
    """Until then texts are kept and found by their words, and get their vectors later."""

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

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        self._check()
        return self.inner.count_tokens(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        self._check()
        return self.inner.embed(texts)

    def _check(self) -> None:
        if not self.inner.ready:
            raise ModelUnavailable(self.identity, "it is not loaded yet", "Ask again in a moment.")

    def load_in_background(self) -> threading.Thread | None:
        """Loads what is here already; nothing is downloaded that nobody asked for."""
        if self.inner.ready or not installed(self.inner):
            return None
        loading = threading.Thread(target=self._load, name="load the model", daemon=True)
        loading.start()
        return loading

    def _load(self) -> None:
        from nacre.hooks.places import note

        try:
            self.inner.embed(["a first text, which loads the model"])
        except EmbeddingError as error:
            note("helper", str(error))


def installed(embedder: Embedder) -> bool:
    from nacre.embedding.minilm import MiniLM, provision

    return not isinstance(embedder, MiniLM) or provision.status().installed
