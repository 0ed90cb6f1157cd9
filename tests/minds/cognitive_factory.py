"""Agents with a mind for the tests: on a clock that the test sets, in memory and in a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nacre.memory_store import MemoryStore
from nacre.minds.cognitive import CognitiveMemory

MORNING = 1_790_000_000.0


@dataclass
class Watch:
    now: float = MORNING

    def __call__(self) -> float:
        return self.now


def mind_at(path: Path | str, watch: Watch, agent: str = "planner") -> CognitiveMemory:
    store = MemoryStore(path, space=agent, embedder="hashing", clock=watch)
    return CognitiveMemory(agent, store=store)


def operations(mind: CognitiveMemory) -> int:
    return len({entry.operation.batch for entry in mind.store.journal(limit=None)})
