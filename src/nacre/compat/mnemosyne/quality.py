"""Mnemosyne's score of a memory: relevance, recency and importance, with factors for length, type, role and use."""

from __future__ import annotations

from nacre.compat.mnemosyne.config.settings import RetrievalSettings
from nacre.model.memory import Memory, clamp

HOUR = 3600.0
MOST = 2.0  # the most that length, type, role and use together may multiply by
# Small compared with the published factors of type and role; a memory never used keeps the published value.
QUALITY_USE_SPAN, MANY_USES = 0.1, 10


def quality(memory: Memory, relevance: float, now: float, settings: RetrievalSettings) -> float:
    """From 0 to 1; `relevance` is from 0 to 1 too."""
    hours = min(max(0.0, now - last_used(memory)) / HOUR, settings.max_recency_hours)
    recency = settings.recency_decay_rate**hours
    shares = (settings.relevance_weight, settings.recency_weight, settings.importance_weight)
    added = sum(share * value for share, value in zip(shares, (relevance, recency, memory.importance), strict=True))
    return clamp(added / sum(shares) * min(MOST, factors(memory, settings))) if any(shares) else 0.0


def last_used(memory: Memory) -> float:
    """For a memory that was never used, its creation."""
    return memory.last_accessed if memory.access_count else memory.created_at


def factors(memory: Memory, settings: RetrievalSettings) -> float:
    length = min(len(memory.text), settings.max_content_length) / settings.max_content_length
    kind = settings.semantic_type_factor if memory.type == "semantic" else 1.0
    said = {memory.role, *memory.tags}
    speaker = settings.user_role_factor if "user" in said else 1.0
    role = settings.assistant_role_factor if "assistant" in said else speaker
    return length * kind * role * (1 + QUALITY_USE_SPAN * min(1.0, memory.access_count / MANY_USES))
