"""CognitiveMemory: the six kinds of memory of one agent, as people are thought to have them."""

from __future__ import annotations

from nacre.minds.episodes import EPISODIC
from nacre.minds.facts import Facts
from nacre.minds.numbering import NUMBERED
from nacre.minds.procedures import Procedures
from nacre.minds.prospects import Prospects
from nacre.minds.records import MemoryCategory
from nacre.minds.sensory import Sensory
from nacre.minds.working import Working


class CognitiveMemory(Sensory, Working, Facts, Procedures, Prospects):
    """Everything it keeps is a memory of the agent's space, which no other agent sees and every other face of the
    store does. Each method that writes is one act, which `store.undo()` takes back; only expired observations go for
    good. Safe to use from any number of threads and processes at once.
    """

    def get_statistics(self) -> dict[str, int]:
        """How many memories of each kind can be seen, and in all. Consolidated episodes count as episodes."""
        counts = {kind.value: self._count(kind.value) for kind in MemoryCategory}
        return {**counts, "total": sum(counts.values())}

    def _count(self, kind: str) -> int:
        if kind == EPISODIC:
            return self.store.count(type=kind, where=NUMBERED, include_archived=True)
        return self.store.count(type=kind)
