"""The full profile: the core, and tools to change, trace, link and maintain memories."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from nacre.errors import MemoryNotFound
from nacre.mcp.profiles import core
from nacre.mcp.profiles.maintenance import MAINTENANCE
from nacre.mcp.records import brief_record, entry_record, full_record, line, memories_answer
from nacre.mcp.tool import Answer, ToolSession, read_profile
from nacre.model.fence import escaped, fenced
from nacre.model.memory import Json

Direction = Literal["both", "out", "in"]


def get(session: ToolSession, ids: list[str]) -> Answer:
    memories = session.clean_all(session.store.get_many([session.id(id) for id in ids]))
    text = fenced([line(each, shorten=False) for each in memories])
    return Answer({"memories": [full_record(each) for each in memories]}, text)


def list_(
    session: ToolSession,
    limit: int = 20,
    offset: int = 0,
    type: str | None = None,
    tag: str | None = None,
    status: str | None = None,
    since: str | None = None,
    until: str | None = None,
    as_of: str | None = None,
    valid_at: str | None = None,
) -> Answer:
    listed = session.store.list_recent(
        core.bounded("limit", limit), offset=offset, type=type, tag=tag, status=status, since=since, until=until,
        as_of=as_of, valid_at=valid_at,
    )  # fmt: skip
    return memories_answer(session.clean_all(listed), core.NOTHING)


def edit(
    session: ToolSession, id: str, text: str | None = None, tags: list[str] | None = None, type: str | None = None,
    importance: float | None = None, confidence: float | None = None, source: str | None = None, why: str = ""
) -> dict[str, Json]:  # fmt: skip
    fields = core.without_none(tags=tags, type=type, importance=importance, confidence=confidence, source=source)
    return brief_record(session.store.clean(session.store.edit(session.id(id), text=text, why=why, **fields)))


def supersede(session: ToolSession, old: str, new: str, why: str = "") -> dict[str, Json]:
    before, after = session.id(old), session.id(new)
    session.store.supersede(before, after, why=why)
    return {"old": before, "new": after}


def restore(session: ToolSession, ids: list[str], why: str = "") -> dict[str, Json]:
    return {"restored": session.store.restore(*(session.id(id) for id in ids), why=why)}


def pin(session: ToolSession, ids: list[str], remove: bool = False, why: str = "") -> dict[str, Json]:
    mark = session.store.unpin if remove else session.store.pin
    return {"changed": [each.id for each in mark(*map(session.id, ids), why=why)]}


def archive(session: ToolSession, ids: list[str], remove: bool = False, why: str = "") -> dict[str, Json]:
    mark = session.store.unarchive if remove else session.store.archive
    return {"changed": [each.id for each in mark(*map(session.id, ids), why=why)]}


def validate(session: ToolSession, id: str, confidence: float | None = None, why: str = "") -> dict[str, Json]:
    validated = session.store.validate(session.id(id), confidence=confidence, why=why)
    return {"id": validated.id, "confidence": validated.confidence}


def neighbors(
    session: ToolSession, id: str, rel: str | None = None, direction: Direction = "both", depth: int = 1
) -> Answer:  # fmt: skip
    matches = session.store.neighbors(session.id(id), rel=rel, direction=direction, depth=depth)
    memories = [(each, session.store.clean(each.memory)) for each in matches.neighbors]
    records: list[Json] = [
        {**brief_record(memory), "rel": each.rel, "direction": each.direction, "depth": each.depth}
        for each, memory in memories
    ]
    lines = [line(memory, f"{each.rel}, {each.direction}") for each, memory in memories]
    text = fenced(lines) if lines else "There are no links."
    return Answer({"neighbors": records, "dangling": list(matches.dangling)}, text)


def path(session: ToolSession, start: str, end: str) -> Answer:
    route = session.store.path(session.id(start), session.id(end))
    if route is None:
        return Answer({"found": False, "memories": [], "ties": []}, "No links lead from one to the other.")
    links: list[Json] = [{"from": each.source, "to": each.target, "rel": each.rel} for each in route.edges]
    listed = memories_answer(session.clean_all(route.memories), "")
    return Answer({"found": True, **listed.data, "ties": links}, listed.text)


def about(session: ToolSession, name: str, limit: int = 20) -> Answer:
    memories = session.store.memories_about(name, core.bounded("limit", limit))
    listed = memories_answer(session.clean_all(memories), core.NOTHING)
    return Answer({"name": session.store.resolve_entity(name), **listed.data}, listed.text)


def journal(
    session: ToolSession,
    id: str | None = None,
    act_name: str | None = None,
    actor: str | None = None,
    since: str | None = None,
    limit: int = 20,
) -> dict[str, Json]:
    entries = session.store.journal(
        id and once(session, id), operation=act_name, actor=actor, since=since, limit=core.bounded("limit", limit)
    )
    return {"acts": [entry_record(entry) for entry in entries]}


def once(session: ToolSession, id: str) -> str:
    """The journal also has entries of memories that no longer exist, under their full id."""
    try:
        return session.id(id)
    except MemoryNotFound:
        return id


def undo(session: ToolSession, act: str | None = None, last: int | None = None, why: str = "") -> dict[str, Json]:
    entries = session.store.undo(act, last=last, why=why)
    return {"undone": list(dict.fromkeys(entry.memory_id for entry in entries))}


def diff(session: ToolSession, since: str, until: str | None = None) -> dict[str, Json]:
    changes, clean = session.store.diff(since, until), session.store.clean
    return {
        "added": [brief_record(clean(each)) for each in changes.added],
        "removed": [brief_record(clean(each)) for each in changes.removed],
        "changed": [
            {"id": each.after.id, "fields": list(each.fields), "text": clean(each.after).text}
            for each in changes.changed
        ],
    }


def export_graph(
    session: ToolSession,
    ids: list[str] | None = None,
    depth: int = 1,
    form: Literal["mermaid", "dot", "graphml"] = "mermaid",
    limit: int = 100,
) -> Answer:
    from nacre.transfer import graph_formats

    seeds = [session.id(id) for id in ids] if ids else [each.id for each in session.store.list_recent(limit)]
    graph = session.store.subgraph(seeds, depth=depth if ids else 0, include_hidden=False)
    clean = replace(graph, nodes={id: session.store.clean(memory) for id, memory in graph.nodes.items()})
    written: str = getattr(graph_formats, form)(clean)
    drawing = f"- ({form})\n  {escaped(written, keep_lines=True)}"
    return Answer({"graph": written, "memories": len(clean.nodes), "ties": len(clean.edges)}, fenced([drawing]))


OWN = read_profile(
    "full", get, list_, edit, supersede, restore, pin, archive, validate, neighbors, path, about, journal, undo, diff,
    export_graph,
)  # fmt: skip
PROFILE = replace(OWN, tools=(*core.PROFILE.tools, *OWN.tools, *MAINTENANCE), instructions=core.PROFILE.instructions)
