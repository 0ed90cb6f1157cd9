"""What waits for a person's, or an agent's, decision."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.model.memory import Memory
from nacre.model.remembered import Conflict

KINDS = ("conflict", "unvalidated", "stale", "word")
# `newer` lets the newer memory take the older one's place, `older` the other way round.
DECISIONS: dict[str, tuple[str, ...]] = {
    "conflict": ("keep_both", "newer", "older", "merge", "trash_newer", "trash_older", "skip"),
    "unvalidated": ("validate", "trash", "skip"),
    "stale": ("validate", "trash", "skip"),
    "word": ("keep", "merge", "skip"),
}


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """`id` names it as long as it waits. A conflict has a `conflict`, a word a `word`, the others a `memory`."""

    id: str
    kind: str
    why: str
    memory: Memory | None = None
    conflict: Conflict | None = None
    word: str = ""

    @property
    def decisions(self) -> tuple[str, ...]:
        return DECISIONS[self.kind]
