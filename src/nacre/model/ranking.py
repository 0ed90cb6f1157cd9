"""How a caller may tune a recall: the weights of the published formulas, and the walk along links."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.errors import InvalidInput

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
