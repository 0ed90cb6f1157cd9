"""Memories as an agent is shown them: short records, and lines inside a fence that says that they are data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from nacre.model.fence import escaped, fenced
from nacre.model.instants import iso

if TYPE_CHECKING:
    from nacre.model import Conflict, Hit, JournalEntry, Memory
    from nacre.model.memory import Json
    from nacre.model.review import ReviewItem

LONGEST_SHOWN = 4_000  # characters, some thousand tokens: one long memory must not fill a context unasked
SHORT_ID = 8  # characters that an agent reads and may give back; a longer start is asked for where they fit two
DECIMALS = 4


def short_id(id: str) -> str:
    return id[:SHORT_ID] if len(id) > SHORT_ID + 4 and id[SHORT_ID] == "-" else id


def cut(text: str) -> str:
    rest = len(text) - LONGEST_SHOWN
    return text if rest <= 0 else f"{text[:LONGEST_SHOWN]} … ({rest:,} more characters; `history` with its id has all)"


def brief_record(memory: Memory) -> dict[str, Json]:
    """What an agent needs to use a memory; fields that say nothing are left out."""
    return {**full_record(memory), "text": cut(memory.text)}


def full_record(memory: Memory) -> dict[str, Json]:
    told: dict[str, Json] = {"id": memory.id, "text": memory.text, "type": memory.type}
    further: dict[str, Json] = {
        "title": memory.title,
        "tags": list(memory.tags),
        "source": memory.source,
        "when": iso(memory.happened_at),
        "superseded_by": memory.superseded_by,
        "status": "" if memory.status in ("short_term", "long_term") else memory.status,
    }
    told |= {name: value for name, value in further.items() if value}
    return {**told, "importance": round(memory.importance, DECIMALS)}


def hit_record(hit: Hit) -> dict[str, Json]:
    return {
        **brief_record(hit.memory),
        "relevance": round(hit.relevance, DECIMALS),
        "why": [str(each) for each in hit.why[:3]],
    }


def line(memory: Memory, *marks: str, shorten: bool = True) -> str:
    """One memory for reading: the id that names it, then its type and text, then what the store says of it."""
    from nacre.recall.pack import memory_line

    shown = replace(memory, text=cut(memory.text)) if shorten else memory
    return memory_line(shown, marks, label=short_id(memory.id))


def listing(memories: Iterable[Memory], nothing: str, notes: Iterable[str] = ()) -> str:
    """Notes are ours, and stand outside the fence."""
    lines = [line(memory) for memory in memories]
    return "\n".join([fenced(lines) if lines else nothing, *map(escaped, notes)])


def conflict_record(each: Conflict) -> dict[str, Json]:
    return {
        "kind": each.kind,
        "reason": each.reason,
        "similarity": round(each.similarity, DECIMALS),
        "newer": brief_record(each.a),
        "older": brief_record(each.b),
    }


def review_record(item: ReviewItem) -> dict[str, Json]:
    told: dict[str, Json] = {"id": item.id, "kind": item.kind, "why": item.why, "decisions": list(item.decisions)}
    if item.conflict is not None:
        told |= {"newer": brief_record(item.conflict.a), "older": brief_record(item.conflict.b)}
    elif item.memory is not None:
        told["memory"] = brief_record(item.memory)
    if item.word:
        told["word"] = item.word
    if item.names:
        told["names"] = list(item.names)
    return told


def entry_record(entry: JournalEntry) -> dict[str, Json]:
    return {
        "act": entry.operation.batch,
        "what": entry.operation.name,
        "at": iso(entry.operation.at),
        "actor": entry.operation.actor,
        "memory": entry.memory_id,
        "why": entry.operation.why,
    }
