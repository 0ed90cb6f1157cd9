"""What each event of a client comes to: something put before its prompt, or something kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.hooks.request import EVENTS, Request

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore


def injection(store: MemoryStore, request: Request) -> str:
    """What goes to the client's stdout; empty when nothing fits or nobody wants it."""
    from nacre.hooks.inject import for_prompt, for_session

    if not store.settings.hook_inject:
        return ""
    found = for_prompt(store, request) if request.event == "prompt" else for_session(store, request)
    return "" if found is None else told(request, found.text)


def told(request: Request, context: str) -> str:
    """As the client expects it."""
    name = request.said("hook_event_name") or EVENTS[request.event]
    answer: Mapping[str, object] = {"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}}
    return json.dumps(answer)


def capture(store: MemoryStore, request: Request, *, until: float | None = None) -> int:
    """How many turns were kept."""
    from nacre.hooks.capture import capture

    transcript: Path | None = request.transcript
    if not store.settings.hook_capture or transcript is None or not transcript.is_file():
        return 0
    return capture(store, transcript.absolute(), session=request.session, until=until)
