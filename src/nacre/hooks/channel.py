"""The connection between hook and helper: one line of JSON each way, over a Unix socket or a loopback port.

Only their user can read the files that they share: an address for each store, and one log.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nacre import __version__
from nacre.files import atomic_write, private_folder, private_opener, user_folder

if TYPE_CHECKING:
    from nacre.model.memory import Json

LOG_BYTES = 1_000_000
LONGEST_ADDRESS = 100  # bytes; a Unix socket's path may have 104 to 108
NAME_BYTES = 8


class HelperFiles(NamedTuple):
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
        return private_runtime_folder(user_folder("state") / "run")
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


def log_file() -> Path:
    return user_folder("state") / "hooks.log"


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


def log_warnings(event: str) -> None:
    """What is warned of in this process gets a line in the log: Python would print it, and a client may show that."""
    import logging  # only here: a hook that the helper answers need not wait for it

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            log_line(event, record.getMessage())

    logging.getLogger().addHandler(Lines(logging.WARNING))


LONGEST_MESSAGE = 8_000_000  # bytes: a prompt with a pasted file
WAITING = 16  # connections that wait to be accepted
HOST = "127.0.0.1"


class Channel(ABC):
    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def connect(self, timeout: float) -> tuple[socket.socket, str]:
        """The connection, and the token to send. Raises `OSError` when nobody listens."""

    @abstractmethod
    def listen(self) -> tuple[socket.socket, str]:
        """The listening socket, and the token that clients must send, empty where none is needed. Raises `OSError`."""

    def close(self) -> None:
        """Removes the address: no new client can connect."""
        with suppress(OSError):
            self.path.unlink()


class UnixChannel(Channel):
    """Only the owner can reach the folder and the socket."""

    def connect(self, timeout: float) -> tuple[socket.socket, str]:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(timeout)
        try:
            connection.connect(str(self.path))
        except OSError:
            connection.close()
            raise
        return connection, ""

    def listen(self) -> tuple[socket.socket, str]:
        """The socket gets its name once it listens, so that no client is refused."""
        unnamed = self.path.with_suffix(".new")
        with suppress(OSError):
            unnamed.unlink()
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            listening.bind(str(unnamed))
        finally:
            os.umask(before)
        listening.listen(WAITING)
        unnamed.replace(self.path)
        return listening, ""


class LoopbackChannel(Channel):
    """Everybody on the machine can connect, but the token is in a file that only the user can read."""

    def connect(self, timeout: float) -> tuple[socket.socket, str]:
        try:
            port, token = self.path.read_text("ascii").split()
            return socket.create_connection((HOST, int(port)), timeout), token
        except ValueError as error:
            raise ConnectionRefusedError(f"{self.path} does not hold a port and a token") from error

    def listen(self) -> tuple[socket.socket, str]:
        import secrets  # only here: it costs a hook that asks 10 ms

        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.bind((HOST, 0))
        listening.listen(WAITING)
        token = secrets.token_hex(16)
        atomic_write(self.path, f"{listening.getsockname()[1]} {token}")
        return listening, token


def channel_at(path: Path) -> Channel:
    return LoopbackChannel(path) if sys.platform == "win32" else UnixChannel(path)


def ask(channel: Channel, message: Mapping[str, Json], timeout: float) -> Mapping[str, Json] | None:
    """None when nobody listens. Raises `OSError` when the helper does not answer."""
    try:
        connection, token = channel.connect(timeout)
    except OSError:
        return None
    with connection:
        send(connection, {**message, "token": token})
        return receive(connection)


def send(connection: socket.socket, message: Mapping[str, Json]) -> None:
    connection.sendall(json.dumps(message).encode() + b"\n")


def receive(connection: socket.socket) -> Mapping[str, Json]:
    """Raises `OSError` when no complete message comes."""
    with connection.makefile("rb") as incoming:
        line = incoming.readline(LONGEST_MESSAGE)
    if not line.endswith(b"\n"):
        raise ConnectionAbortedError("the message is incomplete")
    try:
        message = json.loads(line)
    except ValueError as error:
        raise ConnectionAbortedError("the message is not JSON") from error
    return message if isinstance(message, dict) else {}
