"""Opens the store for the MCP server when it is first needed, with an embedder that loads in the background."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from nacre.errors import NacreError
from nacre.files import ThreadLock
from nacre.models.background import PATIENCE, BackgroundEmbedder
from nacre.settings import DEFAULT, Settings, SpaceChoice

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore
    from nacre.project_store import Choose
    from nacre.protocols import Embedder

log = logging.getLogger("nacre")

ACTOR = "mcp"
NAME_BREAKS = re.compile(r"[^\w.@+-]+")
LONGEST_NAME = 40  # characters of a client's name in the journal; the client chooses it
PREPARE_DELAY = 0.05  # seconds: the answer to the first request must not share the interpreter with large imports


def open_store(settings: Settings, choose: Choose | None = None) -> MemoryStore:
    """What one client works with. `choose` is the rule for the space; without it, the settings name one."""
    from nacre.factory import is_server
    from nacre.project_store import ProjectStore

    named = SpaceChoice(settings.space or DEFAULT, "", named=bool(settings.space))
    choose = choose or (lambda _known: named)
    if is_server(settings.store):
        from nacre.client import RemoteProjectStore

        return RemoteProjectStore.open(settings, choose, actor=ACTOR)
    return ProjectStore.open(settings, choose, actor=ACTOR, embedder=loading_embedder(settings))


def loading_embedder(settings: Settings) -> Embedder:
    """One that is not ready yet loads in the background."""
    from nacre.factory import make_embedder

    embedder = make_embedder(settings)
    return embedder if embedder.ready else BackgroundEmbedder(embedder, patience=PATIENCE)


class StoreProvider:
    """Opens the store once. Safe to use from any number of threads."""

    def __init__(self, settings: Settings, open: Callable[[Settings], MemoryStore] = open_store) -> None:
        self.settings = settings
        self._open = open
        self._lock = ThreadLock()
        self._opened: MemoryStore | None = None
        self._preparing: threading.Timer | None = None
        self._closed = False
        self.embedder: BackgroundEmbedder | None = None
        self.batches: set[str] | None = None  # what its client has done, where it serves one alone

    def store(self, client: str = "") -> MemoryStore:
        return self.opened().as_actor(actor_of(client))

    def opened(self) -> MemoryStore:
        """The store itself, whoever asks. Raises what opening a store raises, and tries again at the next call."""
        with self._lock:
            return self._open_once()

    def prepare(self) -> None:
        """Opens the store and loads the model in the background, once: a client has connected."""
        if self._preparing is not None:
            return
        self._preparing = threading.Timer(PREPARE_DELAY, self._prepare)
        self._preparing.daemon = True
        self._preparing.start()

    def written(self) -> None:
        """To be called after a write: makes the automatic copy of the store where one is due. Never raises."""
        with self._lock:
            opened = self._opened
        if opened is not None:
            from nacre.lifecycle.automatic_backup import start_if_due

            start_if_due(opened, self.settings)

    def close(self) -> None:
        """Nothing is opened in the background after it."""
        with self._lock:
            self._closed = True
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _prepare(self) -> None:
        try:
            with self._lock:
                if not self._closed:
                    self._open_once()
        except NacreError as error:
            log.warning("The store could not be opened yet: %s", error)  # the first call says it to the client

    def _open_once(self) -> MemoryStore:
        if self._opened is None:
            from nacre.factory import is_server

            self._opened = self._open(self.settings)
            # Where the setting is auto, the embedder is the one that filled the store. A server has its own.
            own = None if is_server(self.settings.store) else self._opened.embedder
            self.embedder = own if isinstance(own, BackgroundEmbedder) else None
        if self.embedder is not None:
            self.embedder.start()
        return self._opened


def actor_of(client: str) -> str:
    name = NAME_BREAKS.sub("-", client)[:LONGEST_NAME].strip("-")
    return f"{ACTOR}:{name}" if name else ACTOR
