"""Answers requests for changes: at once, after a wait, or as a stream of events."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response, StreamingResponse

from nacre.errors import HistoryLost, NacreError
from nacre.model import JournalEntry
from nacre.server.authentication import identity_of
from nacre.server.provider import Asker
from nacre.server.refusals import Refusal
from nacre.server.requests import LONGEST_NUMBER

if TYPE_CHECKING:
    from nacre.server.app import Request

LONGEST_WAIT = 60.0  # seconds that a request for changes may wait
LOOK_SECONDS = 0.5  # between two looks for what other instances wrote
ALIVE_SECONDS = 15.0  # between two comments in a stream: proxies cut silent connections


class ChangeSignal:
    """Wakes the requests that wait for changes, when this instance has written."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def notify(self) -> None:
        event, self._event = self._event, asyncio.Event()
        event.set()

    async def wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), seconds)


async def answer_changes(request: Request, who: Asker, values: Mapping[str, Any]) -> Response:
    since, limit = values.get("since", 0), values.get("limit", 100)
    await request.app.in_thread(partial(request.app.stores.view, who))  # a space that is not open ends here
    if "text/event-stream" in request.headers.get("accept", ""):
        last = request.headers.get("last-event-id", "")
        stream = events(request, who, int(last) if last.isdecimal() and len(last) <= LONGEST_NUMBER else since, limit)
        return StreamingResponse(stream, media_type="text/event-stream", headers={"cache-control": "no-store"})
    until = time.monotonic() + min(float(values.get("wait", 0)), LONGEST_WAIT)
    while True:
        entries = await request.app.in_thread(partial(changes_since, request, who, since, limit))
        left = until - time.monotonic()
        if entries or left <= 0 or request.app.draining:
            return JSONResponse({"result": request.app.writing(who.space).write(entries)})
        await request.app.written.wait(min(LOOK_SECONDS, left))
        await identity_of(request)  # refuses what was revoked or has expired meanwhile


def changes_since(request: Request, who: Asker, since: int, limit: int) -> list[JournalEntry]:
    """The store is looked up each time: a restored backup may have taken its place."""
    return request.app.stores.view(who).changes(since, limit=limit)


async def events(request: Request, who: Asker, since: int, limit: int) -> AsyncIterator[str]:
    sent_at, writing = time.monotonic(), request.app.writing(who.space)
    yield ": changes\n\n"
    while not request.app.draining and await still_known(request):
        try:
            entries = await request.app.in_thread(partial(changes_since, request, who, since, limit))
        except HistoryLost as error:  # a client that connects again would meet it at once
            about = json.dumps(writing.problem(error))
            yield f"event: lost\ndata: {about}\n\n"
            return
        for entry in entries:
            since, sent_at = entry.seq, time.monotonic()
            data = json.dumps(writing.write(entry))
            yield f"id: {entry.seq}\nevent: change\ndata: {data}\n\n"
        if not entries:
            if time.monotonic() - sent_at > ALIVE_SECONDS:
                sent_at = time.monotonic()
                yield ": alive\n\n"
            await request.app.written.wait(LOOK_SECONDS)


async def still_known(request: Request) -> bool:
    """False ends a stream: its token was revoked or has expired, or whoever signed in has signed out."""
    try:
        await identity_of(request)
    except (NacreError, Refusal):
        return False
    return True
