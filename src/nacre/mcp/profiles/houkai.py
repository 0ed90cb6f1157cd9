"""AI-Houkai's fifteen tools with its names, arguments, defaults and answers, for agents that know those."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, cast

from nacre.errors import ConflictError, NacreError
from nacre.mcp.profiles.core import place_of
from nacre.mcp.profiles.maintenance import ARCHIVES, tick
from nacre.mcp.records import suspicion
from nacre.mcp.tool import ToolSession, read_profile, without_commands
from nacre.model import Conflict, Direction
from nacre.model.memory import MAY_REPLACE, TRASHED, Json, Memory, clamp

Mode = Literal["semantic", "hybrid"]
ACCESSED = "accessed"  # there recency counts from the last use, natively from the creation
DECIMALS = 4


def remember(
    session: ToolSession, text: str, type: str = "semantic", tags: list[str] | None = None, importance: float = 0.5,
    source: str | None = None, on_conflict: Literal["ignore", "warn", "supersede", "raise"] = "ignore",
    polarity: int = 0
) -> dict[str, Json]:  # fmt: skip
    policy, importance = "note" if on_conflict == "warn" else on_conflict, clamp(importance)
    try:
        stored = session.store.remember_result(
            text, type=type, tags=tags or [], importance=importance, source=source or "", polarity=polarity,
            on_conflict=policy,
        )  # fmt: skip
    except ConflictError as error:
        conflicts = [cast("Conflict", each) for each in error.conflicts]
        return {"stored": False, "conflicts": [conflict_record(session.clean(each)) for each in conflicts]}
    answer: dict[str, Json] = {"id": stored.memory.id, "stored": True}
    if stored.action == "known":
        answer["known"] = True
    if stored.conflicts:
        answer["conflicts"] = [conflict_record(session.clean(each)) for each in stored.conflicts]
    return answer


def recall(
    session: ToolSession, query: str, k: int = 5, type: str | None = None, tag: str | None = None,
    min_importance: float | None = None, mode: Mode = "semantic", overfetch: int = 4, include_superseded: bool = False
) -> list[Json]:  # fmt: skip
    hits = session.store.recall(
        query, k, strategy=mode, overfetch=overfetch, recency_basis=ACCESSED, type=type, tag=tag,
        min_importance=min_importance, include_superseded=include_superseded,
    )  # fmt: skip
    return [{**dated(hit.memory), "score": round(hit.score, DECIMALS)} for hit in hits]


def recall_pack(
    session: ToolSession, query: str, token_budget: int = 800, type: str | None = None, tag: str | None = None,
    min_importance: float | None = None, mode: Mode = "hybrid", max_items: int = 50, include_superseded: bool = False
) -> dict[str, Json]:  # fmt: skip
    packed = session.store.recall_pack(
        query, token_budget=token_budget, max_items=max_items, fence=True, strategy=mode, recency_basis=ACCESSED,
        type=type, tag=tag, min_importance=min_importance, include_superseded=include_superseded,
    )  # fmt: skip
    return {
        "text": packed.text,
        "used_tokens": packed.used_tokens,
        "budget": packed.budget,
        "truncated": packed.truncated,
        "items": [
            {**plain(each.memory), "score": round(each.score, DECIMALS), "tokens": each.tokens} for each in packed.items
        ],
    }


def forget(session: ToolSession, memory_id: str) -> dict[str, Json]:
    return {"deleted": session.store.forget(memory_id)}


def list_recent(session: ToolSession, limit: int = 20, include_superseded: bool = False) -> list[Json]:
    memories = session.store.list_recent(max(0, limit), include_superseded=include_superseded)
    return [dated(each) for each in session.clean_all(memories)]


def stats(session: ToolSession) -> dict[str, Json]:
    store = session.store
    return {"count": store.count(include_superseded=True), "path": place_of(store), "collection": store.space}


def link(session: ToolSession, src_id: str, dst_id: str, rel: str = "related") -> dict[str, Json]:
    try:
        session.store.link(src_id, dst_id, rel)
    except NacreError as error:
        return refused(error)
    return {"ok": True, "src_id": src_id, "dst_id": dst_id, "rel": rel}


def unlink(session: ToolSession, src_id: str, dst_id: str, rel: str | None = None) -> dict[str, Json]:
    return {"removed": session.store.unlink(src_id, dst_id, rel)}


def neighbors(
    session: ToolSession, memory_id: str, rel: str | None = None, direction: Direction = "both", depth: int = 1
) -> list[Json]:
    """There only what is deleted is left out, and only links that somebody made are followed."""
    followed = rel or [name for name in session.store.relations() if name != MAY_REPLACE]
    matches = session.store.neighbors(memory_id, rel=followed, direction=direction, depth=depth, include_hidden=True)
    kept = (each for each in matches.neighbors if each.memory.status != TRASHED)
    return [{**plain(session.store.clean(each.memory)), "rel": each.rel} for each in kept]


def find_conflicts(session: ToolSession, memory_id: str | None = None, threshold: float | None = None) -> list[Json]:
    conflicts = session.store.find_conflicts(memory_id, threshold=threshold, progress=session.progress)
    return [conflict_record(session.clean(each)) for each in conflicts]


def supersede(session: ToolSession, old_id: str, new_id: str) -> dict[str, Json]:
    try:
        session.store.supersede(old_id, new_id)
    except NacreError as error:
        return refused(error)
    return {"ok": True, "old_id": old_id, "new_id": new_id}


def maintenance_tick(session: ToolSession, reflect_apply: bool = False) -> dict[str, Json]:
    done = tick(session, reflect_apply=reflect_apply)
    (ran_decay, decayed, decay_error), (ran_reflect, reflected, reflect_error) = map(done.outcome, ("decay", "reflect"))
    counts: dict[str, Json] = {"ran_decay": ran_decay, "ran_reflect": ran_reflect, "decayed": decayed}
    errors: dict[str, Json] = {"decay_error": decay_error, "reflect_error": reflect_error}
    return {"summary": done.summary(), **counts, "reflected": reflected, **errors}


def journal_tail(
    session: ToolSession, n: int = 20, op: str | None = None, since_seconds: float | None = None
) -> list[Json]:
    since = None if since_seconds is None else session.store.now() - since_seconds
    return [
        {
            "ts": each.operation.at,
            "op": each.operation.name,
            "actor": each.operation.actor,
            "id": each.memory_id,
            "summary": f"{each.operation.name} {each.memory_id[:8]} by {each.operation.actor}",
            "meta": {"batch": each.operation.batch, "why": each.operation.why},
        }
        for each in session.store.journal(operation=op, since=since, limit=max(0, n))
    ]


def refused(error: NacreError) -> dict[str, Json]:
    return {"ok": False, "error": without_commands(PROFILE, str(error))}


def plain(memory: Memory) -> dict[str, Json]:
    fields: dict[str, Json] = {"id": memory.id, "text": memory.text, "type": memory.type}
    return {**fields, "tags": list(memory.tags), "importance": memory.importance, **suspicion(memory)}


def dated(memory: Memory) -> dict[str, Json]:
    return {**plain(memory), "created_at": memory.created_at, "superseded_by": memory.superseded_by}


def conflict_record(conflict: Conflict) -> dict[str, Json]:
    return {
        "kind": conflict.kind,
        "reason": conflict.reason,
        "similarity": round(conflict.similarity, DECIMALS),
        "a": plain(conflict.a),
        "b": plain(conflict.b),
    }


OWN = read_profile(
    "houkai", remember, recall, recall_pack, forget, list_recent, stats, link, unlink, neighbors, find_conflicts,
    supersede, maintenance_tick, journal_tail,
)  # fmt: skip
PROFILE = replace(OWN, tools=(*OWN.tools, *ARCHIVES))
