"""The token that a client of the HTTP server must show, and the gate that asks for it."""

from __future__ import annotations

import hmac
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.errors import ConfigError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

TOKEN_BYTES = 32
SHORTEST = 16  # characters: what is shorter can be guessed by trying
SCHEME = b"bearer "
ASKING = b'{"error":"This server asks for its token; send it as Authorization: Bearer TOKEN."}'


def make_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


def token_in(file: Path) -> tuple[str, bool]:
    """The token that the file holds, and whether it was made just now, for its owner's eyes only."""
    try:
        if not file.exists():
            return written(file), True
        token = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read as a token ({error}); name another file.") from error
    if len(token) < SHORTEST or not token.isascii() or any(sign.isspace() for sign in token):
        raise ConfigError(f"{file} holds no token of at least {SHORTEST} characters; remove it, and one is made.")
    return token, False


def written(file: Path) -> str:
    token = make_token()
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        out.write(token + "\n")
    return token


class Gate:
    """Lets a request through whose token is right; any other learns nothing but that one is needed."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._shown(scope):
            headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": ASKING})
            return
        await self._app(scope, receive, send)

    def _shown(self, scope: Scope) -> bool:
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        if given[: len(SCHEME)].lower() != SCHEME:
            return False
        return hmac.compare_digest(given[len(SCHEME) :].strip(), self._token)
