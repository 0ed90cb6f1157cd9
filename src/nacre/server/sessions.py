"""Lets a browser in: a token, or the one-time code of a link, becomes a cookie that the page's scripts cannot read.

A browser sends its cookies with every request to this machine, whichever page makes it. So a request with a cookie
must come from the server's own page: its origin is compared, and what changes something needs a header that pages of
other sites cannot send.

The cookie is a random session id. The store has its hash, and the token encrypted with the id: neither the cookie nor
the store alone gives the token away, and a token that was revoked lets no session in.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie

from nacre.access.capabilities import Role
from nacre.access.view import SESSION_KIND
from nacre.errors import AccessDenied
from nacre.model.memory import Json
from nacre.protocols import Backend, Clock, TermSet
from nacre.server.answers import sealed, unsealed
from nacre.server.limits import Limits, RateLimiter
from nacre.server.users import Identity

PERSON = "web"  # the actor of what somebody does in the page of `nacre web`
COOKIE = "nacre_session"
OWN_HEADER = "x-nacre-page"
LOGINS_A_MINUTE = 10  # of one address: a token cannot be guessed, and nobody signs in more often
CODE_BYTES = 24
SESSION_SECONDS = 7 * 86_400.0  # after which one signs in again
SAFE = ("GET", "HEAD")
OWN_SITE = ("same-origin", "none")  # what a browser says of requests of the page itself, and of a typed address


class Sessions:
    """`identify` knows the tokens of the server. After `make_code`, whoever has that code becomes the one local person.
    Sessions of tokens are terms of the store, and so the same for every instance over it."""

    def __init__(self, identify: Callable[[str], Identity], backend: Backend, clock: Clock) -> None:
        self._identify = identify
        self._backend = backend
        self._clock = clock
        self._code = ""
        self._local = ""
        self.attempts = RateLimiter(Limits(requests=LOGINS_A_MINUTE, writes=0, bytes=0))

    def use(self, backend: Backend) -> None:
        """Another file is in the store's place."""
        self._backend = backend

    def make_code(self) -> str:
        """A code for one login, without a token: for a server that only the person who started it uses."""
        self._code, self._local = secrets.token_urlsafe(CODE_BYTES), secrets.token_urlsafe(CODE_BYTES)
        return self._code

    def log_in(self, code: str, token: str) -> tuple[str, Identity]:
        """The cookie's value, and whose it is. Raises `AccessDenied`."""
        if code:
            if not self._code or not hmac.compare_digest(code.encode(), self._code.encode()):
                raise AccessDenied("This link was used before or is not known; run `nacre web` again for another one.")
            self._code = ""
            return self._local, self.identity(self._local)
        identity, value = self._identify(token), secrets.token_urlsafe(CODE_BYTES)
        data: dict[str, Json] = {
            "expires_at": self._clock() + SESSION_SECONDS,
            "token": sealed(secret_of(value), token.encode()),
        }
        self._backend.commit([TermSet(SESSION_KIND, name_of(value), data), *self._expired()])
        return value, identity

    def identity(self, value: str) -> Identity:
        """Raises `AccessDenied`."""
        if self._local and hmac.compare_digest(value.encode(), self._local.encode()):
            return Identity(PERSON, Role.ADMIN, (), PERSON)
        stored = self._backend.term(SESSION_KIND, name_of(value)) if value else None
        if stored is None or float(str(stored["expires_at"])) <= self._clock():
            raise AccessDenied("This session has ended; sign in again.")
        return self._identify(unsealed(secret_of(value), str(stored["token"])).decode())

    def log_out(self, value: str) -> None:
        """Ends a session of a token, for every browser that has it; that of a link ends with the server."""
        if value and self._backend.term(SESSION_KIND, name_of(value)) is not None:
            self._backend.commit([TermSet(SESSION_KIND, name_of(value), None)])

    def _expired(self) -> list[TermSet]:
        stored = self._backend.terms(SESSION_KIND).items()
        return [
            TermSet(SESSION_KIND, name, None)
            for name, data in stored
            if float(str(data["expires_at"])) <= self._clock()
        ]


def name_of(value: str) -> str:
    return hashlib.sha256(b"session\0" + value.encode()).hexdigest()


def secret_of(value: str) -> bytes:
    return hashlib.sha256(b"token\0" + value.encode()).digest()


def cookie_name(host: str) -> str:
    """Cookies are of a machine and not of a port: two servers on one must not overwrite each other's."""
    port = re.search(r":(\d+)$", host)
    return f"{COOKIE}_{port[1]}" if port else COOKIE


def session_cookie(headers: Mapping[str, str]) -> str:
    try:
        cookies = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return ""
    morsel = cookies.get(cookie_name(headers.get("host", "")))
    return morsel.value if morsel is not None else ""


def set_cookie(headers: Mapping[str, str], value: str, *, secure: bool) -> str:
    """The header that sets it; an empty value removes it."""
    parts = [f"{cookie_name(headers.get('host', ''))}={value}", "Path=/", "HttpOnly", "SameSite=Strict"]
    if secure:
        parts.append("Secure")
    parts.append(f"Max-Age={int(SESSION_SECONDS) if value else 0}")
    return "; ".join(parts)


def is_own_request(verb: str, headers: Mapping[str, str]) -> bool:
    """Whether a request that shows a cookie comes from the server's own page."""
    origin = headers.get("origin", "")
    if origin and origin.partition("://")[2].lower() != headers.get("host", "").lower():
        return False
    if headers.get("sec-fetch-site", "same-origin") not in OWN_SITE:
        return False
    return verb in SAFE or headers.get(OWN_HEADER) == "1"
