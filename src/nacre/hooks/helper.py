"""The helper: one process per store that keeps the store open and the model loaded, so that hooks are fast."""

from __future__ import annotations

import gc
import os
import socket
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import cast

from nacre.errors import NacreError
from nacre.factory import make_embedder, store_file
from nacre.files import ThreadLock, file_lock
from nacre.hooks.capture import capture_and_copy
from nacre.hooks.channel import Channel, HelperFiles, channel_at, log_line, receive, send
from nacre.hooks.inject import injection
from nacre.hooks.request import Request
from nacre.model.memory import Json
from nacre.models.background import PATIENCE, BackgroundEmbedder
from nacre.project_store import ProjectStore, known_spaces
from nacre.settings import Settings, SpaceChoice

ACTOR = "hook"
WORKERS = 4
MOST_STORES = 16  # open at once, one for each space and settings; the least recently used one is let go
POLL_SECONDS = 1.0  # how often it checks whether it should end
RECEIVING_SECONDS = 5.0
IDLE_SECONDS = 600.0  # without work it ends
PRELOADED = ("numpy", "nacre.recall.recall", "nacre.hooks.inject", "nacre.hooks.capture", "nacre.safety.secrets")


class Stores:
    """One open store for each space and settings. Stores with the same embedder settings share the embedder."""

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


class Helper:
    def __init__(self, file: Path, idle: float = IDLE_SECONDS) -> None:
        self.stores = Stores(file)
        self.idle = idle
        self.ending = threading.Event()
        self._last = time.monotonic()
        self._busy = 0
        self._lock = ThreadLock()
        # Captures run one after the other, apart from requests that wait for an answer.
        self._captures = ThreadPoolExecutor(1, "capture")

    def serve(self, channel: Channel, store_folder: Path, listens: Callable[[], object] = lambda: None) -> None:
        """Runs until a request asks it to end, it is idle for `idle` seconds, or the store's folder is gone.

        `listens` is called once it accepts connections.
        """
        listening, token = channel.listen()
        listens()
        listening.settimeout(min(POLL_SECONDS, self.idle / 2))
        try:
            with listening, self._captures, ThreadPoolExecutor(WORKERS, "hook") as workers:
                while not self.over(store_folder):
                    with suppress(TimeoutError):
                        self._accept(listening, token, workers)
                channel.close()
                # Clients that connected before are still answered.
                listening.settimeout(0)
                with suppress(OSError):
                    while True:
                        self._accept(listening, token, workers)
        finally:
            channel.close()
            self.stores.close()

    def over(self, store_folder: Path) -> bool:
        with self._lock:
            idle = self._busy == 0 and time.monotonic() - self._last > self.idle
        return idle or self.ending.is_set() or not store_folder.exists()

    def _accept(self, listening: socket.socket, token: str, workers: ThreadPoolExecutor) -> None:
        connection, _ = listening.accept()
        self._begun()
        workers.submit(self._done, self._served, connection, token)

    def _begun(self) -> None:
        with self._lock:
            self._busy += 1

    def _done(self, work: Callable[..., object], *arguments: object) -> None:
        """Errors are logged, and the next request is served."""
        try:
            work(*arguments)
        except Exception as error:  # noqa: BLE001 - the helper outlives any request
            log_line("helper", f"{type(error).__name__}: {error}")
        finally:
            with self._lock:
                self._busy -= 1
                self._last = time.monotonic()

    def _served(self, connection: socket.socket, token: str) -> None:
        with connection:
            connection.settimeout(RECEIVING_SECONDS)
            message = receive(connection)
            if token and message.get("token") != token:
                raise PermissionError("the connection did not send the token")
            self._answer(connection, message)

    def _answer(self, connection: socket.socket, message: Mapping[str, Json]) -> None:
        if message.get("event") == "end":
            self.ending.set()
        if message.get("event") in ("end", "status"):
            send(connection, {"pid": os.getpid(), "ready": self.stores.ready})
            return
        request = Request.from_json(message)
        if not request.injects:
            send(connection, {"taken": True})  # the client does not wait for a capture
            self._begun()
            self._captures.submit(self._done, lambda: capture_and_copy(self.stores.of(request), request))
            return
        try:
            # A question does not create a store.
            asked = self.stores.file.exists()
            send(connection, {"output": injection(self.stores.of(request), request) if asked else ""})
        except NacreError as error:
            send(connection, {"output": ""})
            log_line(request.event, str(error))


def main(file: Path, embedder: str) -> None:
    """Ends at once when this store has a helper already. Loads the model before the first request."""
    places = HelperFiles.of(file)
    try:
        with file_lock(places.lock, exclusive=True, patience=0.0):
            helper = Helper(file)
            helper.stores.warm(embedder)
            gc.freeze()  # what is imported by now is never garbage, and need not be searched at a request
            # Removed once it listens: a hook that finds neither this file nor a helper starts another helper.
            remove_mark = partial(places.starting.unlink, missing_ok=True)
            helper.serve(channel_at(places.address), file.parent, remove_mark)
    except BlockingIOError:
        return
    except Exception as error:  # noqa: BLE001 - nobody sees what this process prints
        log_line("helper", f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
