"""Serves one client over stdin and stdout, and ends when the client ends, for whatever reason."""

from __future__ import annotations

import logging
import os
import select
import sys
import threading
import time
from typing import Any, NoReturn

import anyio
from mcp.server import Server

from nacre.mcp.store_provider import StoreProvider
from nacre.mcp.transport import DRAIN_SECONDS, PendingRequests, stdio_streams

log = logging.getLogger("nacre")

POLL_SECONDS = 0.2  # between two checks whether the parent still lives
GRACE_SECONDS = 0.5  # for closing the store, once every request is answered


def serve_stdio(server: Server[Any], provider: StoreProvider, parent: int) -> NoReturn:
    """`parent` is the process that started this one, read early: it may be gone by now."""
    pending = PendingRequests()
    # In its own thread: it must see the end even while the loop is busy or a sibling process holds the pipe open.
    threading.Thread(target=wait_for_end, args=(private_copy(0), parent, pending), daemon=True).start()
    try:
        anyio.run(serve, server, pending)
    except* OSError as gone:
        log.debug("The client went away: %s", gone.exceptions)
    except* KeyboardInterrupt:
        log.debug("Interrupted.")
    threading.Timer(GRACE_SECONDS, end).start()
    provider.close()
    end()


async def serve(server: Server[Any], pending: PendingRequests | None = None) -> None:
    async with stdio_streams(pending or PendingRequests()) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def private_copy(descriptor: int) -> int | None:
    """The transport replaces stdin while it serves. None where nothing can be watched."""
    if not hasattr(select, "poll"):
        return None
    try:
        return os.dup(descriptor)
    except OSError:
        return None


def wait_for_end(descriptor: int | None, parent: int, pending: PendingRequests) -> NoReturn:
    while not (gone := os.getppid() != parent) and not hung_up(descriptor):
        pass
    deadline = time.monotonic() + DRAIN_SECONDS
    # A closed pipe may still hold requests; when the parent is gone and a sibling holds the pipe, none will come.
    while not pending.overdue and not (pending.settled and (pending.ended or gone or time.monotonic() > deadline)):
        time.sleep(POLL_SECONDS / 10)
    time.sleep(GRACE_SECONDS)
    end()


def hung_up(descriptor: int | None) -> bool:
    """Waits a moment. Reads nothing: every byte belongs to the transport."""
    if descriptor is None:
        time.sleep(POLL_SECONDS)
        return False
    watched = select.poll()
    watched.register(descriptor, 0)  # a hang-up is always reported
    return bool(watched.poll(POLL_SECONDS * 1000))


def end() -> NoReturn:
    """At once: threads that load a model or wait for a lock must not outlive the client."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    os._exit(0)
