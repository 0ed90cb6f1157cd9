"""The default profile: the eight tools that an agent needs daily. Every further tool takes room in its context."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from nacre.errors import InvalidInput
from nacre.mcp.records import (
    conflict_record,
    entry_record,
    full_record,
    hit_record,
    line,
    listing,
    review_record,
    short_id,
)
from nacre.mcp.tool import Answer, ToolSession, read_profile
from nacre.model.fence import escaped, fenced
from nacre.model.instants import iso
from nacre.model.memory import Json
from nacre.model.review import ReviewItem

NOTHING = "Nothing relevant is remembered."
MOST = 100  # memories in one answer: about ten thousand tokens
RELEVANT = 0.04  # below this neither meaning nor words match


def remember(
    session: ToolSession,
    text: str,
    type: Literal["semantic", "episodic", "procedural", "feedback"] | None = None,
    tags: list[str] | None = None,
    importance: float | None = None,
    entities: list[str] | None = None,
    source: str | None = None,
    replaces: str | None = None,
) -> Answer:
    fields = without_none(type=type, tags=tags, importance=importance, source=source, entities=entities)
    stored = session.store.remember_result(text, replaces=session.id(replaces) if replaces else None, **fields)
    conflicts = [session.clean(each) for each in stored.conflicts]
    lines = [f"{stored.action}: {escaped(short_id(stored.memory.id))}", *map(escaped, stored.notes)]
    if conflicts:
        lines += ["It may conflict with these; settle it with `review`, or repeat with `replaces`:",
                  fenced([line(each.b, each.kind) for each in conflicts])]  # fmt: skip
    data: dict[str, Json] = {
        "id": stored.memory.id,
        "action": stored.action,
        "conflicts": [conflict_record(each) for each in conflicts],
        "notes": list(stored.notes),
    }
    return Answer(data, "\n".join(lines))


def recall(
    session: ToolSession,
    query: str,
    k: int = 5,
    type: str | None = None,
    tag: str | None = None,
    since: str | None = None,
    until: str | None = None,
) -> Answer:
    hits = session.store.recall(query, bounded("k", k), type=type, tag=tag, since=since, until=until)
    text = listing((hit.memory for hit in hits), NOTHING, hits.notes)
    return Answer({"memories": [hit_record(hit) for hit in hits], "notes": list(hits.notes)}, text)


def context(session: ToolSession, task: str, budget: int = 800) -> Answer:
    packed = session.store.recall_pack(task, token_budget=budget, fence=True, min_relevance=RELEVANT)
    data: dict[str, Json] = {
        "text": packed.text,
        "ids": list(packed.ids()),
        "used_tokens": packed.used_tokens,
        "truncated": packed.truncated,
        "notes": list(packed.notes),
    }
    return Answer(data, "\n".join([packed.text or NOTHING, *map(escaped, packed.notes)]))


def forget(session: ToolSession, ids: list[str], why: str = "") -> dict[str, Json]:
    meant = [session.id(id) for id in ids]
    before = {memory.id for memory in session.store.get_many(meant) if memory.status != "trashed"}
    session.store.forget(*meant, why=why)
    return {"forgotten": [id for id in meant if id in before]}


def link(session: ToolSession, source: str, target: str, rel: str = "related", remove: bool = False) -> dict[str, Json]:
    start, end = session.id(source), session.id(target)
    if remove:
        return {"removed": session.store.unlink(start, end, rel)}
    made = session.store.link(start, end, rel)
    return {"rel": made.link.rel, "new": made.new, "notes": list(made.notes)}


def review(
    session: ToolSession,
    item: str | None = None,
    decision: str | None = None,
    text: str = "",
    why: str = "",
    limit: int = 10,
) -> Answer:
    if item and decision:
        done = session.store.decide(item, decision, text=text, why=why)
        return Answer({"decided": done, "items": []}, f"{escaped(decision)}: done." if done else "Left as it is.")
    items = [cleaned(session, each) for each in session.store.review(limit=bounded("limit", limit))]
    # The reason quotes the memories, so it is inside the fence with them.
    lines = [f"- {escaped(each.id)} ({each.kind}; {', '.join(each.decisions)}) {escaped(each.why)}" for each in items]
    pairs = ((each.conflict.a, each.conflict.b) if each.conflict else (each.memory,) for each in items)
    rendered = [line(memory) for pair in pairs for memory in pair if memory is not None]
    text = fenced([*lines, *rendered]) if items else "Nothing waits for a decision."
    return Answer({"items": [review_record(each) for each in items]}, text)


def cleaned(session: ToolSession, item: ReviewItem) -> ReviewItem:
    memory = None if item.memory is None else session.store.clean(item.memory)
    if item.conflict is None:
        return replace(item, memory=memory)
    conflict = session.clean(item.conflict)
    return replace(item, memory=memory, conflict=conflict, why=str(conflict))  # which quotes the words that differ


def history(
    session: ToolSession, id: str | None = None, undo: str | None = None, limit: int = 10
) -> Answer | dict[str, Json]:
    if undo:
        entries = session.store.undo(None if undo == "last" else undo)
        return {"undone": list(dict.fromkeys(entry.memory_id for entry in entries))}
    if id:
        return versions(session, session.id(id))
    return {"acts": [entry_record(entry) for entry in session.store.journal(limit=bounded("limit", limit))]}


def versions(session: ToolSession, id: str) -> Answer:
    past = session.store.history(id)
    memories = session.clean_all(past.versions)
    changes: list[Json] = [
        {"before": session.clean_text(each.before), "after": session.clean_text(each.after), "why": each.why}
        for each in past.transitions
    ]
    lines = [line(each, f"written {iso(each.created_at)}", shorten=False) for each in memories]
    return Answer({"versions": [full_record(each) for each in memories], "changes": changes}, fenced(lines))


def status(session: ToolSession) -> dict[str, Json]:
    counted, known = session.store.stats(), session.store.settings
    return {
        "memories": counted.active,
        "by_type": dict(counted.by_type),
        "tags": list(counted.top_tags),
        "review": len(session.store.review(limit=100)),
        "model": session.store.embedder.identity,
        "model_ready": session.store.embedder.ready,
        "waiting_for_model": counted.waiting_for_model,
        "space": session.store.space,
        "scope": known.scope or "unrestricted",
        "store": known.store,
    }


def without_none(**values: Any) -> dict[str, Any]:
    """Drops the arguments that the agent left out."""
    return {name: value for name, value in values.items() if value is not None}


def bounded(name: str, wanted: int) -> int:
    if wanted > MOST:
        raise InvalidInput(f"{name} is {wanted:,}, and at most {MOST} are returned at once; narrow the question.")
    return wanted


PROFILE = read_profile("core", remember, recall, context, forget, link, review, history, status)
