"""Embeddings from any service that speaks OpenAI's protocol: OpenAI, Ollama, vLLM, LM Studio and others."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from nacre.errors import EmbeddingServiceFailed
from nacre.models.http_json import TIMEOUT_SECONDS, JsonService
from nacre.models.vectors import estimate_tokens, unit_rows
from nacre.protocols import Vectors

BATCH = 128  # services take up to 2,048 texts, but limit the tokens of a request too
# The smallest limit among the common models; who knows a larger one says so.
DEFAULT_TOKEN_LIMIT = 510
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
        self.identity = f"openai:{model}"
        self.token_limit = token_limit
        url = base_url.rstrip("/") + "/embeddings"
        self._service = JsonService(
            url, lambda reason: EmbeddingServiceFailed(url, reason), key=api_key, timeout=timeout, sleep=sleep
        )
        self._model = model
        self._asked_dimensions = dimensions
        self._dimensions = dimensions

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
        asked: dict[str, object] = {"model": self._model, "input": [text or " " for text in texts]}
        if self._asked_dimensions is not None:
            asked["dimensions"] = self._asked_dimensions
        answer = self._service.post(asked)
        try:
            ordered = sorted(answer["data"], key=lambda entry: int(entry["index"]))  # type: ignore[index]
            return unit_rows([entry["embedding"] for entry in ordered], len(texts))
        except (ValueError, TypeError, KeyError) as error:
            raise self._service.failed(f"its answer cannot be read: {error!r}") from error
