"""What was asked and what came up, with the reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

from nacre.model.filter import Filter
from nacre.model.memory import Memory


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    k: int = 5
    where: Filter = field(default_factory=Filter)
    strategy: str = "auto"
    asked_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Reason:
    """What one signal gave to a hit: `signal` names it, `score` is its share, `detail` is for people."""

    signal: str
    score: float
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.signal} {self.score:.2f}" + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True, slots=True)
class Hit:
    memory: Memory
    score: float
    why: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Recollection(Sequence[Hit]):
    """The hits, best first; `notes` says what a reader should know of how they were found."""

    hits: tuple[Hit, ...] = ()
    notes: tuple[str, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)


@dataclass(frozen=True, slots=True)
class PackedMemory:
    memory: Memory
    score: float
    tokens: int


@dataclass(frozen=True, slots=True)
class Pack:
    """The best memories that fit a token budget, ready to be put before a model."""

    items: tuple[PackedMemory, ...]
    text: str
    used_tokens: int
    budget: int
    truncated: bool
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.items)

    def ids(self) -> list[str]:
        return [item.memory.id for item in self.items]
