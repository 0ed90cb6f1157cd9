"""Notes of the transcripts that hooks were called for, so that none is lost when a process fails or is killed.

A hook notes its transcript before it hands it to anybody, and whoever has captured it removes the note. What is left is
captured by the next capture in the same store. A note holds paths and names, and nothing of a conversation.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.files import atomic_write, private_folder, user_folder
from nacre.hooks.request import Request
from nacre.settings import ENVIRONMENT, KEYS

if TYPE_CHECKING:
    from nacre.model.memory import Json

NAME_BYTES = 8
DAYS_KEPT = 14.0  # a transcript that could not be captured for so long is given up
DAY_SECONDS = 86_400.0
NOTED = ("session_id", "transcript_path", "cwd")  # of a payload
# The process that reads a note has its own.
SECRETS = frozenset(ENVIRONMENT + name.upper() for name in KEYS)


def note(store: Path, request: Request) -> None:
    """Never raises: without a note the hook still does its work."""
    transcript = request.transcript
    if request.is_exchange or transcript is None:
        return
    payload: dict[str, Json] = {name: request.payload[name] for name in NOTED if name in request.payload}
    around = {name: value for name, value in request.environment.items() if name not in SECRETS}
    noted = replace(request, payload=payload, environment=around)
    with suppress(OSError):
        if transcript.is_file():
            private_folder(notes_folder())
            # Not durable: a machine that stops at this moment has no transcript on its disk either.
            atomic_write(note_file(store, request), json.dumps(noted.to_json()), durable=False)


def remove(store: Path, request: Request) -> None:
    with suppress(OSError):
        note_file(store, request).unlink()


def left(store: Path) -> Iterator[Request]:
    """The requests whose transcripts nobody is known to have captured."""
    for file in note_files(store):
        request = read(file)
        if request is not None:
            yield request


def remove_useless(store: Path) -> None:
    """Removes the notes that `left` does not list."""
    for file in note_files(store):
        if read(file) is None:
            with suppress(OSError):
                file.unlink()


def note_files(store: Path) -> list[Path]:
    return sorted(notes_folder().glob(f"{digest(str(store))}-*.json"))


def read(file: Path) -> Request | None:
    """None for a note that is too old, cannot be read, or whose transcript is gone."""
    try:
        if time.time() - file.stat().st_mtime > DAYS_KEPT * DAY_SECONDS:
            return None
        request = Request.from_json(json.loads(file.read_bytes()))
        own = {name: value for name, value in os.environ.items() if name in SECRETS}
        known = replace(request, environment={**own, **request.environment})
        return known if known.transcript is not None and known.transcript.is_file() else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def note_file(store: Path, request: Request) -> Path:
    return notes_folder() / f"{digest(str(store))}-{digest(str(request.transcript))}.json"


def notes_folder() -> Path:
    return user_folder("state") / "unread"


def digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=NAME_BYTES).hexdigest()
