"""Memories as an agent sees them: short JSON records, and text lines inside a fence that marks them as data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from nacre.mcp.tool import Answer
from nacre.model import Conflict, Hit, JournalEntry, Memory
from nacre.model.fence import escaped, fenced
from nacre.model.instants import iso
from nacre.model.memory import SUSPICION, Json
from nacre.model.review import ReviewItem

LONGEST_TEXT = 4_000  # characters, about a thousand tokens: one long memory must not fill a context
SHORT_ID = 8  # characters of an id that an agent sees and may use
DECIMALS = 4


def short_id(id: str) -> str:
    return id[:SHORT_ID] if len(id) > SHORT_ID + 4 and id[SHORT_ID] == "-" else id


def cut(text: str) -> str:
    rest = len(text) - LONGEST_TEXT
    return text if rest <= 0 else f"{text[:LONGEST_TEXT]} … ({rest:,} more characters; `history` with its id has all)"


def brief_record(memory: Memory) -> dict[str, Json]:
    """What an agent needs of a memory, with a long text cut. Empty fields are left out."""
    return {**full_record(memory), "text": cut(memory.text)}


def full_record(memory: Memory) -> dict[str, Json]:
    fields: dict[str, Json] = {"id": memory.id, "text": memory.text, "type": memory.type}
    further: dict[str, Json] = {
        "title": memory.title,
        "tags": list(memory.tags),
        "source": memory.source,
        "when": iso(memory.happened_at),
        "superseded_by": memory.superseded_by,
        "untrusted": SUSPICION in memory.metadata,  # it gives orders to a model
        "status": "" if memory.status in ("short_term", "long_term") else memory.status,
    }
    fields |= {name: value for name, value in further.items() if value}
    return {**fields, "importance": round(memory.importance, DECIMALS)}


def hit_record(hit: Hit) -> dict[str, Json]:
    return {
        **brief_record(hit.memory),
        "relevance": round(hit.relevance, DECIMALS),
        "why": [str(each) for each in hit.why[:3]],
    }


def line(memory: Memory, *marks: str, shorten: bool = True) -> str:
    """One memory as text: its short id, type and text, then `marks`."""
    from nacre.recall.pack import memory_line

    shortened = replace(memory, text=cut(memory.text)) if shorten else memory
    return memory_line(shortened, marks, label=short_id(memory.id))


def listing(memories: Iterable[Memory], nothing: str, notes: Iterable[str] = ()) -> str:
    """Notes come from this program, so they are outside the fence."""
    lines = [line(memory) for memory in memories]
    return "\n".join([fenced(lines) if lines else nothing, *map(escaped, notes)])


def memories_answer(memories: Sequence[Memory], nothing: str) -> Answer:
    """`nothing` is the text where there are none."""
    return Answer({"memories": [brief_record(each) for each in memories]}, listing(memories, nothing))


def conflict_record(each: Conflict) -> dict[str, Json]:
    return {
        "kind": each.kind,
        "reason": each.reason,
        "similarity": round(each.similarity, DECIMALS),
        "newer": brief_record(each.a),
        "older": brief_record(each.b),
    }


def review_record(item: ReviewItem) -> dict[str, Json]:
    fields: dict[str, Json] = {"id": item.id, "kind": item.kind, "why": item.why, "decisions": list(item.decisions)}
    if item.conflict is not None:
        fields |= {"newer": brief_record(item.conflict.a), "older": brief_record(item.conflict.b)}
    elif item.memory is not None:
        fields["memory"] = brief_record(item.memory)
    if item.word:
        fields["word"] = item.word
    if item.names:
        fields["names"] = list(item.names)
    return fields


def entry_record(entry: JournalEntry) -> dict[str, Json]:
    return {
        "act": entry.operation.batch,
        "what": entry.operation.name,
        "at": iso(entry.operation.at),
        "actor": entry.operation.actor,
        "memory": entry.memory_id,
        "why": entry.operation.why,
    }
