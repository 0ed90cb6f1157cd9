"""AI-Houkai's reflection: similar episodes become one semantic memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from nacre.compat.ai_houkai.memory_system.store import Memory, MemoryStore
from nacre.lifecycle.reflection import ReflectionEngine as NativeEngine

ACTOR = "reflection"


@dataclass
class ReflectionEngine:
    store: MemoryStore
    similarity_threshold: float = 0.75
    min_cluster_size: int = 2
    summarizer: Callable[[list[Memory]], str] | None = None

    def clusters(self) -> list[list[Memory]]:
        return [[Memory.of(each) for each in group] for group in self._native().clusters()]

    def reflect(self, dry_run: bool = False, consolidate: bool | Literal["soft", "hard"] = False) -> list[Memory]:
        """`consolidate` lets each summary take its episodes' place; "hard" deletes them."""
        # Through the collection, as published: tests replace it.
        if len(self.store.collection.get(where={"type": "episodic"}, include=[])["ids"]) < self.min_cluster_size:
            return []
        written = [Memory.of(each) for each in self._native().reflect(dry_run, consolidate)]
        if not dry_run:
            with self.store.as_actor(ACTOR):
                for memory in written:
                    sources = [link.to for link in memory.links if link.rel == "derived_from"]
                    data = {"sources": sources, "consolidate": consolidate}
                    self.store._log("reflect", memory.id, after=memory.to_dict(), meta=data)
        return written

    def _native(self) -> NativeEngine:
        summarize = self.summarizer
        writer = "extractive" if summarize is None else lambda group: summarize([Memory.of(each) for each in group])
        # Every call uses all episodes, also those that were summarized before.
        return NativeEngine(
            self.store.native, self.similarity_threshold, self.min_cluster_size, writer, again=True, averaged=True
        )
