"""What a cognitive memory hands out: one value for each kind, read from a memory of the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum

from nacre.model import Memory
from nacre.model.memory import Json

PENDING, TRIGGERED, RESOLVED = "pending", "triggered", "resolved"
ARCHIVED = "archived"  # what a consolidated episode is to the rest of the store

# Keys of the metadata that belong to the mind; the caller's own keys are beside them.
MODALITY, SLOT_TYPE, RELEVANCE = "modality", "slot_type", "relevance"
STEPS, PREREQUISITES = "steps", "prerequisites"
TRIGGER, ACTION, STATE, PRIORITY = "trigger_condition", "action_on_trigger", "state", "priority"
HIGHEST = "highest_index"  # the highest number that there was, where a later memory got a lower one
ORIGINALS = "original_count"


class MemoryCategory(Enum):
    SENSORY = "sensory"
    WORKING = "working"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    PROSPECTIVE = "prospective"


def utc_now() -> datetime:
    """For values made by hand; values from the store have the store's time."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class SensoryItem:
    node_id: str
    modality: str
    raw_data: str
    observation_order: int
    expires_at: float
    created_at: datetime = field(default_factory=utc_now)

    @classmethod
    def of(cls, memory: Memory) -> SensoryItem:
        return cls(
            memory.id,
            text_in(memory, MODALITY),
            memory.text,
            memory.position or 0,
            memory.expires_at or 0.0,
            created(memory),
        )


@dataclass(frozen=True)
class WorkingMemorySlot:
    node_id: str
    slot_type: str
    content: str
    relevance: float
    task_id: str
    created_at: datetime = field(default_factory=utc_now)

    @classmethod
    def of(cls, memory: Memory) -> WorkingMemorySlot:
        return cls(
            memory.id, text_in(memory, SLOT_TYPE), memory.text, relevance(memory), memory.session, created(memory)
        )


@dataclass(frozen=True)
class EpisodicMemory:
    """`compressed`: it was consolidated into a summary."""

    node_id: str
    content: str
    source_label: str
    temporal_index: int
    compressed: bool = False
    created_at: datetime = field(default_factory=utc_now)
    metadata: dict[str, Json] = field(default_factory=dict)

    @classmethod
    def of(cls, memory: Memory) -> EpisodicMemory:
        return cls(
            memory.id,
            memory.text,
            memory.source,
            memory.position or 0,
            memory.status == ARCHIVED,
            created(memory),
            {key: value for key, value in memory.metadata.items() if key != HIGHEST},
        )


@dataclass(frozen=True)
class SemanticFact:
    node_id: str
    concept: str
    content: str
    confidence: float
    source_id: str = ""
    tags: list[str] = field(default_factory=list)
    metadata: dict[str, Json] = field(default_factory=dict)
    created_at: datetime = field(default_factory=utc_now)

    @classmethod
    def of(cls, memory: Memory) -> SemanticFact:
        return cls(
            memory.id,
            memory.title,
            memory.text,
            memory.confidence,
            memory.source,
            list(memory.tags),
            dict(memory.metadata),
            created(memory),
        )


@dataclass(frozen=True)
class ProceduralMemory:
    """`usage_count` is how often it had been recalled before."""

    node_id: str
    name: str
    steps: list[str] = field(default_factory=list)
    prerequisites: list[str] = field(default_factory=list)
    usage_count: int = 0
    created_at: datetime = field(default_factory=utc_now)

    @classmethod
    def of(cls, memory: Memory) -> ProceduralMemory:
        """A memory stored as plain text is a procedure with a single step."""
        steps = list_in(memory, STEPS) if STEPS in memory.metadata else [memory.text]
        needed = list_in(memory, PREREQUISITES)
        return cls(memory.id, memory.title or memory.text, steps, needed, memory.access_count, created(memory))


@dataclass(frozen=True)
class ProspectiveMemory:
    """`status` goes from pending to triggered to resolved; the higher the `priority`, the sooner."""

    node_id: str
    description: str
    trigger_condition: str
    action_on_trigger: str
    status: str = PENDING
    priority: int = 1
    created_at: datetime = field(default_factory=utc_now)

    @classmethod
    def of(cls, memory: Memory) -> ProspectiveMemory:
        return cls(
            memory.id,
            memory.text,
            text_in(memory, TRIGGER),
            text_in(memory, ACTION),
            text_in(memory, STATE) or PENDING,
            priority(memory),
            created(memory),
        )


@dataclass(frozen=True)
class ConsolidatedEpisode:
    node_id: str
    summary: str
    original_count: int
    created_at: datetime = field(default_factory=utc_now)

    @classmethod
    def of(cls, memory: Memory) -> ConsolidatedEpisode:
        return cls(memory.id, memory.text, int_in(memory.metadata, ORIGINALS, 0), created(memory))


def created(memory: Memory) -> datetime:
    return datetime.fromtimestamp(memory.created_at, UTC)


def relevance(memory: Memory) -> float:
    value = memory.metadata.get(RELEVANCE)
    return float(value) if isinstance(value, int | float) else memory.importance


def priority(memory: Memory) -> int:
    return int_in(memory.metadata, PRIORITY, 1)


def text_in(memory: Memory, key: str) -> str:
    value = memory.metadata.get(key)
    return value if isinstance(value, str) else ""


def int_in(metadata: Mapping[str, Json], key: str, default: int) -> int:
    value = metadata.get(key)
    return value if isinstance(value, int) else default


def list_in(memory: Memory, key: str) -> list[str]:
    value = memory.metadata.get(key)
    return [str(item) for item in value] if isinstance(value, list) else []
