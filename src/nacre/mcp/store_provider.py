"""Opens the store for the MCP server when it is first needed, with an embedder that loads in the background."""

from __future__ import annotations

import logging
import re
import threading
from typing import TYPE_CHECKING

from nacre.errors import NacreError
from nacre.files import ThreadLock
from nacre.models.background import PATIENCE, BackgroundEmbedder
from nacre.settings import DEFAULT, Settings, SpaceChoice

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore
    from nacre.project_store import Choose

log = logging.getLogger("nacre")

ACTOR = "mcp"
NAME_BREAKS = re.compile(r"[^\w.@+-]+")
LONGEST_NAME = 40  # characters of a client's name in the journal; the client chooses it
PREPARE_DELAY = 0.05  # seconds: the answer to the first request must not share the interpreter with large imports


class StoreProvider:
    """Opens the store once. Safe to use from any number of threads."""

    def __init__(self, settings: Settings, choose: Choose | None = None) -> None:
        """`choose` is the rule for the space; without it, the settings name one."""
        self.settings = settings
        self._choose = choose
        self._lock = ThreadLock()
        self._opened: MemoryStore | None = None
        self._preparing: threading.Timer | None = None
        self._closed = False
        self.embedder: BackgroundEmbedder | None = None

    def store(self, client: str = "") -> MemoryStore:
        """Raises what opening a store raises, and tries again at the next call."""
        with self._lock:
            opened = self._opened = self._opened or self._open()
        if self.embedder is not None:
            self.embedder.start()
        return opened.as_actor(actor_of(client))

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
                if self._closed:
                    return
                self._opened = self._opened or self._open()
            if self.embedder is not None:
                self.embedder.start()
        except NacreError as error:
            log.warning("The store could not be opened yet: %s", error)  # the first call says it to the client

    def _open(self) -> MemoryStore:
        from nacre.factory import is_server, make_embedder
        from nacre.project_store import ProjectStore

        chosen = SpaceChoice(self.settings.space or DEFAULT, "", named=bool(self.settings.space))
        if is_server(self.settings.store):
            from nacre.client import RemoteProjectStore

            return RemoteProjectStore.open(self.settings, self._choose or (lambda _known: chosen), actor=ACTOR)
        embedder = make_embedder(self.settings)
        store = ProjectStore.open(
            self.settings,
            self._choose or (lambda _known: chosen),
            actor=ACTOR,
            embedder=embedder if embedder.ready else BackgroundEmbedder(embedder, patience=PATIENCE),
        )
        own = store.embedder  # where the setting is auto, the one that filled the store
        self.embedder = own if isinstance(own, BackgroundEmbedder) else None
        return store


def actor_of(client: str) -> str:
    name = NAME_BREAKS.sub("-", client)[:LONGEST_NAME].strip("-")
    return f"{ACTOR}:{name}" if name else ACTOR
