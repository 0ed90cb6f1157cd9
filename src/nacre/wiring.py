"""From settings to working parts; the only file that names a backend, and it imports none before it is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from nacre.config import IN_MEMORY as IN_MEMORY
from nacre.config import STORE_FILE, Settings
from nacre.errors import UnknownName
from nacre.ports import Embedder, Store

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

EmbedFunction: TypeAlias = "Callable[[Sequence[str]], ArrayLike]"
EMBEDDERS = ("minilm", "hashing", "openai:MODEL", "sentence-transformers:MODEL")


def open_store(path: Path | str) -> Store:
    """A directory gets a store of its own inside; `:memory:` is kept nowhere."""
    if str(path) == IN_MEMORY:
        from nacre.storage.in_memory import InMemoryStore

        return InMemoryStore()
    from nacre.storage.sqlite import SQLiteStore

    return SQLiteStore(store_file(path))


def store_file(path: Path | str) -> Path:
    file = Path(path).expanduser()
    return file / STORE_FILE if file.is_dir() or str(path).endswith(("/", "\\")) else file


def make_embedder(settings: Settings) -> Embedder:
    kind, _, model = settings.embedder.partition(":")
    if kind == "minilm":
        from nacre.embedding.minilm import MiniLM

        return MiniLM()
    if kind == "hashing":
        from nacre.embedding.hashing import Hashing

        return Hashing()
    if kind == "openai" and model:
        from nacre.embedding.openai_compatible import OpenAICompatible

        return OpenAICompatible(settings.embedder_url, model, api_key=settings.embedder_key or None)
    if kind == "sentence-transformers" and model:
        from nacre.embedding.sentence_transformers import SentenceTransformers

        return SentenceTransformers(model)
    raise UnknownName("embedder", settings.embedder, EMBEDDERS)


def embedder_from(given: Embedder | EmbedFunction | str | None, settings: Settings) -> Embedder:
    """A name, an embedder, any function from texts to rows, or None for what the settings say."""
    if given is None or isinstance(given, str):
        from dataclasses import replace

        return make_embedder(settings if given is None else replace(settings, embedder=given))
    if not callable(given):
        return given
    from nacre.embedding.from_callable import FromCallable

    return FromCallable(given, identity=f"callable:{getattr(given, '__name__', type(given).__name__)}")
