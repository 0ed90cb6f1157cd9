"""What the store gives, as plain JSON values: full ids, times in ISO 8601."""

from __future__ import annotations

from collections.abc import Mapping

from nacre.model import Conflict, Edge, Hit, JournalEntry, Memory
from nacre.model.instants import iso
from nacre.model.memory import NAMES, Json, plain
from nacre.model.review import ReviewItem

TIMES = (
    "created_at",
    "updated_at",
    "occurred_at",
    "valid_from",
    "valid_until",
    "expires_at",
    "last_accessed",
    "last_validated_at",
    "superseded_at",
)


def memory_record(memory: Memory) -> dict[str, Json]:
    """Every field is there, whether it was set or not: a script need not know the defaults."""
    return dated({name: plain(name, getattr(memory, name)) for name in NAMES})


def hit_record(hit: Hit) -> dict[str, Json]:
    why: list[Json] = [{"signal": reason.signal, "score": reason.score, "detail": reason.detail} for reason in hit.why]
    around: list[Json] = [memory_record(memory) for memory in hit.context]
    told: dict[str, Json] = {
        "score": hit.score,
        "relevance": hit.relevance,
        "why": why,
        "collapsed": list(hit.collapsed),
    }
    return {**memory_record(hit.memory), **told, "context": around}


def entry_record(entry: JournalEntry) -> dict[str, Json]:
    return {
        "seq": entry.seq,
        "at": iso(entry.act.at),
        "act": entry.act.name,
        "actor": entry.act.actor,
        "batch": entry.act.batch,
        "why": entry.act.why,
        "space": entry.space,
        "kind": entry.kind,
        "memory_id": entry.memory_id,
        "before": None if entry.before is None else dated(entry.before),
        "after": None if entry.after is None else dated(entry.after),
        "damaged": entry.damaged,
    }


def edge_record(edge: Edge) -> dict[str, Json]:
    return {
        "source": edge.source,
        "target": edge.target,
        "rel": edge.rel,
        "weight": edge.weight,
        "walks": edge.walks,
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


def dated(fields: Mapping[str, Json]) -> dict[str, Json]:
    return {name: told(value) if name in TIMES else value for name, value in fields.items()}


def told(at: Json) -> Json:
    return iso(at) if isinstance(at, int | float) else None
