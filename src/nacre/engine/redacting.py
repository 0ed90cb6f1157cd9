"""What is left of a memory whose content must go: that there was one, when, and what it was tied to."""

from __future__ import annotations

from dataclasses import replace

from nacre.model import Memory

REDACTED = "[redacted]"


def redacted(memory: Memory, now: float) -> Memory:
    return Memory(
        id=memory.id,
        space=memory.space,
        text=REDACTED,
        type=memory.type,
        metadata={"redacted": True},
        created_at=memory.created_at,
        updated_at=now,
        last_accessed=memory.last_accessed,
        access_count=memory.access_count,
        status="trashed",
        superseded_by=memory.superseded_by,
        superseded_at=memory.superseded_at,
        links=tuple(replace(link, data={}) for link in memory.links),
    )


def is_redacted(memory: Memory) -> bool:
    return memory.text == REDACTED and memory.metadata.get("redacted") is True
