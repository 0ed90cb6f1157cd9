"""How a caller may tune a recall: the weights of the published formulas, and the walk along links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

from nacre.errors import InvalidInput
from nacre.model.filter import Filter
from nacre.model.memory import Memory

RECENCY_BASES = ("created", "accessed")


@dataclass(frozen=True, slots=True)
class HybridWeights:
    """For `strategy="hybrid"`: shares of cosine, pool-local BM25, recency (`decay_rate` a day) and importance."""

    cosine: float = 0.55
    lexical: float = 0.20
    recency: float = 0.15
    importance: float = 0.10
    decay_rate: float = 0.1

    def __post_init__(self) -> None:
        shares = (self.cosine, self.lexical, self.recency, self.importance)
        if not any(shares):
            raise InvalidInput("All hybrid weights are 0, so nothing could be ranked; give at least one.")


@dataclass(frozen=True, slots=True)
class RankFusion:
    """For `strategy="rrf"`: each channel gives weight / (k + rank), ranks from 1."""

    k: float = 60.0
    meaning: float = 0.5
    words: float = 0.5

    def __post_init__(self) -> None:
        if self.k < 0:
            raise InvalidInput(f"The k of rank fusion is {self.k}; give 0 or more.")


@dataclass(frozen=True, slots=True)
class ExpandSpec:
    """Which links are walked from the hits, how far, how many memories they may add, and with which score."""

    rels: tuple[str, ...] = ("refines", "example_of")
    depth: int = 1
    cap: int = 5
    score: float = 0.70


@dataclass(frozen=True, slots=True)
class Query:
    """`emotion` is (valence, arousal); `contexts` are those that hold where the question is asked, `also` are further
    words to look for beside those of the question."""

    text: str
    k: int = 5
    where: Filter = field(default_factory=Filter)
    strategy: str = "auto"
    asked_at: float = 0.0
    group_by: str = ""
    with_context: int = 0
    min_relevance: float = 0.0
    contexts: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    emotion: tuple[float, float] | None = None
    emotion_weight: float = 0.3
    expand: ExpandSpec | None = None
    hybrid: HybridWeights = field(default_factory=HybridWeights)
    overfetch: int = 4
    recency_basis: str = "created"
    fusion: RankFusion = field(default_factory=RankFusion)
    collapse: bool = True  # notes of the same words stand once


@dataclass(frozen=True, slots=True)
class Reason:
    """What one signal gave to a hit: `signal` names it, `score` is its share, `detail` is for people."""

    signal: str
    score: float
    detail: str = ""

    def __str__(self) -> str:
        share = f"{self.score:.2f}" if abs(self.score) >= 0.095 else f"{self.score:.2g}"  # ranks give hundredths
        return f"{self.signal} {share}" + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True, slots=True)
class Hit:
    """`score` ranks the hits of one recall; `relevance`, from 0 to 1, can be compared between recalls.

    `context` holds the turns around it, if asked for, and `collapsed` the ids of near-equal memories it stands for.
    """

    memory: Memory
    score: float
    why: tuple[Reason, ...] = ()
    relevance: float = 0.0
    context: tuple[Memory, ...] = ()
    collapsed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionHit:
    """A whole conversation, with the turns that decided."""

    session: str
    score: float
    hits: tuple[Hit, ...]
    why: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Recollection(Sequence[Hit]):
    """The hits, best first; `notes` says what a reader should know of how they were found.

    `sessions` is filled when they were asked for by session; the hits are then the turns that decided. Unless
    `calibrated`, the relevance of the hits is no probability: nobody has measured what cosines of this embedder mean.
    """

    hits: tuple[Hit, ...] = ()
    notes: tuple[str, ...] = ()
    sessions: tuple[SessionHit, ...] = ()
    calibrated: bool = True

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
