"""All that an agent can use well: the core, and tools to change, trace, settle and look after memories."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from nacre.errors import MemoryNotFound
from nacre.mcp.profiles import core
from nacre.mcp.profiles.maintenance import MAINTENANCE_TOOLS
from nacre.mcp.records import brief_record, entry_record, full_record, line, listing
from nacre.mcp.tool import BOOLEAN, INTEGER, RECORDS, TEXT, TEXTS, Answer, Profile, Tool, ToolSession, record
from nacre.model.fence import escaped, fenced
from nacre.model.memory import Json

Direction = Literal["both", "out", "in"]


def get(session: ToolSession, ids: list[str]) -> Answer:
    memories = [session.store.shown(each) for each in session.store.get_many([session.id(id) for id in ids])]
    records: list[Json] = [full_record(each) for each in memories]
    return Answer({"memories": records}, fenced([line(each, shorten=False) for each in memories]))


def list_memories(
    session: ToolSession,
    limit: int = 20,
    offset: int = 0,
    type: str | None = None,
    tag: str | None = None,
    status: str | None = None,
    since: str | None = None,
    until: str | None = None,
    as_of: Annotated[str | None, Field(description="ISO time: as it was known then")] = None,
    valid_at: Annotated[str | None, Field(description="ISO time: what held then")] = None,
) -> Answer:
    kept = session.store.list_recent(
        core.bounded("limit", limit), offset=offset, type=type, tag=tag, status=status, since=since, until=until,
        as_of=as_of, valid_at=valid_at,
    )  # fmt: skip
    memories = [session.store.shown(each) for each in kept]
    records: list[Json] = [brief_record(each) for each in memories]
    return Answer({"memories": records}, listing(memories, core.NOTHING))


def edit(
    session: ToolSession,
    id: str,
    text: str | None = None,
    tags: list[str] | None = None,
    type: str | None = None,
    importance: float | None = None,
    confidence: float | None = None,
    source: str | None = None,
    why: str = "",
) -> dict[str, Json]:
    given: dict[str, object] = {
        "tags": tags, "type": type, "importance": importance, "confidence": confidence, "source": source,
    }  # fmt: skip
    fields = {name: value for name, value in given.items() if value is not None}
    changed = session.store.edit(session.id(id), text=text, why=why, **fields)  # type: ignore[arg-type]
    return brief_record(session.store.shown(changed))


def supersede(session: ToolSession, old: str, new: str, why: str = "") -> dict[str, Json]:
    before, after = session.id(old), session.id(new)
    session.store.supersede(before, after, why=why)
    return {"old": before, "new": after}


def restore(session: ToolSession, ids: list[str], why: str = "") -> dict[str, Json]:
    return {"restored": session.store.restore(*(session.id(id) for id in ids), why=why)}


def pin(session: ToolSession, ids: list[str], remove: bool = False, why: str = "") -> dict[str, Json]:
    mark = session.store.unpin if remove else session.store.pin
    return {"changed": [each.id for each in mark(*(session.id(id) for id in ids), why=why)]}


def archive(session: ToolSession, ids: list[str], remove: bool = False, why: str = "") -> dict[str, Json]:
    mark = session.store.unarchive if remove else session.store.archive
    return {"changed": [each.id for each in mark(*(session.id(id) for id in ids), why=why)]}


def validate(session: ToolSession, id: str, confidence: float | None = None, why: str = "") -> dict[str, Json]:
    kept = session.store.validate(session.id(id), confidence=confidence, why=why)
    return {"id": kept.id, "confidence": kept.confidence}


def neighbors(
    session: ToolSession, id: str, rel: str | None = None, direction: Direction = "both", depth: int = 1
) -> Answer:  # fmt: skip
    found = session.store.neighbors(session.id(id), rel=rel, direction=direction, depth=depth)
    shown = [(each, session.store.shown(each.memory)) for each in found.neighbors]
    told: list[Json] = [
        {**brief_record(memory), "rel": each.rel, "direction": each.direction, "depth": each.depth}
        for each, memory in shown
    ]
    lines = [line(memory, f"{each.rel}, {each.direction}") for each, memory in shown]
    text = fenced(lines) if lines else "No ties lead anywhere."
    return Answer({"neighbors": told, "dangling": list(found.dangling)}, text)


def path(session: ToolSession, start: str, end: str) -> Answer:
    found = session.store.path(session.id(start), session.id(end))
    if found is None:
        return Answer({"found": False, "memories": [], "ties": []}, "No ties lead from one to the other.")
    memories = [session.store.shown(each) for each in found.memories]
    ties: list[Json] = [{"from": each.source, "to": each.target, "rel": each.rel} for each in found.edges]
    told: list[Json] = [brief_record(each) for each in memories]
    return Answer({"found": True, "memories": told, "ties": ties}, listing(memories, ""))


def about(session: ToolSession, name: str, limit: int = 20) -> Answer:
    memories = [session.store.shown(each) for each in session.store.memories_about(name, core.bounded("limit", limit))]
    records: list[Json] = [brief_record(each) for each in memories]
    return Answer({"name": session.store.resolve_entity(name), "memories": records}, listing(memories, core.NOTHING))


def journal(
    session: ToolSession,
    id: str | None = None,
    act_name: Annotated[str | None, Field(description="remember, edit, forget, …")] = None,
    actor: str | None = None,
    since: str | None = None,
    limit: int = 20,
) -> dict[str, Json]:
    entries = session.store.journal(
        id and once(session, id), operation=act_name, actor=actor, since=since, limit=core.bounded("limit", limit)
    )
    return {"acts": [entry_record(entry) for entry in entries]}


def once(session: ToolSession, id: str) -> str:
    """The journal also tells of memories that are there no more, under their whole id."""
    try:
        return session.id(id)
    except MemoryNotFound:
        return id


def undo(session: ToolSession, act: str | None = None, last: int | None = None, why: str = "") -> dict[str, Json]:
    entries = session.store.undo(act, last=last, why=why)
    return {"undone": list(dict.fromkeys(entry.memory_id for entry in entries))}


def diff(session: ToolSession, since: str, until: str | None = None) -> dict[str, Json]:
    found, shown = session.store.diff(since, until), session.store.shown
    changed: list[Json] = [
        {"id": each.after.id, "fields": list(each.fields), "text": shown(each.after).text} for each in found.changed
    ]
    return {
        "added": [brief_record(shown(each)) for each in found.added],
        "removed": [brief_record(shown(each)) for each in found.removed],
        "changed": changed,
        "notes": list(found.notes),
    }


def export_graph(
    session: ToolSession,
    ids: Annotated[list[str] | None, Field(description="where to begin; everything if omitted")] = None,
    depth: int = 1,
    form: Literal["mermaid", "dot", "graphml"] = "mermaid",
    limit: int = 100,
) -> Answer:
    from dataclasses import replace

    from nacre.transfer import graph_formats

    seeds = [session.id(id) for id in ids] if ids else [each.id for each in session.store.list_recent(limit)]
    graph = session.store.subgraph(seeds, depth=depth if ids else 0, include_hidden=False)
    clean = replace(graph, nodes={id: session.store.shown(memory) for id, memory in graph.nodes.items()})
    written: str = getattr(graph_formats, form)(clean)
    drawing = f"- ({form})\n  {escaped(written, keep_lines=True)}"
    return Answer({"graph": written, "memories": len(clean.nodes), "ties": len(clean.edges)}, fenced([drawing]))


MEMORIES = record(memories=RECORDS)
CHANGED = record(changed=TEXTS)
TOOLS = (
    *core.TOOLS,
    Tool("get", get, "Read memories by id.", MEMORIES),
    Tool("list", list_memories, "List memories, newest first; also as they were known, or held, at an earlier time.",
         MEMORIES),
    Tool("edit", edit, "Mend a memory in place, where it was written wrongly. What has changed in the world is a new "
         "memory that replaces it.", record(id=TEXT, text=TEXT, type=TEXT, tags=TEXTS), "writes"),
    Tool("supersede", supersede, "Let a newer memory take an older one's place.", record(old=TEXT, new=TEXT), "writes"),
    Tool("restore", restore, "Bring back what was forgotten or superseded.", record(restored=BOOLEAN), "writes"),
    Tool("pin", pin, "Keep memories from ever fading; `remove` lets them fade again.", CHANGED, "writes"),
    Tool("archive", archive, "Put memories out of sight without losing them; `remove` takes them out again.", CHANGED,
         "writes"),
    Tool("validate", validate, "Say that a memory still holds, and how sure that is (0-1).",
         record(id=TEXT, confidence={"type": "number"}), "writes"),
    Tool("neighbors", neighbors, "Memories that ties lead to.", record(neighbors=RECORDS, dangling=TEXTS)),
    Tool("path", path, "How ties lead from one memory to another.",
         record(found=BOOLEAN, memories=RECORDS, ties=RECORDS)),
    Tool("about", about, "Everything remembered of a person, a place or a thing, under any of its names.",
         record(name=TEXT, memories=RECORDS)),
    Tool("journal", journal, "What was done, by whom, when and why.", record(acts=RECORDS)),
    Tool("undo", undo, "Take back an act, or the last ones; by default one. An undo can be undone.",
         record(undone=TEXTS), "writes"),
    Tool("diff", diff, "What was learned, lost and changed between two times (ISO).",
         record(added=RECORDS, removed=RECORDS, changed=RECORDS, notes=TEXTS)),
    Tool("export_graph", export_graph, "Memories and their ties as a drawing.",
         record(graph=TEXT, memories=INTEGER, ties=INTEGER)),
    *MAINTENANCE_TOOLS,
)  # fmt: skip
PROFILE = Profile("full", TOOLS, core.INSTRUCTIONS)
