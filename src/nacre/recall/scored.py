"""A candidate on its way through the steps of a recall."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.model import Reason


@dataclass(frozen=True, slots=True)
class Scored:
    """A strategy that knows no `relevance` gives the `cosine` it saw, if it saw one."""

    id: str
    score: float
    why: tuple[Reason, ...]
    relevance: float | None = None
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class Ranking:
    """Best first."""

    found: tuple[Scored, ...] = ()
    notes: tuple[str, ...] = ()
