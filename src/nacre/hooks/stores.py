"""The open stores of the helper: one for each space and settings, all of one file."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import cast

from nacre.errors import NacreError
from nacre.factory import make_embedder, store_file
from nacre.files import ThreadLock
from nacre.hooks.channel import log_line
from nacre.hooks.inject import ACTOR
from nacre.hooks.request import Request
from nacre.models.background import PATIENCE, BackgroundEmbedder
from nacre.project_store import ProjectStore, known_spaces
from nacre.settings import Settings, SpaceChoice

MOST_STORES = 16  # open at once; the least recently used one is let go
PRELOADED = ("numpy", "nacre.recall.recall", "nacre.hooks.inject", "nacre.hooks.capture", "nacre.safety.secrets")


class Stores:
    """Stores with the same embedder settings share the embedder."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._open: OrderedDict[str, ProjectStore] = OrderedDict()
        self._embedders: dict[str, BackgroundEmbedder] = {}
        self._lock = ThreadLock()
        self._inode = 0

    def of(self, request: Request) -> ProjectStore:
        """Raises `NacreError`."""
        known = request.settings()
        if store_file(known.store).absolute() != self.file:
            raise PermissionError(f"{known.store} is not the store of this helper")
        # The space is decided before the lock is taken: git may be slow.
        first = request.choose_space()
        choice = request.choose_space(known_spaces(self._opened(known, first)))
        return self._opened(known, choice)

    def warm(self, embedder: str) -> None:
        """Loads what the first request would have to wait for."""
        for name in PRELOADED:
            import_module(name)
        with suppress(NacreError):
            self._embedder(replace(Settings(), embedder=embedder))

    @property
    def ready(self) -> bool:
        return any(each.ready for each in self._embedders.values())

    def close(self) -> None:
        with self._lock:
            for store in self._open.values():
                store.close()
            self._open.clear()

    def _opened(self, settings: Settings, choice: SpaceChoice) -> ProjectStore:
        settings = replace(settings, space=choice.space)
        name = repr((settings, choice.beside))
        with self._lock:
            if self._open and self._number() != self._inode:
                self._open.clear()  # another file took its place; running requests keep the old one alive
            if name not in self._open:
                store = ProjectStore(settings=settings, actor=ACTOR, embedder=self._embedder(settings))
                cast("BackgroundEmbedder", store.embedder).start()  # may be another, where the setting is auto
                self._open[name] = store.looking_into(choice.beside)
                self._inode = self._number()
                if len(self._open) > MOST_STORES:
                    self._open.popitem(last=False)
            self._open.move_to_end(name)
            return self._open[name]

    def _number(self) -> int:
        try:
            return self.file.stat().st_ino
        except FileNotFoundError:
            return 0

    def _embedder(self, settings: Settings) -> BackgroundEmbedder:
        name = repr((settings.embedder, settings.embedder_url, settings.embedder_key))
        if name not in self._embedders:
            embedder = BackgroundEmbedder(
                make_embedder(settings), patience=PATIENCE, on_failure=partial(log_line, "helper")
            )
            embedder.start()
            self._embedders[name] = embedder
        return self._embedders[name]
