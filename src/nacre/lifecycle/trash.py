"""Empties the trash of what has lain there long enough for anyone to miss it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nacre.engine.redacting import is_redacted
from nacre.model import Filter, Memory
from nacre.model.instants import DAY
from nacre.store import MemoryStore

ACTOR = "trash"
GRACE_DAYS = 30.0


@dataclass(frozen=True, slots=True)
class Trash:
    """Until the grace period ends, `restore` and `undo` bring everything back; after it, nothing does."""

    store: MemoryStore
    grace_days: float = GRACE_DAYS

    def plan(self, now: float | None = None) -> tuple[Memory, ...]:
        at = self.store.now() if now is None else now
        edge = at - self.grace_days * DAY
        lain = Filter.where(status="trashed", updated_at__le=edge)
        found = self.store.iterate(where=lain, include_trashed=True, include_superseded=True, include_expired=True)
        return tuple(memory for memory in found if not is_redacted(memory) and not self._moved_since(memory, edge))

    def _moved_since(self, memory: Memory, edge: float) -> bool:
        """Whoever undid an undo of a `forget` brought back the time of the first, too; the journal has the last."""
        acts = self.store.journal(memory.id, limit=1)
        return bool(acts) and acts[0].act.at > edge

    def apply(self, plan: Sequence[Memory], *, why: str = "") -> int:
        """Deletes for good what has lain there untouched since the plan; returns how many."""
        planned = {memory.id: memory.updated_at for memory in plan}
        if not planned:
            return 0

        def still(memory: Memory) -> bool:
            return memory.status == "trashed" and memory.updated_at == planned[memory.id]

        told = why or f"{self.grace_days:g} days in the trash"
        return self.store.acting_as(ACTOR).purge(self.store.space, list(planned), only=still, why=told)
