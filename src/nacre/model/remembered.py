"""What came of remembering something."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.model.memory import Memory


@dataclass(frozen=True, slots=True)
class Conflict:
    """`a` is the newer memory, `b` the one that stood before."""

    a: Memory
    b: Memory
    similarity: float
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class RememberResult:
    memory: Memory
    conflicts: tuple[Conflict, ...] = ()
    action: str = "stored"
    notes: tuple[str, ...] = ()
