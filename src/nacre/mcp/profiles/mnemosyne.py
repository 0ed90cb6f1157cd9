"""Mnemosyne's eight tools with its names, arguments, defaults and answers, for agents that know those."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from nacre.mcp.records import suspicion
from nacre.mcp.tool import ToolSession, read_profile
from nacre.model.instants import iso
from nacre.model.memory import Json, Memory
from nacre.model.validate import FEELING, emotion_value, fraction

SUMMARY_LENGTH = 500
CHARACTERS_A_TOKEN = 4
HOUR = 3600.0
CANDIDATES = 20
SHORT_TERM = ("short_term", "consolidating")
LONG_TERM = ("long_term",)
GROUPED = 2  # natively a single memory can be promoted; Mnemosyne needs two


def store_memory(
    session: ToolSession,
    content: str,
    summary: str | None = None,
    memory_type: str = "episodic",
    tags: list[str] | None = None,
    emotional_context: dict[str, Any] | None = None,
) -> dict[str, Json]:
    fields: dict[str, Any] = {"title": summary} if summary else {}
    if emotional_context is not None:
        fields["valence"], fields["arousal"] = feeling(emotional_context)
    stored = session.store.remember(content, type=memory_type, tags=tags or [], **fields)
    return {"id": stored.id, "importance_score": worth_of(stored, session), "status": "stored"}


def search_memories(
    session: ToolSession,
    query: str,
    n_results: int = 10,
    use_hybrid: bool = True,
    emotional_context: dict[str, Any] | None = None,
    emotion_weight: float = 0.3,
) -> dict[str, Json]:
    hits = session.store.recall(
        query,
        n_results,
        strategy="rrf" if use_hybrid else "semantic",
        emotion=None if emotional_context is None else feeling(emotional_context),
        emotion_weight=emotion_weight,
    )
    results: list[Json] = [{**memory_record(hit.memory, session), "relevance_score": hit.score} for hit in hits]
    return {"query": query, "hybrid_search": use_hybrid, "results": results}


def consolidate_memories(
    session: ToolSession, importance_threshold: float = 0.6, similarity_threshold: float = 0.85
) -> dict[str, Json]:
    from nacre.lifecycle.consolidation import ConsolidationConfig, Consolidator

    config = ConsolidationConfig(
        importance_threshold=fraction("importance_threshold", importance_threshold),
        similarity_threshold=fraction("similarity_threshold", similarity_threshold),
        min_cluster_size=GROUPED,
    )
    session.progress(0, 1, "consolidating")
    report = Consolidator(session.store, config).consolidate()
    session.progress(1, 1, "consolidating")
    return asdict(report)


def should_consolidate(session: ToolSession) -> dict[str, Json]:
    from nacre.lifecycle.consolidation import Consolidator

    due, reason = Consolidator(session.store).should_consolidate()
    short, long = counts(session)
    return {"should_consolidate": due, "reason": reason, "short_term_count": short, "long_term_count": long}


def get_memory_stats(session: ToolSession) -> dict[str, Json]:
    short, long = counts(session)
    return {"total_memories": short + long, "short_term": short, "long_term": long}


def get_memory_context(session: ToolSession, query: str, max_tokens: int = 2000) -> dict[str, Json]:
    used, truncated = 0, False
    memories: list[Json] = []
    for hit in session.store.recall(query, CANDIDATES, strategy="rrf"):
        line = f"[{iso(hit.memory.created_at)}] {hit.memory.text}"
        tokens = len(line) // CHARACTERS_A_TOKEN
        if used + tokens > max_tokens:
            truncated = True
            break
        used += tokens
        memories.append({**memory_record(hit.memory, session), "relevance_score": hit.score})
    return {"query": query, "memories": memories, "token_count": used, "truncated": truncated}


def delete_memory(session: ToolSession, memory_id: str) -> dict[str, Json]:
    return {"id": memory_id, "deleted": session.store.forget(memory_id)}


def get_recent_memories(session: ToolSession, hours: float = 24, limit: int = 20) -> dict[str, Json]:
    stored = session.store.list_recent(max(0, limit), since=session.store.now() - hours * HOUR)
    memories: list[Json] = [memory_record(session.store.clean(each), session) for each in stored]
    return {"hours": hours, "count": len(memories), "memories": memories}


def feeling(context: dict[str, Any]) -> tuple[float, float]:
    """Raises `InvalidInput` for what is no number; one out of range is the nearest in it, as in Mnemosyne."""
    valence, arousal = (bounded(name, context.get(name) or 0.0) for name in ("valence", "arousal"))
    return valence, arousal


def bounded(name: str, value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value):
        low, high = FEELING
        value = min(high, max(low, value))
    return emotion_value(name, value)


def memory_record(memory: Memory, session: ToolSession) -> dict[str, Json]:
    from nacre.text.emotion import quadrant

    valence, arousal = memory.valence, memory.arousal or 0.0
    felt: Json = None
    if valence is not None:
        felt = {"valence": valence, "arousal": arousal, "quadrant": quadrant(valence, arousal)}
    return {
        "id": memory.id,
        "content": memory.text,
        "summary": memory.title or memory.text[:SUMMARY_LENGTH],
        "memory_type": memory.type,
        "tags": list(memory.tags),
        "emotional_context": felt,
        "importance_score": worth_of(memory, session),
        "created_at": iso(memory.created_at),
        **suspicion(memory),
    }


def worth_of(memory: Memory, session: ToolSession) -> float:
    from nacre.lifecycle.consolidation import worth

    return worth(memory, session.store.now())


def counts(session: ToolSession) -> tuple[int, int]:
    return session.store.count(status=SHORT_TERM), session.store.count(status=LONG_TERM)


PROFILE = read_profile(
    "mnemosyne", store_memory, search_memories, consolidate_memories, should_consolidate, get_memory_stats,
    get_memory_context, delete_memory, get_recent_memories, refusing=lambda sentence: {"error": sentence},
)  # fmt: skip
