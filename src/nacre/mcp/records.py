"""Memories as an agent sees them: lines of text inside a fence that marks them as data, and nowhere else.

Several clients pass the structured content of an answer to their model instead of its text, so the tools of Nacre's own
profiles return none. What a program needs (ids, dates, relevance, space, trust) is in the answer's `_meta`, which no
model reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from nacre.mcp.tool import Answer, ToolSession
from nacre.model import Conflict, Hit, JournalEntry, Memory, Recollection
from nacre.model.fence import escaped, fenced
from nacre.model.instants import iso
from nacre.model.journal import MEMORY
from nacre.model.memory import SUSPICION, Json, short_id
from nacre.model.review import ReviewItem

LONGEST_TEXT = 4_000  # characters, about a thousand tokens: one long memory must not fill a context
DECIMALS = 4
OPERATION = 8  # characters of an operation's id, which name it as those of a memory do
QUOTED = 80  # characters of a memory in a list of operations


def cut(text: str, longest: int = LONGEST_TEXT) -> str:
    rest = len(text) - longest
    return text if rest <= 0 else f"{text[:longest]} … ({rest:,} more characters; `history` with its id has all)"


def reference(memory: Memory) -> dict[str, Json]:
    """What a program needs to know of a memory; nothing of what it says."""
    return {"id": memory.id, "space": memory.space, "at": iso(memory.happened_at), "trust": memory.trust}


def references(memories: Iterable[Memory]) -> list[Json]:
    return [reference(each) for each in memories]


def hit_reference(hit: Hit) -> dict[str, Json]:
    return {**reference(hit.memory), "relevance": round(hit.relevance, DECIMALS)}


def suspicion(memory: Memory) -> dict[str, Json]:
    """The mark of a memory that gives orders, for records whose shape another system has decided."""
    from nacre.recall.pack import SUSPICIOUS

    return {"untrusted": SUSPICIOUS} if SUSPICION in memory.metadata else {}


def line(memory: Memory, *marks: str, shorten: bool = True, label: str = "") -> str:
    """One memory as text: its short id after `label`, type and text, then `marks`."""
    from nacre.recall.pack import memory_line

    shortened = replace(memory, text=cut(memory.text)) if shorten else memory
    name = f"{label} {short_id(memory.id)}".lstrip()
    return memory_line(shortened, (*marks, f"space {memory.space}"), label=name)


def full_line(memory: Memory) -> str:
    """The whole text, and the fields that an agent can set."""
    fields = {
        "title": memory.title,
        "tags": ", ".join(memory.tags),
        "about": ", ".join(memory.entities),
        "links": ", ".join(f"{each.rel} {short_id(each.to)}" for each in memory.links),
        "status": "" if memory.status in ("short_term", "long_term") else memory.status,
        "importance": f"{memory.importance:.2g}",
        "confidence": "" if memory.confidence == 1.0 else f"{memory.confidence:.2g}",
    }
    pinned = ("pinned",) if memory.pinned else ()
    marks = (f"{name} {value}" for name, value in fields.items() if value)
    return line(memory, *marks, *pinned, shorten=False)


def listing(memories: Iterable[Memory], nothing: str) -> str:
    lines = [line(each) for each in memories]
    return fenced(lines) if lines else nothing


def hit_lines(hits: Recollection) -> list[str]:
    """Each with its strength in a word, where relevance is calibrated."""
    return [line(hit.memory, *([hit.strength] if hits.calibrated else ()), *hit.marks) for hit in hits]


def memories_answer(memories: Sequence[Memory], nothing: str) -> Answer:
    """`nothing` is the text where there are none."""
    return Answer({"memories": references(memories)}, listing(memories, nothing))


def ids_answer(name: str, ids: Sequence[str], done: str, nothing: str) -> Answer:
    """The ids that something was done to, under `name`; `nothing` is the text where there are none."""
    text = f"{done}: {', '.join(escaped(short_id(id)) for id in ids)}." if ids else nothing
    return Answer({name: list(ids)}, text)


def conflict_record(each: Conflict) -> dict[str, Json]:
    return {
        "kind": each.kind,
        "reason": each.reason,
        "similarity": round(each.similarity, DECIMALS),
        "newer": reference(each.a),
        "older": reference(each.b),
    }


def review_record(item: ReviewItem) -> dict[str, Json]:
    pair = (item.conflict.a, item.conflict.b) if item.conflict else (item.memory,)
    memories = references(each for each in pair if each is not None)
    return {"id": item.id, "kind": item.kind, "decisions": list(item.decisions), "memories": memories}


def memories_of(session: ToolSession, entries: Iterable[JournalEntry]) -> dict[str, Memory]:
    """The memories that the entries are about, as they are now, or where they are gone, as they came or went; by id."""
    changed = {entry.memory_id: entry for entry in entries if entry.kind == MEMORY}
    memories = {memory.id: memory for memory in session.store.get_many(list(changed))}
    for id, entry in changed.items():
        image = entry.before if entry.after is None else entry.after if entry.before is None else None
        if id not in memories and image is not None:  # a whole one
            memories[id] = Memory.from_dict({**image, "id": id, "space": entry.space})
    return {id: session.store.clean(memory) for id, memory in memories.items()}


def journal_answer(session: ToolSession, entries: Sequence[JournalEntry]) -> Answer:
    """The reasons quote whoever gave them, and the memories are quoted, so they are inside the fence."""
    done = [(entry, entry.operation) for entry in entries]
    data: list[Json] = [
        {"operation": each.batch, "what": each.name, "at": iso(each.at), "actor": each.actor, "memory": entry.memory_id}
        for entry, each in done
    ]
    memories = memories_of(session, entries)
    lines = [
        f"- {escaped(each.batch[:OPERATION])}: {escaped(each.name)} {escaped(short_id(entry.memory_id))} "
        f"at {iso(each.at)} by {escaped(each.actor)}"
        + (f" [{escaped(each.why)}]" if each.why else "")
        + quoted(memories.get(entry.memory_id))
        for entry, each in done
    ]
    return Answer({"operations": data}, fenced(lines) if lines else "Nothing was done yet.")


def quoted(memory: Memory | None) -> str:
    """Its beginning, by which a reader knows it. A text that gives orders is not quoted."""
    if memory is None or SUSPICION in memory.metadata:
        return ""
    text = memory.title or memory.text
    return f": {escaped(text[:QUOTED])}" + ("…" if len(text) > QUOTED else "")
