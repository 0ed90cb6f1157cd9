"""The values that a cognitive memory returns: mutable, with local times without a zone, as `datetime.now()` gives."""

from datetime import datetime
from typing import Any

from nacre.compat.amplihack_memory._base import Mutable
from nacre.minds import cognitive as records
from nacre.minds.cognitive import MemoryCategory as MemoryCategory


class LocalTimes(Mutable):
    created_at: datetime

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        if self.created_at.tzinfo is not None:
            self.created_at = self.created_at.astimezone().replace(tzinfo=None)


class SensoryItem(LocalTimes, records.SensoryItem): ...


class WorkingMemorySlot(LocalTimes, records.WorkingMemorySlot): ...


class EpisodicMemory(LocalTimes, records.EpisodicMemory): ...


class SemanticFact(LocalTimes, records.SemanticFact): ...


class ProceduralMemory(LocalTimes, records.ProceduralMemory): ...


class ProspectiveMemory(LocalTimes, records.ProspectiveMemory): ...


class ConsolidatedEpisode(LocalTimes, records.ConsolidatedEpisode): ...
