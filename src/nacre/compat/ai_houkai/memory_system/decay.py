"""AI-Houkai's decay: memories whose score is below the threshold are deleted."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.compat.ai_houkai.memory_system.store import Memory, MemoryStore
from nacre.lifecycle.decay import simple


@dataclass
class DecayEngine:
    store: MemoryStore
    decay_rate: float = 0.1
    min_score: float = 0.05
    protect_types: tuple[str, ...] = ("procedural",)

    def score(self, mem: Memory, now: float | None = None) -> float:
        at = self.store.native.now() if now is None else now
        return simple(mem.native(""), at, self.decay_rate)

    def score_all(self, now: float | None = None) -> list[tuple[Memory, float]]:
        """All of them, superseded ones too, the strongest first."""
        at = self.store.native.now() if now is None else now
        scored = [(memory, self.score(memory, at)) for memory in self.store._get_all_memories()]
        return sorted(scored, key=lambda pair: -pair[1])

    def prune(self, dry_run: bool = False, now: float | None = None) -> list[Memory]:
        """What was deleted, or would be."""
        weak = (memory for memory, score in self.score_all(now) if score < self.min_score)
        faded = [memory for memory in weak if memory.type not in self.protect_types]
        if faded and not dry_run:
            with self.store.as_actor("decay"):
                self.store.native.purge(*(memory.id for memory in faded))
                for memory in faded:
                    self.store._log("decay", memory.id, before=memory.to_dict())
        return faded
