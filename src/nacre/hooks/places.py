"""The files that hooks and helper share: an address per store, and one log. Only their user can read them."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from nacre import __version__
from nacre.files import private_folder, private_opener

LOG_BYTES = 1_000_000
LONGEST_ADDRESS = 100  # bytes; a Unix socket's path may have 104 to 108
NAME_BYTES = 8


@dataclass(frozen=True, slots=True)
class HelperFiles:
    """`address` is a socket, or on Windows a file with a port and a token. The helper holds `lock`."""

    address: Path
    lock: Path
    starting: Path

    @classmethod
    def of(cls, store: Path) -> HelperFiles:
        """Each version has its own helper: after an update the old one is no longer used and ends when idle."""
        named = f"{__version__} {store.expanduser().absolute()}"
        stem = blake2b(named.encode(), digest_size=NAME_BYTES).hexdigest()
        folder = runtime_folder()
        return cls(folder / f"{stem}.sock", folder / f"{stem}.lock", folder / f"{stem}.starting")


def runtime_folder() -> Path:
    """A private folder of the user; in a shared place a folder of somebody else is never used."""
    if sys.platform == "win32":
        return private_runtime_folder(state_folder() / "run")
    variable = os.environ.get("XDG_RUNTIME_DIR", "")
    if variable and Path(variable).is_dir() and len(variable.encode()) + 40 < LONGEST_ADDRESS:
        return private_runtime_folder(Path(variable) / "nacre")
    import tempfile

    return private_runtime_folder(Path(tempfile.gettempdir()) / f"nacre-{os.getuid()}")


def private_runtime_folder(folder: Path) -> Path:
    private_folder(folder)
    if sys.platform != "win32":
        status = folder.lstat()
        if status.st_uid != os.getuid() or not folder.is_dir() or folder.is_symlink():
            raise PermissionError(f"{folder} belongs to another user")
        if status.st_mode & 0o077:
            folder.chmod(0o700)
    return folder


def state_folder() -> Path:
    from platformdirs import user_state_path

    return user_state_path("nacre", appauthor=False)


def log_file() -> Path:
    return state_folder() / "hooks.log"


def log_line(event: str, what: str) -> None:
    """Writes a line to the log. Never raises. Text of a conversation must not go into it."""
    with suppress(OSError):
        file = log_file()
        private_folder(file.parent)
        if file.exists() and file.stat().st_size > LOG_BYTES:
            file.replace(file.with_suffix(".log.1"))
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        with open(file, "a", encoding="utf-8", errors="backslashreplace", opener=private_opener) as log:
            log.write(f"{at} {os.getpid()} {event}: {' '.join(what.split())}\n")
