"""Lets one process at a time do a piece of work; a process that dies gives its turn back."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from nacre.files import private_folder, private_opener

POLL_SECONDS = 0.1


@contextmanager
def turn(path: Path, *, patience: float) -> Iterator[None]:
    """Holds the lock on `path` if it can be had within `patience` seconds, and goes on without it if not.

    The lock spares double work and guards nothing: a caller must stay correct without it, so a lock that a file
    system does not offer, or that a stopped process keeps, never blocks for ever.
    """
    private_folder(path.parent)
    deadline = time.monotonic() + patience
    with open(path, "a+b", opener=private_opener) as file:
        while not _locked(file) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        yield  # closing the file gives the lock back


if sys.platform == "win32":
    import msvcrt

    def _locked(file: IO[bytes]) -> bool:
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _locked(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
