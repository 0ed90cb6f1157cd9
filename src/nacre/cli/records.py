"""Memories, hits and journal entries as plain JSON values: full ids, times in ISO 8601."""

from __future__ import annotations

from collections.abc import Mapping

from nacre.model import Hit, JournalEntry, Memory
from nacre.model.instants import iso
from nacre.model.memory import NAMES, Json, plain

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
        "memory_id": entry.memory_id,
        "before": None if entry.before is None else dated(entry.before),
        "after": None if entry.after is None else dated(entry.after),
    }


def dated(fields: Mapping[str, Json]) -> dict[str, Json]:
    return {name: told(value) if name in TIMES else value for name, value in fields.items()}


def told(at: Json) -> Json:
    return iso(at) if isinstance(at, int | float) else None
