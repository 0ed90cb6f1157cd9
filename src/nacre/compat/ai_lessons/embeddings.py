"""The embedding functions of ai-lessons: backends by configuration, vectors as lists of numbers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property

from nacre.errors import UnknownName
from nacre.factory import make_embedder
from nacre.protocols import Embedder
from nacre.settings import Settings

from .config import MINILM, Config, EmbeddingConfig, get_config

URLS = {  # services that speak OpenAI's protocol
    "openai": "https://api.openai.com/v1",
    "cohere": "https://api.cohere.ai/compatibility/v1",
    "local-llm": "http://localhost:11434/v1",
}
HASHING = "hashing"  # needs no model: for trials and tests
BACKENDS = ("sentence-transformers", *URLS, HASHING)


@dataclass(frozen=True)
class EmbeddingBackend:
    """`name`, `url` and `key` have the values of a store's settings."""

    name: str
    url: str = URLS["openai"]
    key: str = ""

    @cached_property
    def embedder(self) -> Embedder:
        return make_embedder(Settings(embedder=self.name, embedder_url=self.url, embedder_key=self.key))

    @property
    def dimensions(self) -> int:
        return self.embedder.dimensions

    def embed(self, text: str) -> list[float]:
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: list[str]) -> list[list[float]]:
        return [[float(number) for number in row] for row in self.embedder.embed(texts)]


def SentenceTransformersBackend(model_name: str = MINILM, device: str | None = None) -> EmbeddingBackend:  # noqa: N802, ARG001
    """The default model needs no such package; `device` is ignored."""
    return EmbeddingBackend("english" if model_name == MINILM else f"sentence-transformers:{model_name}")


def OpenAIBackend(model_name: str = "text-embedding-3-small", api_key: str | None = None) -> EmbeddingBackend:  # noqa: N802
    return backend_of(EmbeddingConfig("openai", model_name, api_key))


def backend_of(chosen: EmbeddingConfig) -> EmbeddingBackend:
    """Raises `UnknownName`, a ValueError."""
    if chosen.backend == "sentence-transformers":
        return SentenceTransformersBackend(chosen.model)
    if chosen.backend == HASHING:
        return EmbeddingBackend(HASHING)
    if chosen.backend not in URLS:
        raise UnknownName("embedding backend", chosen.backend, BACKENDS)
    variable = f"{chosen.backend.upper().replace('-', '_')}_API_KEY"
    key = chosen.api_key or os.environ.get(variable, "")
    return EmbeddingBackend(f"openai:{chosen.model}", URLS[chosen.backend], key)


def get_embedder(config: Config | None = None) -> EmbeddingBackend:
    return backend_of((config or get_config()).embedding)


_embedder: EmbeddingBackend | None = None


def reload_embedder(config: Config | None = None) -> None:
    global _embedder
    _embedder = get_embedder(config)


def embed_batch(texts: list[str], config: Config | None = None) -> list[list[float]]:
    if _embedder is None or _embedder != get_embedder(config):  # a model is loaded once
        reload_embedder(config)
    assert _embedder is not None
    return _embedder.embed_batch(texts)


def embed_text(text: str, config: Config | None = None) -> list[float]:
    return embed_batch([text], config)[0]
