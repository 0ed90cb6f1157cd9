"""Experiences to try things on, and a clock that the test sets."""

from __future__ import annotations

from datetime import datetime, timedelta

from nacre.memory_store import MemoryStore
from nacre.minds.experience import Experience, ExperienceType
from nacre.minds.experience_store import ExperienceStore
from nacre.model.memory import Json

NOON = datetime(2026, 6, 1, 12, 0, 0)
AGENT = "gardener"


class Clock:
    def __init__(self) -> None:
        self.at = NOON.timestamp()

    def __call__(self) -> float:
        return self.at

    def pass_days(self, days: float) -> None:
        self.at += days * 86_400


def make_experience(
    context: str = "pruned the old apple tree",
    outcome: str = "it bore twice as much",
    type: ExperienceType = ExperienceType.SUCCESS,
    *,
    days_ago: float = 0,
    confidence: float = 0.7,
    tags: list[str] | None = None,
    **metadata: Json,
) -> Experience:
    at = NOON - timedelta(days=days_ago)
    return Experience(type, context, outcome, confidence, at, metadata=metadata, tags=tags or [])


def opened(path: object, clock: Clock, **options: object) -> ExperienceStore:
    store = MemoryStore(str(path), space=AGENT, embedder="hashing", clock=clock, actor=AGENT)
    return ExperienceStore(AGENT, store=store, **options)  # type: ignore[arg-type]
