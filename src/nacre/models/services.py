"""Models behind web services: OpenAI's protocol (OpenAI, Ollama, vLLM, LM Studio and others) and Anthropic's."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from urllib.parse import urlsplit

import numpy as np

from nacre.errors import EmbeddingServiceFailed, InvalidInput, LanguageModelError
from nacre.models.embedders import estimate_tokens, unit_rows
from nacre.models.http_json import JsonService
from nacre.models.language_model import answer_text
from nacre.protocols import Vectors

Sleep = Callable[[float], None]

BATCH = 128  # services take up to 2,048 texts, but limit the tokens of a request too
TOKEN_LIMIT = 510  # the smallest among the common models
PROBE = "How many dimensions?"


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
