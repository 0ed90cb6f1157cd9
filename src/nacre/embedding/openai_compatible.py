"""Embeddings from any service that speaks OpenAI's protocol: OpenAI, Ollama, vLLM, LM Studio and others."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from http.client import HTTPException

import numpy as np

from nacre.embedding.rows import estimate_tokens, unit_rows
from nacre.errors import EmbeddingServiceFailed, InvalidInput
from nacre.ports import Vectors

BATCH = 128  # services take up to 2,048 texts, but limit the tokens of a request too
TIMEOUT_SECONDS = 60.0
ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 20.0
# The smallest limit among the common models; who knows a larger one says so.
DEFAULT_TOKEN_LIMIT = 510
TOO_MANY_REQUESTS = 429
FIRST_SERVER_ERROR = 500
REASON_LENGTH = 200
PROBE = "How many dimensions?"


class OpenAICompatible:
    """`base_url` ends where `/embeddings` is to follow, such as http://localhost:11434/v1 for Ollama."""

    ready = True

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        dimensions: int | None = None,
        *,
        token_limit: int = DEFAULT_TOKEN_LIMIT,
        timeout: float = TIMEOUT_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise InvalidInput(f"{base_url!r} is no web address; give one that starts with http:// or https://.")
        self.identity = f"openai:{model}"
        self.token_limit = token_limit
        self._url = base_url.rstrip("/") + "/embeddings"
        self._model = model
        self._api_key = api_key
        self._asked_dimensions = dimensions
        self._dimensions = dimensions
        self._timeout = timeout
        self._sleep = sleep

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
                raise self._failed(f"rows of {rows.shape[1]} numbers instead of {self.dimensions}")
        return np.concatenate(batches) if batches else np.empty((0, self.dimensions), dtype=np.float32)

    def _batch(self, texts: Sequence[str]) -> Vectors:
        # Several services refuse an empty text; a space means the same and is accepted.
        asked: dict[str, object] = {"model": self._model, "input": [text or " " for text in texts]}
        if self._asked_dimensions is not None:
            asked["dimensions"] = self._asked_dimensions
        answer = self._post(json.dumps(asked).encode())
        try:
            ordered = sorted(json.loads(answer)["data"], key=lambda entry: int(entry["index"]))
            return unit_rows([entry["embedding"] for entry in ordered], len(texts))
        except (ValueError, TypeError, KeyError) as error:
            raise self._failed(f"its answer cannot be read: {error!r:.{REASON_LENGTH}}") from error

    def _post(self, body: bytes) -> bytes:
        pause = FIRST_PAUSE_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._request(body)
            except urllib.error.HTTPError as error:
                with error:
                    reason = f"HTTP {error.code}: {self._without_key(error.read().decode(errors='replace'))}"
                passing = error.code == TOO_MANY_REQUESTS or error.code >= FIRST_SERVER_ERROR
                wished = error.headers.get("Retry-After", "")
                if wished.isdigit():
                    pause = float(wished)
            except (OSError, HTTPException) as error:
                reason, passing = str(getattr(error, "reason", error)), True
            if not passing or attempt == ATTEMPTS:
                break
            self._sleep(min(pause, LONGEST_PAUSE_SECONDS))
            pause *= 2
        raise self._failed(reason)

    def _request(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json"}
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        request = urllib.request.Request(self._url, data=body, headers=headers, method="POST")
        with urllib.request.urlopen(request, timeout=self._timeout) as response:
            answer: bytes = response.read()
        return answer

    def _without_key(self, text: str) -> str:
        # Some services repeat the key they refuse.
        shown = text.replace(self._api_key, "[key]") if self._api_key else text
        return " ".join(shown.split())[:REASON_LENGTH]

    def _failed(self, reason: str) -> EmbeddingServiceFailed:
        return EmbeddingServiceFailed(self._url, reason)
