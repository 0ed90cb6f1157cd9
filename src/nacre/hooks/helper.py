"""The helper: one process per store that keeps the store open and the model loaded, so that hooks are fast.

It listens before it loads anything that is slow to load: a transcript is taken at once and captured later, and a
question waits until everything is loaded. Transcripts that were left uncaptured are captured when it has loaded.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.errors import NacreError
from nacre.files import ThreadLock, file_lock
from nacre.hooks import unread
from nacre.hooks.channel import Channel, HelperFiles, channel_at, log_line, receive, send
from nacre.hooks.request import Request

if TYPE_CHECKING:
    from nacre.hooks.stores import Stores
    from nacre.model.memory import Json

WORKERS = 16  # questions hold one each while the model is loaded, and captures must get through meanwhile
POLL_SECONDS = 1.0  # how often it checks whether it should end
RECEIVING_SECONDS = 5.0
IDLE_SECONDS = 600.0  # without work it ends


class Helper:
    """`stores` comes once everything is loaded. `embedder` is the setting whose model is loaded before a request."""

    def __init__(self, file: Path, embedder: str, idle: float = IDLE_SECONDS) -> None:
        self.file = file
        self.embedder = embedder
        self.stores: Future[Stores] = Future()
        self.idle = idle
        self.ending = threading.Event()
        self._last = time.monotonic()
        self._busy = 0
        self._lock = ThreadLock()
        # Captures run one after the other, apart from requests that wait for an answer.
        self._captures = ThreadPoolExecutor(1, "capture")

    def serve(self, channel: Channel, loaded: Callable[[], object] = lambda: None) -> None:
        """Runs until a request asks it to end, it is idle for `idle` seconds, or the store's folder is gone.

        `loaded` is called once a question need no longer wait.
        """
        listening, token = channel.listen()
        loading = threading.Thread(target=self._load, args=(loaded,), name="loading")
        loading.start()
        self._begun()
        self._captures.submit(self._done, self._capture_left)
        listening.settimeout(min(POLL_SECONDS, self.idle / 2))
        try:
            with listening, self._captures, ThreadPoolExecutor(WORKERS, "hook") as workers:
                while not self.over():
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
            loading.join()
            if self.stores.exception() is None:
                self.stores.result().close()

    def over(self) -> bool:
        with self._lock:
            idle = self._busy == 0 and time.monotonic() - self._last > self.idle
        return idle or self.ending.is_set() or not self.file.parent.exists()

    def _load(self, loaded: Callable[[], object]) -> None:
        try:
            from nacre.hooks.stores import Stores

            stores = Stores(self.file)
            stores.warm(self.embedder)
            gc.freeze()  # what is imported by now is never garbage, and need not be searched at a request
            self.stores.set_result(stores)
        except BaseException as error:  # noqa: BLE001 - whatever it is, those who wait must learn of it
            self.stores.set_exception(error)
            self.ending.set()  # for a while no other is started, and hooks do their work themselves
            log_line("helper", f"{type(error).__name__}: {error}")
        else:
            loaded()

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
            send(connection, {"pid": os.getpid(), "ready": self._ready()})
            return
        request = Request.from_json(message)
        if request.is_exchange and not self.stores.done():
            return  # the hook stores it itself: what is taken now would be lost if loading failed
        if not request.injects:
            send(connection, {"taken": True})  # the client does not wait for a capture
            self._begun()
            self._captures.submit(self._done, self._capture, request)
            return
        try:
            # A question does not create a store.
            send(connection, {"output": self._injection(request) if self.file.exists() else ""})
        except NacreError as error:
            send(connection, {"output": ""})
            log_line(request.event, str(error))

    def _ready(self) -> bool:
        loaded = self.stores.done() and self.stores.exception() is None
        return loaded and self.stores.result().ready

    def _capture(self, request: Request) -> None:
        stores = self.stores.result()
        from nacre.hooks.capture import capture_with_left

        capture_with_left(self.file, request, lambda each: nullcontext(stores.of(each)))

    def _capture_left(self) -> None:
        if self.stores.exception() is not None:  # hooks capture them, or the next helper
            return
        stores = self.stores.result()
        from nacre.hooks.capture import capture_each

        capture_each(self.file, unread.left(self.file), lambda each: nullcontext(stores.of(each)))

    def _injection(self, request: Request) -> str:
        store = self.stores.result().of(request)
        from nacre.hooks.inject import injection

        return injection(store, request)


def main(file: Path, embedder: str) -> None:
    """Ends at once when this store has a helper already."""
    places = HelperFiles.of(file)
    try:
        with file_lock(places.lock, exclusive=True, patience=0.0):
            # A hook that finds neither this file nor a helper starts another helper.
            remove_mark = partial(places.starting.unlink, missing_ok=True)
            Helper(file, embedder).serve(channel_at(places.address), remove_mark)
    except BlockingIOError:
        return
    except Exception as error:  # noqa: BLE001 - nobody sees what this process prints
        log_line("helper", f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
