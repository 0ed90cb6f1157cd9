"""What a cognitive memory hands out: open records whose times are local and without a zone, as `datetime.now()` is."""

from datetime import datetime
from typing import Any

from nacre.compat.amplihack_memory._base import Open
from nacre.minds import records
from nacre.minds.records import MemoryCategory as MemoryCategory


class Local(Open):
    created_at: datetime

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        if self.created_at.tzinfo is not None:
            self.created_at = self.created_at.astimezone().replace(tzinfo=None)


class SensoryItem(Local, records.SensoryItem): ...


class WorkingMemorySlot(Local, records.WorkingMemorySlot): ...


class EpisodicMemory(Local, records.EpisodicMemory): ...


class SemanticFact(Local, records.SemanticFact): ...


class ProceduralMemory(Local, records.ProceduralMemory): ...


class ProspectiveMemory(Local, records.ProspectiveMemory): ...


class ConsolidatedEpisode(Local, records.ConsolidatedEpisode): ...
