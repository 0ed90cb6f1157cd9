"""Serves any number of clients over HTTP. A request must carry the token, and name this machine correctly."""

from __future__ import annotations

import errno
import hmac
import ipaddress
import logging
import os
import secrets
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre.errors import ConfigError, InvalidInput
from nacre.files import create_private, is_open_to_others

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.types import ASGIApp, Receive, Scope, Send

    from nacre.mcp.store_provider import StoreProvider

log = logging.getLogger(__name__)

TOKEN_BYTES = 32
SHORTEST_TOKEN = 16  # characters: a shorter one can be guessed
SCHEME = b"bearer "
DISCOVERY = "/.well-known/"  # where clients look for OAuth, which is not here: not found, rather than forbidden
NOT_FOUND = b'{"error":"Not found."}'
TOKEN_MISSING = b'{"error":"This server needs its token; send it as Authorization: Bearer TOKEN."}'


def make_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


def load_token(file: Path) -> tuple[str, bool]:
    """The token in the file, and whether it was created now. Only the owner can read a new file."""
    try:
        if not file.exists():
            token = make_token()
            if not create_private(file, f"{token}\n".encode()):
                raise FileExistsError("another server is writing it")
            return token, True
        with file.open(encoding="utf-8") as opened:
            if is_open_to_others(os.fstat(opened.fileno()).st_mode):
                log.warning("Others may read the token file %s; run `chmod 600` on it.", file)
            token = opened.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read as a token ({error}); choose another file.") from error
    if len(token) < SHORTEST_TOKEN or not token.isascii() or any(sign.isspace() for sign in token):
        raise ConfigError(
            f"{file} holds no token of at least {SHORTEST_TOKEN} characters; remove the file to have one made."
        )
    return token, False


class TokenCheck:
    """Lets only requests with the right token through; others learn only that one is needed."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._has_token(scope):
            await self._app(scope, receive, send)
            return
        unknown = scope["path"].startswith(DISCOVERY)
        challenge = [] if unknown else [(b"www-authenticate", b"Bearer")]
        headers = [(b"content-type", b"application/json"), *challenge]
        await send({"type": "http.response.start", "status": 404 if unknown else 401, "headers": headers})
        await send({"type": "http.response.body", "body": NOT_FOUND if unknown else TOKEN_MISSING})

    def _has_token(self, scope: Scope) -> bool:
        header = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        if header[: len(SCHEME)].lower() != SCHEME:
            return False
        return hmac.compare_digest(header[len(SCHEME) :].strip(), self._token)


PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
BACKLOG = 128  # connections that may wait to be accepted: all agents of a machine may start together
SHUTDOWN_SECONDS = 1  # that running answers get when the server has to stop


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int

    @classmethod
    def of(cls, text: str) -> Address:
        """Reads `HOST:PORT` or a port alone; an IPv6 address needs brackets. With port 0 the system chooses."""
        host, _, port = text.rpartition(":")
        if not port.isdecimal() or int(port) > 65_535:
            raise InvalidInput(f"{text!r} is not HOST:PORT; write 127.0.0.1:8765, for example.")
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


def listen(place: Address, option: str = "--http") -> socket.socket:
    """`option` is the one with which the command is given another port."""
    try:
        family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        socket.getaddrinfo(place.host, place.port, family)  # `create_server` hides that it is the name
        listening = socket.create_server((place.host, place.port), family=family, backlog=BACKLOG)
    except socket.gaierror as error:
        raise InvalidInput(
            f"{place.host!r} is not the name of a host that is known here ({error.strerror}); write an address of this "
            "machine, such as 127.0.0.1."
        ) from error
    except OSError as error:
        # The text of `socket.create_server` has the address again.
        reason = os.strerror(error.errno) if error.errno else str(error)
        if error.errno == errno.EADDRNOTAVAIL:
            raise InvalidInput(
                f"{place.host} is not an address of this machine ({reason}); write one that is, such as 127.0.0.1."
            ) from error
        raise InvalidInput(
            f"{place.host}:{place.port} is not available ({reason}); choose another port with {option}."
        ) from error
    # asyncio does this only for sockets that it made; without it every short answer is delayed by 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def serve_http(
    server: Server[Any],
    provider: StoreProvider,
    place: Address,
    token: str,
    announce: Callable[[str], None],
    names: Sequence[str] = (),
) -> None:
    """`names` are further host names of this machine that clients may use."""
    import uvicorn

    with listen(place) as listening:
        port = int(listening.getsockname()[1])
        # Without sessions of the protocol, so that clients do not notice a restart.
        app = server.streamable_http_app(
            streamable_http_path=PATH, transport_security=allowed_names([place.name, *names]), host=place.host,
            stateless_http=True,
        )  # fmt: skip
        config = uvicorn.Config(
            TokenCheck(app, token), log_level="warning", lifespan="on", timeout_graceful_shutdown=SHUTDOWN_SECONDS
        )
        announce(f"http://{place.name}:{port}{PATH}")
        try:
            uvicorn.Server(config).run(sockets=[listening])
        except KeyboardInterrupt:
            pass
        finally:
            provider.close()
    os._exit(0)  # does not wait for a thread that loads a model


def allowed_names(names: Sequence[str]) -> TransportSecuritySettings:
    """Against DNS rebinding: a request must name this machine by one of its known names."""
    from mcp.server.transport_security import TransportSecuritySettings

    known = list(dict.fromkeys((*LOOPBACK, *names)))
    return TransportSecuritySettings(
        allowed_hosts=[*known, *(f"{name}:*" for name in known)],
        allowed_origins=[f"{scheme}://{name}{port}" for name in known for scheme in ("http", "https")
                         for port in ("", ":*")],
    )  # fmt: skip
