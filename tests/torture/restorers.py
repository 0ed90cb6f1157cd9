"""What the processes of the restore test do: put copies in a store's place, or write to it meanwhile."""

from __future__ import annotations

import time
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path

from nacre.errors import StoreBusy
from nacre.storage.sqlite import SQLiteBackend
from nacre.storage.sqlite.backup import restore
from tests.samples import derived, memory, put


def restore_until_killed(store: str, copies: list[str], told: Connection) -> None:
    """Tells each restore that has ended."""
    for number in count():
        chosen = number % len(copies)
        restore(Path(store), Path(copies[chosen]), Path(f"{store}-kept-{time.time_ns()}"), None, None)
        told.send(chosen)


def restore_beside_writers(store: str, copy: str, rounds: int) -> list[str]:
    """The files that were kept; a store that somebody has open is left alone and tried again."""
    kept = list[str]()
    while len(kept) < rounds:
        target = Path(f"{store}-kept-{time.time_ns()}")
        try:
            restore(Path(store), Path(copy), target, None, None)
        except StoreBusy:
            continue
        kept.append(str(target))
        time.sleep(0.01)  # for those who wait: the lock goes to who asks first
    return kept


def write_and_leave(store: str, name: str, seconds: float) -> list[str]:
    """Opens the store for each write; the ids that were acknowledged."""
    written, end = list[str](), time.monotonic() + seconds
    for number in count():
        if time.monotonic() > end:
            return written
        try:
            opened = SQLiteBackend(Path(store))
        except StoreBusy:
            continue
        put(opened, (memory(f"{name}-{number}"), derived("word")))
        opened.close()
        written.append(f"{name}-{number}")
        time.sleep(0.005)
    return written
