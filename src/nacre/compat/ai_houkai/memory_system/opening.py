"""Opens AI-Houkai's store: a directory and a collection are a file and a space, whatever the user's own settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nacre.files import private_folder
from nacre.memory_store import MemoryStore as NativeStore
from nacre.protocols import Embedder
from nacre.settings import IN_MEMORY, Settings

from .collection import Client, Collection
from .journal import Journal, JournalEntry
from .records import ConflictFn, HybridWeights, Memory

MODEL = "all-MiniLM-L6-v2"
OWN = ("minilm", "hashing", "openai", "sentence-transformers")


class Opening:
    def __init__(
        self,
        path: str | Path = "./.chroma",
        collection: str = "ai_houkai",
        embedding_model: str = MODEL,
        *,
        conflict_policy: str = "ignore",
        conflict_threshold: float = 0.80,
        contradiction_fn: ConflictFn | None = None,
        hybrid_weights: HybridWeights | None = None,
        actor: str = "lib",
        journal_enabled: bool = True,
        journal_path: str | Path | None = None,
        journal_rotate_mb: float = 64,
        journal_keep_days: float = 90,
        embedding_fn: Embedder | Callable[..., Any] | None = None,
    ) -> None:
        self.path, self.collection_name, self.actor = str(path), collection, actor
        self.conflict_policy, self.conflict_threshold = conflict_policy, conflict_threshold
        self.contradiction_fn, self.hybrid_weights = contradiction_fn, hybrid_weights
        settings = settings_for(path, collection, embedding_model)
        self.native = NativeStore(settings=settings, embedder=embedding_fn, actor=actor)
        self.embedding_model = self.native.embedder.identity
        self.collection = Collection(self.native, collection)
        self.client = Client(self.native)
        place = Path(path).expanduser().absolute().parent / "journal.log" if journal_path is None else journal_path
        self.journal_enabled = journal_enabled and (journal_path is not None or str(path) != IN_MEMORY)
        self.journal = Journal(Path(place).expanduser(), journal_rotate_mb, journal_keep_days)

    @contextmanager
    def as_actor(self, name: str) -> Iterator[None]:
        """Within it, the journals tell what is done under this name."""
        own, native = self.actor, self.native
        self.actor, self.native = name, native.signed(name)
        try:
            yield
        finally:
            self.actor, self.native = own, native

    def get(self, memory_id: str) -> Memory | None:
        found = self.native.get(memory_id)
        return None if found is None or found.status == "trashed" else Memory.of(found)

    _get_by_id = get

    def _get_all_memories(self) -> list[Memory]:
        return self.collection._chosen(None)

    def _log(
        self,
        op: str,
        memory_id: str = "",
        *,
        before: dict[str, Any] | None = None,
        after: dict[str, Any] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> None:
        if self.journal_enabled:
            entry = JournalEntry(self.native.now(), op, self.actor, memory_id, before, after, meta or {})
            self.journal.append(entry)


def settings_for(path: str | Path, collection: str, model: str = MODEL) -> Settings:
    """Makes the directory, in which the file then lies."""
    folder = str(path)
    if folder != IN_MEMORY:
        place = Path(path).expanduser()
        private_folder(place)
        folder = str(place)
    return Settings(
        store=folder,
        space=collection,
        embedder=embedder_named(model),
        on_conflict="ignore",
        importance="fixed",
        emotion="off",
    )


def model_of_environment() -> str:
    """One for every door, or one would write vectors that another cannot read."""
    return os.environ.get("AI_HOUKAI_EMBEDDER") or MODEL


def embedder_named(model: str) -> str:
    if model in (MODEL, f"sentence-transformers/{MODEL}"):
        return "minilm"
    return model if model.partition(":")[0] in OWN else f"sentence-transformers:{model}"
