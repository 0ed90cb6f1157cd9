"""Procedural memory: how things are done, step by step; what is used often comes first."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.engine.engine import Composed
from nacre.errors import InvalidInput
from nacre.minds.acting import Acting
from nacre.minds.matching import MATCHES, matching
from nacre.minds.records import PREREQUISITES, STEPS, ProceduralMemory
from nacre.model import Filter, Link, Memory
from nacre.model.memory import Json
from nacre.remember.validate import label, memory_text, required_label

PROCEDURAL, PREFIX = "procedural", "proc_"
PROCEDURE_DERIVES_FROM = "procedure_derives_from"


class Procedures(Acting):
    def store_procedure(
        self, name: str, steps: Sequence[str], prerequisites: Sequence[str] | None = None, *, source_id: str = ""
    ) -> str:
        """`source_id` is the episode that taught it."""
        told = texts("steps", steps)
        needed = texts("prerequisites", () if prerequisites is None else prerequisites)
        title, source = required_label("name", name), label("source_id", source_id)
        draft = self.store.draft(
            "\n".join(f"{at}. {step}" for at, step in enumerate(told, start=1)) or title,
            id_prefix=PREFIX,
            type=PROCEDURAL,
            title=title,
            source=source,
            metadata={STEPS: [*told], PREREQUISITES: [*needed]},
            links=[Link(source, PROCEDURE_DERIVES_FROM)] if source and self.store.get(source) else (),
        )
        self._act("store_procedure", [draft], lambda: Composed(new=[draft]))
        return draft.id

    def recall_procedure(self, query: str, limit: int = 5) -> list[ProceduralMemory]:
        """Those that have a word of the question, the most used first, then the newest; for an empty question those of
        all, the most used first, then the oldest.

        What is returned has been used once more. A use is no act: it is not in the journal, and no undo takes it back.
        """
        if label("query", query):
            found = matching(self.store, query, Filter.where(type=PROCEDURAL))
            chosen = sorted(found, key=lambda memory: (-memory.access_count, -memory.created_at))[: max(0, limit)]
        else:
            chosen = self._most_used(max(0, limit))
        if chosen:
            index = self.store.acting_as(self.agent_name).store
            index.touch(self.store.space, [memory.id for memory in chosen], self.store.now())
        return [ProceduralMemory.of(memory) for memory in chosen]

    def _most_used(self, limit: int) -> list[Memory]:
        """However many there are: those never used are read no further than they are wanted."""
        used, unused = Filter.where(access_count__gt=0), Filter.where(access_count=0)
        found = self.store.list_recent(MATCHES, order="accessed", type=PROCEDURAL, where=used)
        rest = self.store.list_recent(limit, order="oldest", type=PROCEDURAL, where=unused) if limit else []
        return [*sorted(found, key=lambda memory: (-memory.access_count, memory.created_at)), *rest][:limit]


def texts(name: str, given: Sequence[str]) -> list[Json]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidInput(f"{name} must be a list of texts, not {type(given).__name__}; write [{given!r}].")
    return [memory_text(name, each) for each in given]
