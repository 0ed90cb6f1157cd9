"""Opens the store when it is first needed, or in the background once a client is greeted, and hands it to visits."""

from __future__ import annotations

import logging
import re
import threading
from typing import TYPE_CHECKING

from nacre.errors import NacreError

if TYPE_CHECKING:
    from nacre.config import Settings
    from nacre.mcp.warming import WarmingEmbedder
    from nacre.store import MemoryStore

log = logging.getLogger("nacre")

ACTOR = "mcp"
UNNAMED = re.compile(r"[^\w.@+-]+")
LONGEST_NAME = 40  # characters of a client's name in the journal; it is the client's own word
GREETING = 0.05  # seconds: the answer to the first request must not share the interpreter with large imports


class Desk:
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
        return opened.signed(actor_of(client))

    def greet(self) -> None:
        """A client is here: opens the store and loads the model behind its back, once."""
        if self._greeted:
            return
        self._greeted = True
        timer = threading.Timer(GREETING, self._prepare)
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
        from nacre.mcp.warming import WarmingEmbedder
        from nacre.store import MemoryStore
        from nacre.wiring import make_embedder

        embedder = make_embedder(self.settings)
        if embedder.ready:
            return MemoryStore(settings=self.settings, embedder=embedder, actor=ACTOR)
        self.embedder = WarmingEmbedder(embedder)
        return MemoryStore(settings=self.settings, embedder=self.embedder, actor=ACTOR)


def actor_of(client: str) -> str:
    name = UNNAMED.sub("-", client)[:LONGEST_NAME].strip("-")
    return f"{ACTOR}:{name}" if name else ACTOR
