"""Makes one ranking of several, so that no channel's scale can drown another's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nacre.model import Reason
from nacre.ports import Match

# Each strategy names its channels and their shares of the score.
STRATEGIES: Mapping[str, Mapping[str, float]] = {
    "auto": {"meaning": 0.5, "words": 0.5},
    "semantic": {"meaning": 1.0},
    "keyword": {"words": 1.0},
}


@dataclass(frozen=True, slots=True)
class Fused:
    id: str
    score: float
    why: tuple[Reason, ...]
    span: tuple[int, int] | None = None


def fuse(channels: Mapping[str, Sequence[Match]], strategy: str) -> list[Fused]:
    """Weighted sum of each channel's scores, divided by its best: a channel has its say, no more."""
    shares = STRATEGIES[strategy]
    reasons: dict[str, list[Reason]] = defaultdict(list)
    spans: dict[str, tuple[int, int]] = {}
    for name, matches in channels.items():
        best = max((match.score for match in matches), default=0.0)
        for rank, match in enumerate(matches, start=1):
            given = shares.get(name, 1.0) * max(match.score, 0.0) / best if best > 0 else 0.0
            reasons[match.id].append(Reason(name, given, f"rank {rank}, {match.score:.2f}"))
            if match.span is not None:
                spans[match.id] = match.span
    fused = [Fused(id, sum(r.score for r in why), tuple(why), spans.get(id)) for id, why in reasons.items()]
    return sorted(fused, key=lambda each: -each.score)
