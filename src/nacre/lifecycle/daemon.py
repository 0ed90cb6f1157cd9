"""The maintenance process: is it alive, its pid file and log, starting and stopping."""

from __future__ import annotations

import logging
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import FrameType
from typing import cast

from nacre.files import atomic_write, private_folder, private_opener

PROC = Path("/proc")
STATE, STARTED = 0, 19  # fields of /proc/PID/stat after the name, which may contain anything
PS_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Process:
    """`born` distinguishes it from a later process with the same number; empty when the system does not say."""

    pid: int
    host: str
    born: str

    @property
    def here(self) -> bool:
        """True when it runs on this machine."""
        return self.host == this_host()

    @property
    def gone(self) -> bool:
        """True only when that is certain; never for a process of another machine."""
        if not self.here:
            return False
        return not is_alive(self.pid) or (self.born != "" and start_time(self.pid) not in ("", self.born))


def this_process() -> Process:
    return Process(os.getpid(), this_host(), start_time(os.getpid()))


@cache
def this_host() -> str:
    """Includes the PID namespace: containers may share a host name and a file, but not process numbers."""
    try:
        return f"{platform.node()} {(PROC / 'self' / 'ns' / 'pid').readlink()}"
    except OSError:
        return platform.node()


if sys.platform == "win32":
    import ctypes

    QUERY, RUNNING = 0x1000, 259

    def is_alive(pid: int) -> bool:
        # os.kill would end the process: Windows has no signal 0.
        handle = ctypes.windll.kernel32.OpenProcess(QUERY, False, pid)
        if not handle:
            return False
        code = ctypes.c_ulong()
        answered = ctypes.windll.kernel32.GetExitCodeProcess(handle, ctypes.byref(code))
        ctypes.windll.kernel32.CloseHandle(handle)
        return bool(answered) and code.value == RUNNING
else:

    def is_alive(pid: int) -> bool:
        """False for a zombie."""
        if pid <= 0:
            return False
        try:
            os.kill(pid, 0)
        except (ProcessLookupError, OverflowError):
            return False
        except PermissionError:
            return True  # it belongs to another user
        return not process_stat(pid)[0].startswith("Z")


def start_time(pid: int) -> str:
    return process_stat(pid)[1]


def process_stat(pid: int) -> tuple[str, str]:
    """Its state and start time as the system writes them; empty when unknown."""
    if PROC.joinpath("self").exists():
        try:
            fields = (PROC / str(pid) / "stat").read_text("ascii", "replace").rpartition(")")[2].split()
        except OSError:
            return "", ""
        return fields[STATE], f"{boot()} {fields[STARTED]}"
    return ask_ps(pid) if os.name == "posix" else ("", "")


@cache
def boot() -> str:
    try:
        return (PROC / "sys" / "kernel" / "random" / "boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def ask_ps(pid: int) -> tuple[str, str]:
    words = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    try:
        output = subprocess.run(words, capture_output=True, text=True, timeout=PS_SECONDS, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return "", ""
    state, _, born = output.strip().partition(" ")
    return state, born.strip()


STOPPING_SECONDS = 30.0  # a running job is finished first
PAUSE_SECONDS = 0.05
LOG_BYTES = 1_000_000
OLD_LOGS = 3
LOG_FORM = "%(asctime)s %(levelname)s %(message)s"
WITHOUT_CONSOLE: int = getattr(subprocess, "DETACHED_PROCESS", 0)  # only Windows has it


@dataclass(frozen=True, slots=True)
class DaemonFiles:
    """The pid file and the log, beside the store."""

    pid: Path
    log: Path

    @classmethod
    def beside(cls, store: Path) -> DaemonFiles:
        return cls(store.with_name(f"{store.name}.maintenance.pid"), store.with_name(f"{store.name}.maintenance.log"))


def write_pid(path: Path | str, process: Process | None = None) -> None:
    """The number alone in the first line, as other programs expect it; then the host and the start time."""
    file, written = Path(path), process or this_process()
    private_folder(file.parent)
    atomic_write(file, f"{written.pid}\n{written.host}\n{written.born}\n")


def read_pid(path: Path | str) -> Process | None:
    """None when there is no such file or it names no process; a bare number means a process of this machine."""
    try:
        number, host, born, *_ = [*Path(path).read_text("utf-8").splitlines(), "", "", ""]
        pid = int(number)
    except (OSError, ValueError):
        return None
    return Process(pid, host or this_process().host, born) if pid > 0 else None


def get_pid(path: Path | str) -> int | None:
    """The number in the file, whether the process is alive or not."""
    process = read_pid(path)
    return None if process is None else process.pid


def running(path: Path | str) -> Process | None:
    """The process that wrote the file, if it is still alive; not a later one with the same number."""
    process = read_pid(path)
    return None if process is None or process.gone else process


def remove_pid(path: Path | str) -> bool:
    """False when there was none."""
    try:
        Path(path).unlink()
    except FileNotFoundError:
        return False
    return True


def remove_stale_pid(path: Path | str) -> None:
    """Removes a file that a dead process left, not that of one which starts meanwhile."""
    process = read_pid(path)
    if (process is None or process.gone) and read_pid(path) == process:
        remove_pid(path)


def stop_daemon(path: Path | str, timeout: float = STOPPING_SECONDS) -> bool:
    """Asks the process to end and waits; False when none runs or it has not ended in time.

    A file that a dead process left behind is removed.
    """
    process = running(path)
    if process is None:
        remove_stale_pid(path)
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
    if read_pid(path) == process:
        remove_pid(path)  # it had no time to do so itself
    return True


def spawn_detached(
    command: Sequence[str], log: Path | str, folder: Path | str | None = None, *, input: bytes = b""
) -> int:
    """Starts a process in its own session without a terminal, with its output in the log; returns its number. `input`
    is what it reads from stdin, and must fit into a pipe."""
    private_folder(Path(log).parent)
    with open(log, "ab", opener=private_opener) as printed:
        process = subprocess.Popen(
            list(command), stdin=subprocess.PIPE if input else subprocess.DEVNULL, stdout=printed, stderr=printed,
            cwd=folder, start_new_session=True, creationflags=WITHOUT_CONSOLE,
        )  # fmt: skip
    if process.stdin is not None:
        with suppress(BrokenPipeError), process.stdin as pipe:
            pipe.write(input)
    process.returncode = 0  # it outlives this process, so nobody waits for it
    return process.pid


@contextmanager
def stopping_on_signals() -> Iterator[threading.Event]:
    """The event is set by the first SIGTERM or SIGINT; the second one ends the process."""
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
def pid_file(path: Path | str) -> Iterator[None]:
    """Writes the pid file, and removes it at the end."""
    mine = this_process()
    write_pid(path, mine)
    try:
        yield
    finally:
        if read_pid(path) == mine:
            remove_pid(path)


class PrivateLog(RotatingFileHandler):
    def _open(self) -> TextIOWrapper:
        opened = open(  # noqa: SIM115 - Path.open takes no opener, and the handler closes it
            self.baseFilename, self.mode, encoding=self.encoding, errors=self.errors, opener=private_opener
        )
        return cast(TextIOWrapper, opened)


@contextmanager
def logging_to(path: Path | str) -> Iterator[None]:
    """Logs to a file that is rotated by size."""
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
