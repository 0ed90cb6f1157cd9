"""The connection between hook and helper: one line of JSON each way, over a Unix socket or a loopback port."""

from __future__ import annotations

import json
import os
import socket
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.files import atomic_write

if TYPE_CHECKING:  # keeps a hook that only asks quick
    from nacre.model.memory import Json


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
    held = bytearray()
    while not held.endswith(b"\n"):
        part = connection.recv(65_536)
        held += part
        if not part or len(held) > LONGEST_MESSAGE:
            raise ConnectionAbortedError("the message is incomplete")
    try:
        message = json.loads(held)
    except ValueError as error:
        raise ConnectionAbortedError("the message is not JSON") from error
    return message if isinstance(message, dict) else {}
