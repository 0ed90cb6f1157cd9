"""Working memory: what a task needs at hand, in few slots; the least relevant makes room."""

from __future__ import annotations

import math

from nacre.engine.engine import Composed
from nacre.engine.review import trashed
from nacre.errors import InvalidInput
from nacre.minds.acting import Acting
from nacre.minds.numbering import ALL, begins
from nacre.minds.records import RELEVANCE, SLOT_TYPE, WorkingMemorySlot, relevance
from nacre.model import Memory
from nacre.remember.validate import required_label

WORKING, PREFIX = "working", "wrk_"
OURS = begins(PREFIX)
CAPACITY = 20  # slots of a task


class Working(Acting):
    WORKING_MEMORY_CAPACITY = CAPACITY

    def push_working(self, slot_type: str, content: str, task_id: str, relevance: float = 1.0) -> str:
        """A full task gives up its least relevant slot, among equals the oldest, to the trash; one act."""
        weight = finite(relevance)
        task = required_label("task_id", task_id)
        draft = self.store.draft(
            content,
            id_prefix=PREFIX,
            type=WORKING,
            session=task,
            metadata={SLOT_TYPE: required_label("slot_type", slot_type), RELEVANCE: weight},
            importance=min(1.0, max(0.0, weight)),
        )

        def decide() -> Composed:
            leaving = self._slots(task)[self.WORKING_MEMORY_CAPACITY - 1 :]
            return Composed(new=[draft], edits={memory.id: trashed for memory in leaving})

        self._act("push_working", [draft], decide)
        return draft.id

    def get_working(self, task_id: str) -> list[WorkingMemorySlot]:
        """The most relevant first, among equals the newest."""
        return [WorkingMemorySlot.of(memory) for memory in self._slots(required_label("task_id", task_id))]

    def clear_working(self, task_id: str) -> int:
        """Moves a task's slots to the trash, in one act; returns how many."""
        task = required_label("task_id", task_id)

        def decide() -> Composed:
            return Composed(edits={memory.id: trashed for memory in self._slots(task)})

        return len(self._act("clear_working", [], decide))

    def _slots(self, task: str) -> list[Memory]:
        newest_first = self.store.list_recent(ALL, session=task, where=OURS)
        return sorted(newest_first, key=lambda memory: -relevance(memory))


def finite(given: float) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        raise InvalidInput(f"relevance is {given!r}; give a number, the higher the more relevant.")
    return float(given)
