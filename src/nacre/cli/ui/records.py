"""What the store returns, as JSON values and as short text for one line."""

from __future__ import annotations

import json
from collections.abc import Mapping

from nacre.cli.ui.columns import short
from nacre.cli.ui.output import shortened
from nacre.model import Conflict, Hit, JournalEntry, Memory, Operation
from nacre.model.instants import iso
from nacre.model.journal import MEMORY
from nacre.model.memory import NAMES, Json, plain
from nacre.model.review import ReviewItem

TIMES = (
    "created_at", "updated_at", "occurred_at", "valid_from", "valid_until", "expires_at", "last_accessed",
    "last_validated_at", "superseded_at",
)  # fmt: skip


def memory_record(memory: Memory) -> dict[str, Json]:
    """Every field is there, whether it was set or not: a script need not know the defaults."""
    return with_iso_times({name: plain(name, getattr(memory, name)) for name in NAMES})


def hit_record(hit: Hit) -> dict[str, Json]:
    return {
        **memory_record(hit.memory),
        "score": hit.score,
        "relevance": hit.relevance,
        "why": [{"signal": reason.signal, "score": reason.score, "detail": reason.detail} for reason in hit.why],
        "collapsed": list(hit.collapsed),
        "context": [memory_record(memory) for memory in hit.context],
    }


def entry_record(entry: JournalEntry) -> dict[str, Json]:
    return {
        "seq": entry.seq,
        "at": iso(entry.operation.at),
        "act": entry.operation.name,
        "actor": entry.operation.actor,
        "batch": entry.operation.batch,
        "why": entry.operation.why,
        "space": entry.space,
        "kind": entry.kind,
        "memory_id": entry.memory_id,
        "before": None if entry.before is None else with_iso_times(entry.before),
        "after": None if entry.after is None else with_iso_times(entry.after),
        "damaged": entry.damaged,
    }


def conflict_record(conflict: Conflict) -> dict[str, Json]:
    return {
        "kind": conflict.kind,
        "reason": conflict.reason,
        "similarity": round(conflict.similarity, 4),
        "words": {"newer": conflict.words[0], "older": conflict.words[1]},
        "newer": memory_record(conflict.a),
        "older": memory_record(conflict.b),
    }


def item_record(item: ReviewItem) -> dict[str, Json]:
    return {
        "id": item.id,
        "kind": item.kind,
        "why": item.why,
        "decisions": list(item.decisions),
        "word": item.word,
        "names": list(item.names),
        "conflict": None if item.conflict is None else conflict_record(item.conflict),
        "memory": None if item.memory is None or item.conflict is not None else memory_record(item.memory),
    }


def with_iso_times(fields: Mapping[str, Json]) -> dict[str, Json]:
    return {name: iso_or_none(value) if name in TIMES else value for name, value in fields.items()}


def iso_or_none(at: Json) -> Json:
    return iso(at) if isinstance(at, int | float) else None


NOTHING = "(nothing)"


def entry_subject(entry: JournalEntry) -> str:
    """Of a word of the vocabulary its kind and name, of a memory its short id."""
    return short(entry.memory_id) if entry.kind == MEMORY else f"{entry.kind} {entry.memory_id}".strip()


def entry_summary(entry: JournalEntry) -> str:
    """The text of a memory that came or went; of anything else that changed, what became of it."""
    if entry.damaged:
        return "(cannot be read)"
    why = f"({operation_reason(entry.operation)}) " if entry.operation.why else ""
    fields = entry.after if entry.before is None else entry.before if entry.after is None else None
    if fields is not None and entry.kind == MEMORY:
        return why + str(fields.get("text", ""))
    if entry.kind != MEMORY and entry.after is None:
        return f"{why}gone"
    return why + "; ".join(f"{name}: {became}" for name, (_, became) in field_changes(entry).items())


def operation_reason(operation: Operation) -> str:
    """An undo names the operations that it took back before the reason."""
    if operation.name != "undo":
        return operation.why
    batches, _, why = operation.why.partition(":")
    return "takes back " + ", ".join(map(short, batches.split(","))) + (f":{why}" if why else "")


def field_changes(entry: JournalEntry) -> dict[str, tuple[str, str]]:
    """Every field that the entry tells of, as it was and as it became; times, which follow from the rest, last."""
    before, after = entry.before or {}, entry.after or {}
    names = sorted(dict.fromkeys((*before, *after)), key=lambda name: name in TIMES)
    return {
        name: (field_text(name, before.get(name)), field_text(name, after.get(name)))
        for name in names
        if name != "updated_at"
    }


def field_text(name: str, value: Json) -> str:
    """As `what`, `changes` and a difference write it: short enough to stand beside another."""
    if value is None or value in ("", [], {}):
        return NOTHING
    if name in TIMES:
        return str(iso_or_none(value))
    if name == "links" and isinstance(value, list):
        return ", ".join(link_text(each) for each in value if isinstance(each, dict))
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def link_text(link: Mapping[str, Json]) -> str:
    weight = link.get("weight", 1.0)
    return f"{link.get('rel')} → {short(str(link.get('to')))}" + (f" ({weight:g})" if weight != 1.0 else "")


def undo_outcome(entry: JournalEntry) -> str:
    """What an undo left behind."""
    if entry.kind != MEMORY:
        return "is gone again" if entry.after is None else "is as it was before"
    if entry.after is None:
        return f"is no longer there: {shortened(str((entry.before or {}).get('text', '')))}"
    if entry.before is None:
        return f"is back: {shortened(str(entry.after.get('text', '')))}"
    changed = [name.replace("_", " ") for name in field_changes(entry)]
    return f"is as it was before: {', '.join(changed) or 'nothing had changed'}"
