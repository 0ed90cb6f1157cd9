"""Which processes there are on this machine, and whether a number still means the one that it meant."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROC = Path("/proc")
STATE, STARTED = 0, 19  # fields of /proc/PID/stat after the name, which may hold anything
ASKING_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Process:
    """`born` tells it from a later one with the same number; empty where the system does not say."""

    pid: int
    host: str
    born: str

    @property
    def here(self) -> bool:
        """True when its number means something to this process."""
        return self.host == this_host()

    @property
    def gone(self) -> bool:
        """True only when that is sure; of another machine's processes nothing is."""
        if not self.here:
            return False
        return not is_alive(self.pid) or (self.born != "" and birth(self.pid) not in ("", self.born))


def this_process() -> Process:
    return Process(os.getpid(), this_host(), birth(os.getpid()))


@cache
def this_host() -> str:
    """Containers may share a name and a file; their numbers mean different processes."""
    try:
        return f"{platform.node()} {(PROC / 'self' / 'ns' / 'pid').readlink()}"
    except OSError:
        return platform.node()


if sys.platform == "win32":
    import ctypes

    QUERY, RUNNING = 0x1000, 259

    def is_alive(pid: int) -> bool:
        # os.kill would end it: this system knows no signal 0.
        handle = ctypes.windll.kernel32.OpenProcess(QUERY, False, pid)
        if not handle:
            return False
        code = ctypes.c_ulong()
        found = ctypes.windll.kernel32.GetExitCodeProcess(handle, ctypes.byref(code))
        ctypes.windll.kernel32.CloseHandle(handle)
        return bool(found) and code.value == RUNNING
else:

    def is_alive(pid: int) -> bool:
        """A process that has ended and that nobody has waited for is not."""
        if pid <= 0:
            return False
        try:
            os.kill(pid, 0)
        except (ProcessLookupError, OverflowError):
            return False
        except PermissionError:
            return True  # somebody else's
        return not look(pid)[0].startswith("Z")


def birth(pid: int) -> str:
    return look(pid)[1]


def look(pid: int) -> tuple[str, str]:
    """Its state and when it began, in the system's own words; empty where it does not say."""
    if PROC.joinpath("self").exists():
        try:
            fields = (PROC / str(pid) / "stat").read_text("ascii", "replace").rpartition(")")[2].split()
        except OSError:
            return "", ""
        return fields[STATE], f"{boot()} {fields[STARTED]}"
    return asked(pid) if os.name == "posix" else ("", "")


@cache
def boot() -> str:
    try:
        return (PROC / "sys" / "kernel" / "random" / "boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def asked(pid: int) -> tuple[str, str]:
    words = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    try:
        told = subprocess.run(words, capture_output=True, text=True, timeout=ASKING_SECONDS, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return "", ""
    state, _, born = told.strip().partition(" ")
    return state, born.strip()
