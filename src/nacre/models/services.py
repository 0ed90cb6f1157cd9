"""Models behind web services: OpenAI's protocol (OpenAI, Ollama, vLLM, LM Studio and others) and Anthropic's.

Requests are JSON, with a limited number of tries, no redirects, and no key in any message.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException
from typing import IO
from urllib.parse import urlsplit

import numpy as np

from nacre.errors import EmbeddingServiceFailed, InvalidInput, LanguageModelError, NacreError
from nacre.models.embedders import PROBE, estimate_tokens, unit_rows
from nacre.models.language_model import answer_text
from nacre.protocols import Vectors

TIMEOUT_SECONDS = 60.0
ATTEMPTS = 4
TIMEOUTS_IN_ALL = 2  # all tries with their pauses end within this many time limits of one try
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 20.0
TOO_MANY_REQUESTS = 429
FIRST_SERVER_ERROR = 500
REASON_LENGTH = 200
LARGEST_ANSWER = 64 * 2**20  # bytes: a thousand vectors of 4,096 numbers take some 40 MB
LONGEST_EXPLANATION = 10_000  # bytes read of a refusal; a message shows 200 characters of it
BLOCK = 2**16
BEARER = ("Authorization", "Bearer ")


class JsonService:
    """One address that takes and returns JSON. Safe to use from several threads.

    `failure` turns a reason into the caller's own error; `key_header` is the header's name and what precedes the key.
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
        self._opener = urllib.request.build_opener(_NoRedirects)

    def post(self, request: Mapping[str, object]) -> object:
        """Repeats after temporary failures (refused connections, 429, 5xx), with growing pauses."""
        body = json.dumps(request).encode()
        pause, attempts_left = FIRST_PAUSE_SECONDS, ATTEMPTS
        deadline = time.monotonic() + self._timeout * TIMEOUTS_IN_ALL
        while True:
            answer = self._try(body)
            if isinstance(answer, bytes):
                return self._read(answer)
            attempts_left -= 1
            pause = min(answer.retry_after or pause, LONGEST_PAUSE_SECONDS)
            if not answer.temporary or not attempts_left or time.monotonic() + pause > deadline:
                raise self.failed(answer.reason)
            self._sleep(pause)
            pause *= 2

    def failed(self, reason: str) -> NacreError:
        # Some services quote the key that they refuse.
        without_key = reason.replace(self._key, "[key]") if self._key else reason
        return self._failure(" ".join(without_key.split())[:REASON_LENGTH])

    def _try(self, body: bytes) -> bytes | _Refusal:
        deadline = time.monotonic() + self._timeout
        request = urllib.request.Request(self._url, data=body, headers=self._headers, method="POST")
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                return read_limited(response, deadline)
        except _TooLarge:
            return _Refusal(f"its answer has more than {LARGEST_ANSWER // 2**20} MiB", temporary=False)
        except urllib.error.HTTPError as error:
            return _refusal(error)
        except TimeoutError:
            # The service is slow; asking again would only add to its work.
            return _Refusal(f"no answer within {self._timeout:g} s", temporary=False)
        except (OSError, HTTPException) as error:
            return _Refusal(str(getattr(error, "reason", error)) or type(error).__name__, temporary=True)

    def _read(self, answer: bytes) -> object:
        try:
            read: object = json.loads(answer)
        except (ValueError, RecursionError) as error:
            raise self.failed(f"its answer is not JSON: {answer[:REASON_LENGTH].decode(errors='replace')}") from error
        return read


@dataclass(frozen=True, slots=True)
class _Refusal:
    reason: str
    temporary: bool
    retry_after: float | None = None


class _TooLarge(Exception):
    pass


def read_limited(response: IO[bytes], deadline: float) -> bytes:
    """Reads the answer within a time limit: a slow service could otherwise send a byte a minute for ever.

    Raises `TimeoutError` and `_TooLarge`.
    """
    read = getattr(response, "read1", response.read)  # returns what has arrived, without waiting for a full block
    parts, size = [], 0
    while part := read(BLOCK):
        parts.append(part)
        size += len(part)
        if size > LARGEST_ANSWER:
            raise _TooLarge
        if time.monotonic() > deadline:
            raise TimeoutError
    return b"".join(parts)


