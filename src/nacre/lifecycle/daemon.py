"""A maintenance that runs by itself: the file that tells its process, its log, its start and its end."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import FrameType
from typing import cast

from nacre.files import private_folder, private_opener, write_private
from nacre.lifecycle.processes import Process, is_alive, this_process

__all__ = ["get_pid", "is_alive", "remove_pid", "running", "spawn_detached", "stop_daemon", "write_pid"]

STOPPING_SECONDS = 30.0  # a job under way is finished first
PAUSE_SECONDS = 0.05
LOG_BYTES = 1_000_000
OLD_LOGS = 3
LOG_FORM = "%(asctime)s %(levelname)s %(message)s"

if sys.platform == "win32":
    WITHOUT_CONSOLE = subprocess.DETACHED_PROCESS
else:
    WITHOUT_CONSOLE = 0


@dataclass(frozen=True, slots=True)
class Places:
    """Beside the store, where everyone who uses it finds them."""

    pid: Path
    log: Path

    @classmethod
    def beside(cls, store: Path) -> Places:
        return cls(store.with_name(f"{store.name}.maintenance.pid"), store.with_name(f"{store.name}.maintenance.log"))


def write_pid(path: Path | str, process: Process | None = None) -> None:
    """The number alone in the first line, as other programs expect it; then what tells it from its namesakes."""
    file, told = Path(path), process or this_process()
    private_folder(file.parent)
    write_private(file, f"{told.pid}\n{told.host}\n{told.born}\n")


def written_in(path: Path | str) -> Process | None:
    """None when there is no such file or it names no process; a bare number means one of this machine."""
    try:
        number, host, born, *_ = [*Path(path).read_text("utf-8").splitlines(), "", "", ""]
        pid = int(number)
    except (OSError, ValueError):
        return None
    return Process(pid, host or this_process().host, born) if pid > 0 else None


def get_pid(path: Path | str) -> int | None:
    """The number that the file tells, whether such a process lives or not."""
    process = written_in(path)
    return None if process is None else process.pid


def running(path: Path | str) -> Process | None:
    """The process that wrote the file, if it still lives; not a later one to which the system gave its number."""
    process = written_in(path)
    return None if process is None or process.gone else process


def remove_pid(path: Path | str) -> bool:
    """False when there was none."""
    try:
        Path(path).unlink()
    except FileNotFoundError:
        return False
    return True


def stop_daemon(path: Path | str, timeout: float = STOPPING_SECONDS) -> bool:
    """Asks the process to end and waits for it; False when none runs or it has not ended by then.

    A file that a dead process left behind is removed.
    """
    process = running(path)
    if process is None:
        remove_pid(path)
        return False
    if not process.here:
        return False
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + timeout
    while not process.gone:
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE_SECONDS)
    if written_in(path) == process:
        remove_pid(path)  # it could not do so itself
    return True


def spawn_detached(command: Sequence[str], log: Path | str, folder: Path | str | None = None) -> int:
    """Starts it in a session of its own, without a terminal, what it prints added to the log; returns its number."""
    private_folder(Path(log).parent)
    with open(log, "ab", opener=private_opener) as printed:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            cwd=folder,
            start_new_session=True,
            creationflags=WITHOUT_CONSOLE,
        )
    process.returncode = 0  # it outlives us: nobody is meant to wait for it
    return process.pid


@contextmanager
def stopping_on_signals() -> Iterator[threading.Event]:
    """Set by the first SIGTERM or SIGINT; the second one ends the process as if nobody listened."""
    stop = threading.Event()
    caught = (int(signal.SIGTERM), int(signal.SIGINT))
    before = {number: signal.getsignal(number) for number in caught}

    def asked(number: int, _frame: FrameType | None) -> None:
        stop.set()
        signal.signal(number, before[number])

    for number in caught:
        signal.signal(number, asked)
    try:
        yield stop
    finally:
        for number in caught:
            signal.signal(number, before[number])


@contextmanager
def told_by(path: Path | str) -> Iterator[None]:
    """The file tells this process while it lasts, and goes with it."""
    mine = this_process()
    write_pid(path, mine)
    try:
        yield
    finally:
        if written_in(path) == mine:
            remove_pid(path)


class PrivateLog(RotatingFileHandler):
    def _open(self) -> TextIOWrapper:
        opened = open(  # noqa: SIM115 - Path.open takes no opener, and the handler closes it
            self.baseFilename, self.mode, encoding=self.encoding, errors=self.errors, opener=private_opener
        )
        return cast(TextIOWrapper, opened)


@contextmanager
def logging_to(path: Path | str) -> Iterator[None]:
    """What the log says goes to a file that is put aside when it grows large; the last few are kept."""
    private_folder(Path(path).parent)
    handler = PrivateLog(path, maxBytes=LOG_BYTES, backupCount=OLD_LOGS, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter(LOG_FORM))
    logger = logging.getLogger("nacre")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        handler.close()
