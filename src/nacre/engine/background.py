"""Embeds what waits for the model in a thread of its own: no caller waits for it, or fails because of it."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress

from nacre.engine.engine import Engine, catch_up
from nacre.errors import NacreError
from nacre.files import ThreadLock

log = logging.getLogger("nacre")

STEP = 32  # memories that one call leads to: some 50 ms of embedding, in a process that may end soon
CLOSING_SECONDS = 1.0  # that closing waits for a step; longer only where another process holds the store


class BackgroundCatchUp:
    """For all users of one open store. Its engine is not restricted: vectors belong to nobody."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = ThreadLock()
        self._thread: threading.Thread | None = None
        self._again = False
        self._closed = False

    def start(self) -> None:
        """Begins a step and returns at once, unless nothing waits or the model is not loaded; beside a step that is
        under way, lets another one follow."""
        if not self._engine.embedder.ready:
            return
        with self._lock, suppress(NacreError):
            self._again = self._thread is not None and self._thread.is_alive()
            if not self._again and not self._closed and self._engine.store.pending(1):
                self._thread = threading.Thread(target=self._step, name="nacre-catch-up", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Closes the store after the step that is under way; who closes it waits only a moment for that."""
        with self._lock:
            self._closed, thread = True, self._thread
        if thread is not None:
            thread.join(CLOSING_SECONDS)
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return  # the step closes it
        self._engine.store.close()

    def _step(self) -> None:
        going_on = True
        while going_on:
            try:
                catch_up(self._engine, STEP)
            except NacreError as error:
                log.debug("Waiting memories were not embedded: %s", error)
            with self._lock:
                closed, going_on = self._closed, self._again and not self._closed
                self._again = False
                if not going_on:
                    self._thread = None
        if closed:
            self._engine.store.close()
