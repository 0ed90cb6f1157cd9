"""What waits for a person's, or an agent's, decision."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.model.memory import Memory
from nacre.model.remembered import Conflict

KINDS = ("conflict", "unvalidated", "stale", "word", "entity")
# `newer` lets the newer memory take the older one's place, `older` the other way round.
DECISIONS: dict[str, tuple[str, ...]] = {
    "conflict": ("keep_both", "newer", "older", "merge", "trash_newer", "trash_older", "skip"),
    "unvalidated": ("validate", "trash", "skip"),
    "stale": ("validate", "trash", "skip"),
    "word": ("keep", "merge", "skip"),
    "entity": ("merge", "distinct", "skip"),
}


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """`id` names it as long as it waits. A conflict has a `conflict`, a word a `word`, an entity the `names`
    that may be one, the fuller first; the others have a `memory`."""

    id: str
    kind: str
    why: str
    memory: Memory | None = None
    conflict: Conflict | None = None
    word: str = ""
    names: tuple[str, ...] = ()

    @property
    def decisions(self) -> tuple[str, ...]:
        return DECISIONS[self.kind]
