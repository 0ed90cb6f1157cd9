"""Notices when an embedder gives other vectors than those that a store was filled with."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.protocols import Backend, Embedder, EmbedderIdentity, Vectors

# Any text will do that no two models place alike; changed, it would make every store refuse its own model.
PROBE = "The quick brown fox keeps 12 copper kettles in Lisbon."
HALF_BYTES = 2


class CheckedEmbedder:
    """An embedder as one store uses it.

    The first texts that it embeds are embedded together with a fixed one, whose vector is compared with that of the
    model that filled the store. Nothing is loaded, and no service is asked, only to compare.
    """

    def __init__(self, inner: Embedder, store: Backend, probe: bytes = b"") -> None:
        self.inner = inner
        self.store = store
        self.probe = probe

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
        return self.inner.count_tokens(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Raises `EmbeddingMismatch`, besides what the embedder itself raises."""
        if self.probe or not texts:
            return self.inner.embed(texts)
        rows = self.inner.embed([*texts, PROBE])
        self._keep(rows[-1])
        self.check()
        return rows[:-1]

    def measure(self) -> None:
        """Embeds the fixed text whatever the store was filled with."""
        self._keep(self.inner.embed([PROBE])[0])

    def current(self) -> EmbedderIdentity:
        """What is known of it without loading anything."""
        return EmbedderIdentity(self.identity, len(self.probe) // HALF_BYTES, self.probe)

    def check(self) -> None:
        """Raises `EmbeddingMismatch`."""
        self.store.embedder().check(self.current())

    def _keep(self, row: Vectors) -> None:
        self.probe = row.astype("<f2").tobytes()


def checked(embedder: Embedder, store: Backend) -> CheckedEmbedder:
    if not isinstance(embedder, CheckedEmbedder):
        return CheckedEmbedder(embedder, store)
    return embedder if embedder.store is store else CheckedEmbedder(embedder.inner, store, embedder.probe)
