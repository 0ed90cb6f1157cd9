"""Asks a web service in JSON: a bounded number of tries, no detours, and no key in any message."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from typing import IO
from urllib.parse import urlsplit

from nacre.errors import InvalidInput, NacreError

TIMEOUT_SECONDS = 60.0
ATTEMPTS = 4
TIMES_OVER = 2  # the time limit of one try; all tries together, with their pauses, end within this
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 20.0
TOO_MANY_REQUESTS = 429
FIRST_SERVER_ERROR = 500
REASON_LENGTH = 200
LARGEST_ANSWER = 64 * 2**20  # bytes: a thousand vectors of 4,096 numbers take some 40 MB
LONGEST_EXPLANATION = 10_000  # bytes of what is said with a refusal, of which a message shows 200 characters
BLOCK = 2**16
BEARER = ("Authorization", "Bearer ")


class JsonService:
    """One address that takes JSON and gives JSON. Safe to use from several threads.

    `failure` makes the caller's own error of a reason; `key_header` is the header's name and what precedes the key.
    """

    def __init__(
        self,
        url: str,
        failure: Callable[[str], NacreError],
        *,
        key: str | None = None,
        key_header: tuple[str, str] = BEARER,
        headers: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._url = _web_address(url)
        self._failure = failure
        self._key = _usable_key(key)
        self._headers = {"Content-Type": "application/json", **(headers or {})}
        if self._key:
            self._headers[key_header[0]] = key_header[1] + self._key
        self._timeout = timeout
        self._sleep = sleep
        self._opener = urllib.request.build_opener(_NoDetours)

    def post(self, asked: Mapping[str, object]) -> object:
        """Tries again, with growing pauses, what may pass: refused connections, 429 and 5xx."""
        body = json.dumps(asked).encode()
        pause, attempts_left = FIRST_PAUSE_SECONDS, ATTEMPTS
        over = time.monotonic() + self._timeout * TIMES_OVER
        while True:
            answer = self._try(body)
            if isinstance(answer, bytes):
                return self._read(answer)
            attempts_left -= 1
            pause = min(answer.wished_pause or pause, LONGEST_PAUSE_SECONDS)
            if not answer.passing or not attempts_left or time.monotonic() + pause > over:
                raise self.failed(answer.reason)
            self._sleep(pause)
            pause *= 2

    def failed(self, reason: str) -> NacreError:
        # Some services repeat the key they refuse.
        shown = reason.replace(self._key, "[key]") if self._key else reason
        return self._failure(" ".join(shown.split())[:REASON_LENGTH])

    def _try(self, body: bytes) -> bytes | _Refusal:
        until = time.monotonic() + self._timeout
        request = urllib.request.Request(self._url, data=body, headers=self._headers, method="POST")
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                return bounded(response, until)
        except _TooLarge:
            return _Refusal(f"its answer has more than {LARGEST_ANSWER // 2**20} MiB", passing=False)
        except urllib.error.HTTPError as error:
            return _refusal(error)
        except TimeoutError:
            # It has the question and is slow; the same question again would only add to its work.
            return _Refusal(f"no answer within {self._timeout:g} s", passing=False)
        except (OSError, HTTPException) as error:
            return _Refusal(str(getattr(error, "reason", error)) or type(error).__name__, passing=True)

    def _read(self, answer: bytes) -> object:
        try:
            read: object = json.loads(answer)
        except (ValueError, RecursionError) as error:
            raise self.failed(f"its answer is not JSON: {answer[:REASON_LENGTH].decode(errors='replace')}") from error
        return read


@dataclass(frozen=True, slots=True)
class _Refusal:
    reason: str
    passing: bool
    wished_pause: float | None = None


class _TooLarge(Exception):
    pass


def bounded(response: IO[bytes], until: float) -> bytes:
    """A service that sends a byte a minute keeps every single wait short: the whole answer has a time limit as well.

    Raises `TimeoutError` and `_TooLarge`.
    """
    read = getattr(response, "read1", response.read)  # what has come already, without waiting for a full block
    parts, size = [], 0
    while part := read(BLOCK):
        parts.append(part)
        size += len(part)
        if size > LARGEST_ANSWER:
            raise _TooLarge
        if time.monotonic() > until:
            raise TimeoutError
    return b"".join(parts)


def _refusal(error: urllib.error.HTTPError) -> _Refusal:
    try:
        with error:
            told = error.read(LONGEST_EXPLANATION).decode(errors="replace")
    except (OSError, HTTPException):
        told = "its explanation broke off"
    wished = error.headers.get("Retry-After", "")
    return _Refusal(
        f"HTTP {error.code}: {told}",
        passing=error.code == TOO_MANY_REQUESTS or error.code >= FIRST_SERVER_ERROR,
        wished_pause=float(wished) if wished.isdecimal() else None,
    )


class _NoDetours(urllib.request.HTTPRedirectHandler):
    """The standard handler would carry the key to whichever host it is sent on to, and the question to none."""

    def redirect_request(
        self,
        req: urllib.request.Request,  # noqa: ARG002
        fp: IO[bytes],  # noqa: ARG002
        code: int,  # noqa: ARG002
        msg: str,  # noqa: ARG002
        headers: HTTPMessage,  # noqa: ARG002
        newurl: str,  # noqa: ARG002
    ) -> None:
        return None


def _web_address(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise InvalidInput(f"{url!r} is no web address; give one that starts with http:// or https://.")
    if "@" in urlsplit(url).netloc:
        raise InvalidInput("The web address of a service holds a name or a password; give the key by itself instead.")
    return url


def _usable_key(key: str | None) -> str:
    usable = (key or "").strip()
    # A header takes no others, and the standard library would show the whole key in its complaint.
    if not (usable.isascii() and usable.isprintable()):
        raise InvalidInput("The service's key holds characters that no key has; copy it again.")
    return usable
