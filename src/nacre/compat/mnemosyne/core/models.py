"""Mnemosyne's values as its callers make and read them; they are plain and may be changed in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any
from uuid import uuid4

from nacre.lifecycle import consolidation
from nacre.model import Memory as Record
from nacre.model.instants import DAY
from nacre.text.emotion import salience

from .constants import CONSOLIDATION_IMPORTANCE_THRESHOLD, CONSOLIDATION_SIMILARITY_THRESHOLD


class MemoryType(Enum):
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    EMOTIONAL = "emotional"


class MemoryStatus(Enum):
    SHORT_TERM = "short_term"
    CONSOLIDATING = "consolidating"
    LONG_TERM = "long_term"
    ARCHIVED = "archived"


@dataclass
class EmotionalContext:
    """`quadrant` is the caller's own word, usually excited, frustrated, calm or depleted."""

    valence: float
    arousal: float
    quadrant: str

    @property
    def salience(self) -> float:
        return salience(self.valence, self.arousal)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "salience": self.salience}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EmotionalContext:
        return cls(data["valence"], data["arousal"], data["quadrant"])


@dataclass
class Memory:
    """Times without a zone are local ones."""

    id: str = field(default_factory=lambda: str(uuid4()))
    content: str = ""
    summary: str = ""
    memory_type: MemoryType = MemoryType.EPISODIC
    status: MemoryStatus = MemoryStatus.SHORT_TERM
    created_at: datetime = field(default_factory=datetime.now)
    last_accessed: datetime = field(default_factory=datetime.now)
    access_count: int = 0
    emotional_context: EmotionalContext | None = None
    related_memory_ids: list[str] = field(default_factory=list)
    source_memory_ids: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    importance_score: float = 0.5

    def to_dict(self) -> dict[str, Any]:
        return {
            **vars(self),
            "memory_type": self.memory_type.value,
            "status": self.status.value,
            "created_at": self.created_at.isoformat(),
            "last_accessed": self.last_accessed.isoformat(),
            "emotional_context": self.emotional_context.to_dict() if self.emotional_context else None,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Memory:
        felt = data.get("emotional_context")
        read = {
            "memory_type": MemoryType(data["memory_type"]),
            "status": MemoryStatus(data["status"]),
            "created_at": datetime.fromisoformat(data["created_at"]),
            "last_accessed": datetime.fromisoformat(data["last_accessed"]),
            "emotional_context": EmotionalContext.from_dict(felt) if felt else None,
        }
        known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        return cls(**{**known, "id": data["id"], "content": data["content"], **read})

    def mark_accessed(self) -> None:
        self.last_accessed = datetime.now(self.last_accessed.tzinfo)
        self.access_count += 1

    def compute_importance(self) -> float:
        """Ages in whole days, so that what is younger than a day counts as new."""
        days = max(0, (datetime.now(self.created_at.tzinfo) - self.created_at).days)
        felt = self.emotional_context
        mood = (felt.valence, felt.arousal) if felt else (None, None)
        record = Record(self.id, self.content, valence=mood[0], arousal=mood[1], access_count=self.access_count)
        return consolidation.worth(record, record.created_at + days * DAY)


@dataclass
class ConsolidationConfig:
    """`min_cluster_size` has no effect, as in Mnemosyne: a single important memory is promoted too."""

    importance_threshold: float = CONSOLIDATION_IMPORTANCE_THRESHOLD
    min_age_hours: float = 1
    max_batch_size: int = 50
    buffer_threshold: int = 100
    similarity_threshold: float = CONSOLIDATION_SIMILARITY_THRESHOLD
    min_cluster_size: int = 2


@dataclass
class MemoryCluster:
    memories: list[Memory] = field(default_factory=list)
    centroid_embedding: list[float] = field(default_factory=list)
    avg_importance: float = 0.0
    dominant_type: MemoryType = MemoryType.EPISODIC


@dataclass
class ConsolidationReport(consolidation.ConsolidationReport):
    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
