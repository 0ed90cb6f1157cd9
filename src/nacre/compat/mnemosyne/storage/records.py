"""Mnemosyne's memory as the one record keeps it, and back."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from nacre.model import Link
from nacre.model import Memory as Record
from nacre.remember.validate import LONGEST_LABEL, Fields
from nacre.text.emotion import quadrant

from ..core.models import EmotionalContext, Memory, MemoryStatus, MemoryType

OWN = "mnemosyne"  # the key in the metadata under which stands what the record has no field for
KINDS = [kind.value for kind in MemoryType]  # another face may keep a type that Mnemosyne does not know
RELATED, DERIVED_FROM = "related", "derived_from"


def fields_of(memory: Memory) -> Fields:
    fields = Fields(
        id=memory.id,
        type=memory.memory_type.value,
        status=memory.status.value,
        tags=tuple(memory.tags),
        importance=within(memory.importance_score, 0.0),
        created_at=memory.created_at.timestamp(),
        last_accessed=memory.last_accessed.timestamp(),
        access_count=memory.access_count,
        links=(
            *(Link(id, RELATED) for id in memory.related_memory_ids),
            *(Link(id, DERIVED_FROM) for id in memory.source_memory_ids),
        ),
    )
    own: dict[str, Any] = {}
    if memory.content.startswith(memory.summary) or len(memory.summary) > LONGEST_LABEL:
        own |= {"summary": memory.summary} if memory.summary else {}  # a title that repeats the text would weigh twice
    else:
        fields["title"] = memory.summary
    if felt := memory.emotional_context:
        fields["valence"], fields["arousal"] = within(felt.valence, -1.0), within(felt.arousal, -1.0)
        own["quadrant"] = felt.quadrant
    fields["metadata"] = {**memory.metadata, OWN: own} if own else memory.metadata
    return fields


def record_of(memory: Memory) -> Record:
    return Record(text=memory.content, **fields_of(memory))  # type: ignore[arg-type, misc]


def memory_of(record: Record) -> Memory:
    metadata: dict[str, Any] = dict(record.metadata)
    own = metadata.pop(OWN, {})
    felt = None
    if record.valence is not None:
        arousal = record.arousal or 0.0
        felt = EmotionalContext(record.valence, arousal, own.get("quadrant") or quadrant(record.valence, arousal))
    return Memory(
        id=record.id,
        content=record.text,
        summary=record.title or own.get("summary", ""),
        memory_type=MemoryType(record.type if record.type in KINDS else "semantic"),
        status=MemoryStatus(record.status),
        created_at=datetime.fromtimestamp(record.created_at),
        last_accessed=datetime.fromtimestamp(record.last_accessed),
        access_count=record.access_count,
        emotional_context=felt,
        related_memory_ids=[link.to for link in record.links if link.rel == RELATED],
        source_memory_ids=[link.to for link in record.links if link.rel == DERIVED_FROM],
        tags=list(record.tags),
        metadata=metadata,
        importance_score=record.importance,
    )


def within(figure: float, low: float) -> float:
    return min(1.0, max(low, figure))
