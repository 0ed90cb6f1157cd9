"""A lock between processes, by a file of its own; it goes with the process that holds it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nacre.files import private_folder, private_opener

PAUSE_SECONDS = 0.001

if sys.platform == "win32":
    import msvcrt

    def attempt(file: int, *, alone: bool) -> None:  # noqa: ARG001 - this system knows no lock in common
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(*error.args) from error

    def release(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def attempt(file: int, *, alone: bool) -> None:
        fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)

    def release(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)  # said aloud: a forked child may hold the file open beside us


@contextmanager
def held(path: Path, *, alone: bool, patience: float) -> Iterator[None]:
    """Raises `BlockingIOError` when others have held it for `patience` seconds. Locks held in common go together."""
    file = opened(path)
    try:
        wait(file, alone=alone, until=time.monotonic() + patience)
        try:
            yield
        finally:
            release(file)
    finally:
        os.close(file)


def opened(path: Path) -> int:
    try:
        return private_opener(path, os.O_RDWR | os.O_CREAT)
    except FileNotFoundError:
        private_folder(path.parent)
        return private_opener(path, os.O_RDWR | os.O_CREAT)


def wait(file: int, *, alone: bool, until: float) -> None:
    while True:
        try:
            return attempt(file, alone=alone)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise
        time.sleep(PAUSE_SECONDS)
