"""Experiences of a gardener."""

from __future__ import annotations

from datetime import datetime, timedelta

from nacre.compat.amplihack_memory import Experience, ExperienceType


def make_experience(
    context: str = "Sowed the beans early",
    outcome: str = "Frost took half of them",
    type: ExperienceType = ExperienceType.SUCCESS,
    confidence: float = 0.8,
    days_ago: float = 0.0,
) -> Experience:
    return Experience(type, context, outcome, confidence, timestamp=datetime.now() - timedelta(days=days_ago))
