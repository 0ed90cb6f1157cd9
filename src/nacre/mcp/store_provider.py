"""An embedder that loads in the background: until it is there, nobody waits for it and everybody is told so."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nacre.errors import EmbeddingError, ModelUnavailable, NacreError
from nacre.protocols import Embedder, Vectors

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore
    from nacre.settings import Settings

log = logging.getLogger("nacre")

RETRY_SECONDS = 600.0  # seconds until a load that failed is tried again: it may have been the network
LOADING_REMEDY = "Ask again in a few seconds for an answer from meaning too."


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
        from nacre.models.vectors import estimate_tokens

        return estimate_tokens(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self._inner.ready:
            return self._inner.embed(texts)
        self.start()
        if self._failure is not None:
            raise EmbeddingError(self._failure[1])
        raise ModelUnavailable(self.identity, "it is still loading", LOADING_REMEDY)

    def _refused(self) -> bool:
        return self._failure is not None and self._clock() - self._failure[0] < RETRY_SECONDS

    def _load(self) -> None:
        try:
            self._inner.embed(["."])
            self._failure = None
        except EmbeddingError as error:
            log.warning("The embedding model could not be loaded: %s", error)
            self._failure = (self._clock(), str(error))


ACTOR = "mcp"
NAME_BREAKS = re.compile(r"[^\w.@+-]+")
LONGEST_NAME = 40  # characters of a client's name in the journal; it is the client's own word
PREPARE_DELAY = 0.05  # seconds: the answer to the first request must not share the interpreter with large imports


class StoreProvider:
    """Safe to use from any number of threads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._opened: MemoryStore | None = None
        self._greeted = False
        self.embedder: WarmingEmbedder | None = None

    def store(self, client: str = "") -> MemoryStore:
        """Raises what opening a store raises, each time anew: what is wrong may have been mended since."""
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
            opened = self._opened
        if self.embedder is not None:
            self.embedder.start()
        return opened.as_actor(actor_of(client))

    def greet(self) -> None:
        """A client is here: opens the store and loads the model behind its back, once."""
        if self._greeted:
            return
        self._greeted = True
        timer = threading.Timer(PREPARE_DELAY, self._prepare)
        timer.daemon = True
        timer.start()

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _prepare(self) -> None:
        try:
            self.store()
        except NacreError as error:
            log.warning("The store could not be opened yet: %s", error)  # the first call says it to the client

    def _open(self) -> MemoryStore:
        from nacre.factory import make_embedder
        from nacre.memory_store import MemoryStore

        embedder = make_embedder(self.settings)
        if embedder.ready:
            return MemoryStore(settings=self.settings, embedder=embedder, actor=ACTOR)
        self.embedder = WarmingEmbedder(embedder)
        return MemoryStore(settings=self.settings, embedder=self.embedder, actor=ACTOR)


def actor_of(client: str) -> str:
    name = NAME_BREAKS.sub("-", client)[:LONGEST_NAME].strip("-")
    return f"{ACTOR}:{name}" if name else ACTOR
