"""Runs the server: binds the address, refuses what would be unsafe, and ends without cutting off a request."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.errors import InvalidInput, MissingExtra
from nacre.mcp.http import Address, listen
from nacre.server.limits import Limits
from nacre.server.oauth import OAuth, OAuthOptions
from nacre.settings import Settings

if TYPE_CHECKING:
    from types import FrameType

    from starlette.types import ASGIApp, Receive, Scope, Send

    from nacre.server.provider import UserStores

FINISH_SECONDS = 30  # that running requests get when the server has to stop
HINT = "No token exists yet: `nacre token create --user NAME --role admin` makes the first one, and shows it once."

# The C library of GNU gives each core up to eight heaps, and what is freed in one serves no thread of another: with
# each burst of requests from 16 clients the server grew by 10 MB. Two are enough: Python runs one thread at a time.
HEAPS = 2
HEAPS_OPTION = -8  # M_ARENA_MAX of mallopt

NO_MCP = 'There is no MCP at /mcp: run `pip install ".[server]"` in the checkout of Nacre, and start the server again.'


@dataclass(frozen=True, slots=True)
class ServeOptions:
    place: Address
    names: Sequence[str] = ()
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False
    profile: str = "core"
    limits: Limits = field(default_factory=Limits)
    oauth: OAuthOptions | None = None  # whose `resource`, if empty, is the address at which the server listens

    def check(self) -> None:
        """Raises `InvalidInput` for what others could read on the way."""
        if (self.certificate is None) != (self.key is None):
            raise InvalidInput("TLS needs both files; name them with --tls-cert and --tls-key.")
        for file in (self.certificate, self.key):
            if file is not None and not file.is_file():
                raise InvalidInput(f"There is no file {file}; name the right one.")
        if not self.place.local and self.certificate is None and not self.behind_proxy:
            raise InvalidInput(
                f"{self.place.host} can be reached by others, and tokens would be sent in plain text. Give --tls-cert "
                "and --tls-key, or say --behind-proxy if something in front of it has TLS."
            )


def serve(
    settings: Settings,
    options: ServeOptions,
    announce: Callable[[str], None],
    open_page: Callable[[str], None] | None = None,
) -> None:
    """With `open_page`, one person uses the page: it is called with a link that lets its first reader in."""
    options.check()
    limit_heaps()
    if find_spec("uvicorn") is None or find_spec("starlette") is None:
        raise MissingExtra("The server", "server")
    import uvicorn

    from nacre.server.app import Application, ServerOptions
    from nacre.server.files import remove_leftovers
    from nacre.server.provider import UserStores

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            app.drain()
            super().handle_exit(sig, frame)

    remove_leftovers(time.time())
    stores = UserStores(settings)
    with listen(options.place, "--http" if open_page is None else "--port") as listening:
        port = int(listening.getsockname()[1])
        known = ServerOptions(
            hosts=[options.place.name, *options.names], local=options.place.local, limits=options.limits,
            writing_tools=writing_tools(options.profile),
        )  # fmt: skip
        scheme = "http" if options.certificate is None else "https"
        address = f"{scheme}://{options.place.name}:{port}"
        app = Application(stores, known, mcp_app(stores, options), oauth_of(options, address))
        served = BehindProxy(app) if options.behind_proxy else app
        config = uvicorn.Config(
            served, log_level="warning", lifespan="on", timeout_graceful_shutdown=FINISH_SECONDS, access_log=False,
            server_header=False, proxy_headers=False,
            ssl_certfile=None if options.certificate is None else str(options.certificate),
            ssl_keyfile=None if options.key is None else str(options.key),
        )  # fmt: skip
        if open_page is None:
            announce(f"Serving at {address}")
        else:
            open_page(f"{address}/#login={app.sessions.make_code()}")
        if open_page is None and app.mcp is None:
            announce(NO_MCP)
        if open_page is None and options.oauth is None and not app.registry.has_tokens():
            announce(HINT)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # uvicorn raises it again when it has ended
        try:
            Server(config).run(sockets=[listening])
        except KeyboardInterrupt:
            pass
        finally:
            app.jobs.close()
            stores.close()
    logging.shutdown()
    os._exit(0)  # does not wait for a thread that loads a model


class BehindProxy:
    """Takes scheme and address of a client from the headers of the proxy, which alone can reach the port.

    The last address is the one that the proxy saw itself; a client may have sent those before it. uvicorn's own way
    knows the proxy by its address, or else believes the first one.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}  # the last one of a name
            scheme = headers.get(b"x-forwarded-proto", "").rpartition(",")[2].strip()
            address = headers.get(b"x-forwarded-for", "").rpartition(",")[2].strip()
            scope = {
                **scope,
                "scheme": scheme if scheme in ("http", "https") else scope["scheme"],
                "client": (address, 0) if address else scope["client"],
            }
        await self._app(scope, receive, send)


def limit_heaps() -> None:
    """Where the C library is that of GNU; before any thread is started."""
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        mallopt(HEAPS_OPTION, HEAPS)


def oauth_of(options: ServeOptions, address: str) -> OAuth | None:
    """Raises `MissingExtra`, and `InvalidInput` for options that do not fit."""
    if options.oauth is None:
        return None
    if find_spec("jwt") is None or find_spec("cryptography") is None:
        raise MissingExtra("Checking tokens of OAuth", "server")
    return OAuth(replace(options.oauth, resource=options.oauth.resource or address))


def writing_tools(profile: str) -> frozenset[str]:
    from nacre.mcp.profiles import profile_named

    return frozenset(tool.name for tool in profile_named(profile).tools if tool.effect != "reads")


def mcp_app(stores: UserStores, options: ServeOptions) -> ASGIApp | None:
    """None where the extra `mcp` is not installed. Hosts and tokens are checked before a request gets there."""
    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        return None
    from mcp.server.transport_security import TransportSecuritySettings

    from nacre.mcp.profiles import profile_named
    from nacre.mcp.server import make_server

    server = make_server(profile_named(options.profile), stores)
    app: ASGIApp = server.streamable_http_app(
        streamable_http_path="/mcp",
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        stateless_http=True,
    )
    return app
