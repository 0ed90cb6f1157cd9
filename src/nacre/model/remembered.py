"""What came of remembering something."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.model.memory import Memory


@dataclass(frozen=True, slots=True)
class Conflict:
    """`a` is the newer memory, `b` the one that stood before; `words` are those of each that decided.

    What is not `sure` is worth a look, and no more: nothing is superseded for its sake.
    """

    a: Memory
    b: Memory
    similarity: float
    kind: str
    reason: str
    words: tuple[str, str] = ("", "")
    sure: bool = True

    def __str__(self) -> str:
        decided = f" ({self.words[0]} / {self.words[1]})" if any(self.words) else ""
        return f"{self.kind} of {self.b.id} by {self.reason}{decided}"


@dataclass(frozen=True, slots=True)
class RememberResult:
    """`action` is stored, superseded (it took the place of others) or merged (`memory` is the one that stood)."""

    memory: Memory
    conflicts: tuple[Conflict, ...] = ()
    action: str = "stored"
    notes: tuple[str, ...] = ()
