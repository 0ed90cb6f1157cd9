"""An embedder as one store uses it: checked against what filled the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nacre.errors import (
    EmbeddingError,
    EmbeddingMismatch,
)
from nacre.protocols import (
    HALF_BYTES,
    UPKEEP,
    Backend,
    Committed,
    Embedder,
    EmbedderBound,
    EmbedderIdentity,
    Expected,
    TermSet,
    Vectors,
)

# Any text will do that no two models place alike; changed, it would make every store refuse its own model.
PROBE = "The quick brown fox keeps 12 copper kettles in Lisbon."
SAME_VECTORS = 0.95  # cosine of one text's vectors: the default model keeps 0.99 when its weights are rounded to 8 bits
UNDER_WAY = "reindex"  # the maintenance term that exists while all memories get new vectors
RENEWAL = "renewal"  # in its data: nobody asked for it, and whoever has the store open does it
MODEL_CHANGED = (
    "Nacre's model has changed with an update. Memories are found by their words until all have new vectors "
    "(`nacre store reindex` makes them now)."
)


class CheckedEmbedder:  # not a `background.WrappedEmbedder`: importing that costs a command on a server's store time
    """An embedder as one store uses it.

    The first texts that it embeds are embedded together with a fixed one, whose vector is compared with that of the
    model that filled the store. Nothing is loaded, and no service is asked, only to compare.

    A store that was filled by a former version of a shipped embedder is `outdated`: until `renew` has let all its
    memories wait for new vectors, no text is embedded for it.
    """

    def __init__(self, wanted: Embedder, store: Backend, probe: bytes = b"") -> None:
        self.wanted = wanted
        self.inner = wanted  # or, where it follows the store, the one that filled that
        self.store = store
        self.probe = probe
        self.renewed_here = False  # by this process, which goes on until all memories have their new vectors
        self._stored: EmbedderIdentity | None = None  # as it was read last
        self._latest: tuple[Embedder, str, Vectors] | None = None  # a single text: a question to several spaces

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

    @property
    def waiting(self) -> bool:
        """Whether memories waited for their vectors when the store was last asked."""
        return self._stored is not None and self._stored.waiting

    @property
    def outdated(self) -> bool:
        """Whether a former version of this embedder had filled the store when that was last asked."""
        if self._stored is None or self._stored.name in ("", self.identity):
            return False
        from nacre.models.shipped_embedder import is_replaced  # needed for few stores

        return is_replaced(self._stored.name, self.identity)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self.inner.count_tokens(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Raises `EmbeddingMismatch`, and `EmbeddingError` for an outdated store, besides what the embedder itself
        raises."""
        if self.outdated:
            self._check_current()  # another thread or process may have renewed it
        if self.probe and len(texts) == 1:
            latest = self._latest
            if latest is None or latest[0] is not self.inner or latest[1] != texts[0]:
                latest = self._latest = (self.inner, texts[0], self.inner.embed(texts))
            return latest[2]
        if self.probe or not texts:
            return self.inner.embed(texts)
        rows = self.inner.embed([*texts, PROBE])
        self._keep(rows[-1])
        self._check_current()
        return rows[:-1]

    def _check_current(self) -> None:
        self.check()
        if self.outdated:
            raise EmbeddingError(MODEL_CHANGED)

    def measure(self) -> None:
        """Embeds the fixed text whatever the store was filled with."""
        self._keep(self.inner.embed([PROBE])[0])

    def current(self) -> EmbedderIdentity:
        """What is known of it without loading anything."""
        return EmbedderIdentity(self.identity, len(self.probe) // HALF_BYTES, self.probe)

    def check(self) -> EmbedderIdentity:
        """What the store is bound to; it may be outdated. Raises `EmbeddingMismatch`."""
        stored = self.store.embedder()
        self.check_bound(stored)
        return stored

    def check_bound(self, stored: EmbedderIdentity) -> None:
        """As `check`, with what was read just now."""
        if stored.name and stored.name != self.identity:  # perhaps another process has filled an empty store meanwhile
            self.follow_store(lambda: stored.name)
        self._stored = stored
        if not self.outdated:
            check_same(stored, self.current())

    def renew(self) -> bool:
        """As `check`; lets all memories of an outdated store wait for new vectors. Whether this call did that: another
        process may have been faster.

        Written to the store itself, whatever the caller may change there: as with other waiting memories, whose vectors
        belong to nobody.
        """
        stored = self.check()
        if not self.outdated:
            return False
        anew = EmbedderBound(EmbedderIdentity(self.identity, self.dimensions, self.probe), anew=True)
        under_way = TermSet(UPKEEP, UNDER_WAY, {"embedder": self.identity, RENEWAL: True})
        result = self.store.commit([anew, under_way], Expected(embedder=stored))
        self.check()
        done = isinstance(result, Committed)
        self.renewed_here |= done
        return done

    def follow_store(self, stored: Callable[[], str]) -> None:
        from nacre.models.background import embedder_of_store

        inner = embedder_of_store(self.wanted, stored)
        if inner is not self.inner:
            self.inner, self.probe = inner, b""

    def claim(self, expected: Expected) -> list[EmbedderBound]:
        """Binds the store to this vector space on first use; the vector of the fixed text may follow later.

        Raises `EmbeddingMismatch` where it is bound to another one.
        """
        actual = expected.known.embedder if expected.known is not None else None
        stored = self._stored = expected.embedder = actual or self._stored or self.store.embedder()
        claimed = EmbedderIdentity(self.identity, self.dimensions, self.probe, stored.measured)
        check_same(stored, claimed)
        return [EmbedderBound(claimed)] if not stored.name or (claimed.probe and not stored.probe) else []

    def _keep(self, row: Vectors) -> None:
        self.probe = row.astype("<f2").tobytes()


def checked(embedder: Embedder, store: Backend) -> CheckedEmbedder:
    if not isinstance(embedder, CheckedEmbedder):
        return CheckedEmbedder(embedder, store)
    if embedder.store is store:
        return embedder
    return CheckedEmbedder(embedder.wanted, store, embedder.probe if embedder.inner is embedder.wanted else b"")


def check_same(stored: EmbedderIdentity, current: EmbedderIdentity) -> None:
    """Raises `EmbeddingMismatch` unless both can be the same; what one of them does not know is not compared."""
    if not stored.name:
        return
    if stored.name != current.name:
        raise EmbeddingMismatch(stored.name, current.name)
    if stored.dimensions and current.dimensions and stored.dimensions != current.dimensions:
        difference = f", and has {current.dimensions} dimensions instead of {stored.dimensions}"
        raise EmbeddingMismatch(stored.name, current.name, difference)
    probes = stored.probe, current.probe
    if all(probes) and stored.probe != current.probe and not same_direction(*probes):
        raise EmbeddingMismatch(stored.name, current.name, ", and gives other vectors to the same text")


def same_direction(one: bytes, other: bytes) -> bool:
    import numpy as np

    if len(one) != len(other):
        return False  # a damaged one
    first, second = (np.frombuffer(each, "<f2").astype(np.float32) for each in (one, other))
    cosine = first @ second / max(float(np.linalg.norm(first) * np.linalg.norm(second)), 1e-9)
    return bool(cosine >= SAME_VECTORS)
