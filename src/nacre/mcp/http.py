"""Serves any number of clients over streamable HTTP: on this machine alone unless a token was arranged."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nacre.errors import InvalidInput

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.server.transport_security import TransportSecuritySettings

    from nacre.mcp.desk import Desk

PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
WAITING = 128  # connections that may wait to be accepted: all agents of a machine may start at once
LAST_SECONDS = 1  # that answers under way get when the server is told to end


@dataclass(frozen=True, slots=True)
class Place:
    host: str
    port: int

    @classmethod
    def of(cls, given: str) -> Place:
        """`HOST:PORT`, or a port alone; an IPv6 address stands in brackets. Port 0 lets the system choose."""
        host, _, port = given.rpartition(":")
        if not port.isdecimal() or int(port) > 65_535:
            raise InvalidInput(f"{given!r} is no HOST:PORT; write 127.0.0.1:8765, for example.")
        return cls(host.strip("[]") or "127.0.0.1", int(port))

    @property
    def local(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def name(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


def listen(place: Place) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        listening = socket.create_server((place.host, place.port), family=family, backlog=WAITING)
    except OSError as error:
        raise InvalidInput(
            f"{place.host}:{place.port} cannot be listened on ({error.strerror or error}); choose another."
        ) from error
    # asyncio does this only for sockets of its own making; without it every short answer waits 40 ms for an echo.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def serve_http(
    server: Server[Any],
    desk: Desk,
    place: Place,
    token: str,
    announce: Callable[[str], None],
    names: Sequence[str] = (),
) -> None:
    """`names` are further names that clients may call this machine by."""
    import uvicorn

    from nacre.mcp.bearer import Gate

    with listen(place) as listening:
        port = int(listening.getsockname()[1])
        app = server.streamable_http_app(
            streamable_http_path=PATH, transport_security=guarded([place.name, *names]), host=place.host
        )
        config = uvicorn.Config(
            Gate(app, token), log_level="warning", lifespan="on", timeout_graceful_shutdown=LAST_SECONDS
        )
        announce(f"http://{place.name}:{port}{PATH}")
        try:
            uvicorn.Server(config).run(sockets=[listening])
        except KeyboardInterrupt:
            pass
        finally:
            desk.close()
    os._exit(0)  # a thread that loads a model is not waited for


def guarded(names: Sequence[str]) -> TransportSecuritySettings:
    """Against pages that let their own name lead here: a request must call this machine as its owner does."""
    from mcp.server.transport_security import TransportSecuritySettings

    known = list(dict.fromkeys((*LOOPBACK, *names)))
    return TransportSecuritySettings(
        allowed_hosts=[*known, *(f"{name}:*" for name in known)],
        allowed_origins=[f"{scheme}://{name}{port}" for name in known for scheme in ("http", "https")
                         for port in ("", ":*")],
    )  # fmt: skip
