"""Opens stores in the folders of amplihack-memory-lib, by the caller's arguments and never by the user's settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

from nacre.factory import EmbedFunction
from nacre.memory_store import MemoryStore
from nacre.minds.mind import Mind
from nacre.protocols import Embedder
from nacre.settings import Settings

Embedding: TypeAlias = "Embedder | EmbedFunction | str | None"


def default_path(*parts: str) -> Path:
    return Path.home().joinpath(".amplihack", *parts)


def strip_name(agent_name: str) -> str:
    return agent_name.strip() if isinstance(agent_name, str) else agent_name


class OwnDatabase(Mind):
    embedding: Embedding = None

    def _open_store(self, path: Path | str | None) -> MemoryStore:
        name = self.agent_name
        settings = Settings(embedder="english", rerank_ms=0.0)
        return MemoryStore(path, space=name, actor=name, embedder=self.embedding, settings=settings)


class Mutable:
    """A native value that may be changed: those of the older system were never frozen."""

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