def _refusal(error: urllib.error.HTTPError) -> _Refusal:
    try:
        with error:
            explanation = error.read(LONGEST_EXPLANATION).decode(errors="replace")
    except (OSError, HTTPException):
        explanation = "its explanation broke off"
    retry_after = error.headers.get("Retry-After", "")
    return _Refusal(
        f"HTTP {error.code}: {explanation}",
        temporary=error.code == TOO_MANY_REQUESTS or error.code >= FIRST_SERVER_ERROR,
        retry_after=float(retry_after) if retry_after.isdecimal() else None,
    )


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The standard handler would send the key to the host that it is redirected to."""

    def redirect_request(self, *_: object) -> None:
        return None


def _web_address(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise InvalidInput(f"{url!r} is not a web address; give one that starts with http:// or https://.")
    if "@" in urlsplit(url).netloc:
        raise InvalidInput("The web address contains a name or a password; set the key separately.")
    return url


def _usable_key(key: str | None) -> str:
    usable = (key or "").strip()
    # A header accepts no others, and the error of the standard library would quote the whole key.
    if not (usable.isascii() and usable.isprintable()):
        raise InvalidInput("The service's key contains characters that a key cannot have; copy it again.")
    return usable


Sleep = Callable[[float], None]

BATCH = 128  # services take up to 2,048 texts, but limit the tokens of a request too
TOKEN_LIMIT = 510  # the smallest among the common models


class OpenAIEmbedder:
    """`base_url` ends where `/embeddings` is to follow, such as http://localhost:11434/v1 for Ollama."""

    ready = True
    token_limit = TOKEN_LIMIT

    def __init__(self, base_url: str, model: str, api_key: str | None = None, *, sleep: Sleep = time.sleep) -> None:
        self.identity = f"openai:{model}"
        url = base_url.rstrip("/") + "/embeddings"
        failure = partial(EmbeddingServiceFailed, url)
        self._service = JsonService(url, failure, key=api_key, sleep=sleep)
        self._model = model
        self._dimensions: int | None = None

    @property
    def dimensions(self) -> int:
        if self._dimensions is None:
            self._dimensions = int(self._batch([PROBE]).shape[1])
        return self._dimensions

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return estimate_tokens(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        batches = [self._batch(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)]
        if batches and self._dimensions is None:
            self._dimensions = int(batches[0].shape[1])
        for rows in batches:
            if rows.shape[1] != self.dimensions:
                raise self._service.failed(f"rows of {rows.shape[1]} numbers instead of {self.dimensions}")
        return np.concatenate(batches) if batches else np.empty((0, self.dimensions), dtype=np.float32)

    def _batch(self, texts: Sequence[str]) -> Vectors:
        # Several services refuse an empty text; a space means the same and is accepted.
        answer = self._service.post({"model": self._model, "input": [text or " " for text in texts]})
        try:
            ordered = sorted(answer["data"], key=lambda entry: int(entry["index"]))  # type: ignore[index]
            return unit_rows([entry["embedding"] for entry in ordered], len(texts))
        except (ValueError, TypeError, KeyError) as error:
            raise self._service.failed(f"its answer cannot be read: {error!r}") from error


OPENAI_REMEDY = "Check that it runs, that the key and the model's name are right, and that max_tokens is not too small."
# Their newer models refuse `max_tokens`; other services know no other name.
RENAMED_LIMIT_HOSTS = ("openai.com", "openai.azure.com")


class OpenAILanguageModel:
    """`base_url` ends where `/chat/completions` is to follow, such as http://localhost:11434/v1 for Ollama."""

    def __init__(self, base_url: str, model: str, api_key: str | None = None, *, sleep: Sleep = time.sleep) -> None:
        self.identity = f"openai:{model}"
        url = base_url.rstrip("/") + "/chat/completions"
        failure = partial(LanguageModelError, f"{model} at {url}", remedy=OPENAI_REMEDY)
        self._service = JsonService(url, failure, key=api_key, sleep=sleep)
        self._limit_name = "max_completion_tokens" if _renamed_limit(url) else "max_tokens"
        self._model = model

    def complete(self, prompt: str, *, system: str = "", max_tokens: int = 512) -> str:
        messages = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": prompt})
        answer = self._service.post({"model": self._model, "messages": messages, self._limit_name: max_tokens})
        try:
            content: object = answer["choices"][0]["message"]["content"]  # type: ignore[index]
        except (TypeError, KeyError, IndexError) as error:
            raise self._service.failed(f"its answer cannot be read: {error!r}") from error
        return answer_text(content, self._service.failed)


def _renamed_limit(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return any(host == name or host.endswith(f".{name}") for name in RENAMED_LIMIT_HOSTS)


ANTHROPIC_URL = "https://api.anthropic.com"
ANTHROPIC_VERSION = "2023-06-01"  # of the protocol; the service supports every published version
ANTHROPIC_REMEDY = "Check the key, the model's name and the network, and that max_tokens is not too small."


class Anthropic:
    def __init__(self, model: str, api_key: str, base_url: str = ANTHROPIC_URL, *, sleep: Sleep = time.sleep) -> None:
        if not api_key.strip():
            raise InvalidInput("Anthropic's models need a key; set NACRE_LANGUAGE_MODEL_KEY.")
        self.identity = f"anthropic:{model}"
        self._model = model
        self._service = JsonService(
            base_url.rstrip("/") + "/v1/messages",
            partial(LanguageModelError, model, remedy=ANTHROPIC_REMEDY),
            key=api_key,
            key_header=("x-api-key", ""),
            headers={"anthropic-version": ANTHROPIC_VERSION},
            sleep=sleep,
        )

    def complete(self, prompt: str, *, system: str = "", max_tokens: int = 512) -> str:
        messages = [{"role": "user", "content": prompt}]
        instructed = {"system": system} if system else {}
        answer = self._service.post(
            {"model": self._model, "max_tokens": max_tokens, "messages": messages, **instructed}
        )
        try:
            blocks = [block["text"] for block in answer["content"] if block["type"] == "text"]  # type: ignore[index]
            text = "".join(blocks)
        except (TypeError, KeyError) as error:
            raise self._service.failed(f"its answer cannot be read: {error!r}") from error
        return answer_text(text, self._service.failed)
