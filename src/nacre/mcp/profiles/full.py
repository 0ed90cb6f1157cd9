"""The full profile: the core, and tools to change, trace, link and maintain memories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from nacre.engine.supersede import no_longer_expiring
from nacre.errors import MemoryNotFound
from nacre.mcp.profiles import core
from nacre.mcp.profiles.maintenance import MAINTENANCE
from nacre.mcp.records import full_line, ids_answer, journal_answer, line, memories_answer, reference, references
from nacre.mcp.tool import Answer, ToolSession, read_profile
from nacre.model import Direction
from nacre.model.fence import escaped, fenced
from nacre.model.memory import TRASHED, Json, Memory, short_id, without_none

OLDER = "It may conflict with these; settle it with `review`, or replace them with `supersede`:"


def get(session: ToolSession, ids: list[str]) -> Answer:
    memories = session.clean_all(session.store.get_many([session.id(id) for id in ids]))
    return Answer({"memories": references(memories)}, fenced(map(full_line, memories)))


def list_(
    session: ToolSession,
    limit: int = 20,
    offset: int = 0,
    type: str | None = None,
    tag: str | None = None,
    entity: str | None = None,
    source: str | None = None,
    status: str | None = None,
    since: str | None = None,
    until: str | None = None,
    as_of: str | None = None,
    valid_at: str | None = None,
) -> Answer:
    listed = session.store.list_recent(
        core.bounded("limit", limit), offset=offset, type=type, tag=tag, entity=entity, source=source,
        status=status, since=since, until=until, as_of=as_of, valid_at=valid_at,
    )  # fmt: skip
    return memories_answer(session.clean_all(listed), core.NOTHING)


def edit(
    session: ToolSession, id: str, text: str | None = None, tags: list[str] | None = None, type: str | None = None,
    importance: float | None = None, confidence: float | None = None, source: str | None = None, why: str = ""
) -> Answer:  # fmt: skip
    fields = without_none(tags=tags, type=type, importance=importance, confidence=confidence, source=source)
    result = session.store.edit_result(session.id(id), text=text, why=why, **fields)
    edited = session.store.clean(result.memory)
    conflicts, lines = core.conflicts_in(session, result, OLDER)
    text_of_answer = "\n".join([fenced([full_line(edited)]), *lines])
    return Answer({**reference(edited), "conflicts": conflicts}, text_of_answer, result.notes)


def supersede(session: ToolSession, old: str, new: str, why: str = "") -> Answer:
    before, after = session.id(old), session.id(new)
    session.store.supersede(before, after, why=why)
    return Answer({"old": before, "new": after}, f"{escaped(short_id(after))} replaces {escaped(short_id(before))}.")


def restore(session: ToolSession, ids: list[str], why: str = "") -> Answer:
    named = session.ids(ids)
    before = session.store.get_many(named)
    if not session.store.restore(*named, why=why):
        return Answer({"restored": False}, "Nothing to do: none was forgotten or superseded.")
    return Answer({"restored": True}, f"Restored.{expiry_note(before, session.store.get_many(named))}")


def expiry_note(before: Iterable[Memory], after: Iterable[Memory]) -> str:
    """Of what was brought back after it had expired."""
    expired = len(no_longer_expiring(before, after))
    return f" {expired} had expired, and no longer {'expires' if expired == 1 else 'expire'}." if expired else ""


def pin(session: ToolSession, ids: list[str], remove: bool = False, why: str = "") -> Answer:
    named, mark = session.ids(ids), session.store.unpin if remove else session.store.pin
    return changed_answer(session, named, mark(*named, why=why))


def archive(session: ToolSession, ids: list[str], remove: bool = False, why: str = "") -> Answer:
    named = session.ids(ids)
    if not remove:
        return changed_answer(session, named, session.store.archive(*named, why=why))
    before = session.store.get_many(named)
    changed = session.store.unarchive(*named, why=why)
    answer = changed_answer(session, named, changed)
    return replace(answer, text=answer.text + expiry_note(before, changed))


def changed_answer(session: ToolSession, named: Sequence[str], changed: Iterable[Memory]) -> Answer:
    ids = [each.id for each in changed]
    answer = ids_answer("changed", ids, "Changed", "Nothing to do: it is so already.")
    trashed = [each.id for each in session.store.get_many(named) if each.status == TRASHED]
    if not trashed:
        return answer
    left = f"In the trash, and left as it is: {', '.join(escaped(short_id(id)) for id in trashed)}; `restore` it first."
    return replace(answer, text=left if len(trashed) == len(set(named)) else f"{answer.text} {left}")


def validate(session: ToolSession, id: str, confidence: float | None = None, why: str = "") -> Answer:
    validated = session.store.validate(session.id(id), confidence=confidence, why=why)
    text = f"Confirmed: {escaped(short_id(validated.id))}, confidence {validated.confidence:.2g}."
    return Answer({"id": validated.id, "confidence": validated.confidence}, text)


def neighbors(
    session: ToolSession, id: str, rel: str | None = None, direction: Direction = "both", depth: int = 1
) -> Answer:  # fmt: skip
    matches = session.store.neighbors(session.id(id), rel=rel, direction=direction, depth=depth)
    memories = [(each, session.store.clean(each.memory)) for each in matches.neighbors]
    records: list[Json] = [
        {**reference(memory), "direction": each.direction, "depth": each.depth} for each, memory in memories
    ]
    lines = [line(memory, f"{each.rel}, {each.direction}") for each, memory in memories]
    text = fenced(lines) if lines else "There are no links."
    if matches.dangling:
        text += f"\nLinks to memories that are gone: {', '.join(map(escaped, matches.dangling))}."
    return Answer({"neighbors": records, "dangling": list(matches.dangling)}, text)


def path(session: ToolSession, start: str, end: str) -> Answer:
    route = session.store.path(session.id(start), session.id(end))
    if route is None:
        return Answer({"found": False, "memories": []}, "No links lead from one to the other.")
    memories = session.clean_all(route.memories)
    links = [f"- {short_id(each.source)} {each.rel} {short_id(each.target)}" for each in route.edges]
    text = fenced([*map(line, memories), *map(escaped, links)])
    return Answer({"found": True, "memories": references(memories)}, text)


def about(session: ToolSession, name: str, limit: int = 20) -> Answer:
    memories = session.store.memories_about(name, core.bounded("limit", limit))
    return memories_answer(session.clean_all(memories), core.NOTHING)


def journal(
    session: ToolSession,
    id: str | None = None,
    operation: str | None = None,
    actor: str | None = None,
    since: str | None = None,
    limit: int = 20,
) -> Answer:
    entries = session.store.journal(
        id and once(session, id), operation=operation, actor=actor, since=since, limit=core.bounded("limit", limit)
    )
    return journal_answer(session, entries)


def once(session: ToolSession, id: str) -> str:
    """The journal also has entries of memories that no longer exist, under their full id."""
    try:
        return session.id(id)
    except MemoryNotFound:
        return id


def undo(session: ToolSession, operation: str | None = None, last: int | None = None, why: str = "") -> Answer:
    return core.undone(session, session.store.undo(operation, last=last, why=why))


def diff(session: ToolSession, since: str, until: str | None = None) -> Answer:
    changes, clean = session.store.diff(since, until), session.store.clean
    changed = [each.after for each in changes.changed]
    lines = [
        *(line(clean(each), "added") for each in changes.added),
        *(line(clean(each), "removed") for each in changes.removed),
        *(line(clean(each.after), f"changed: {', '.join(each.fields)}") for each in changes.changed),
    ]
    data: dict[str, Json] = {
        "added": references(changes.added), "removed": references(changes.removed), "changed": references(changed)
    }  # fmt: skip
    return Answer(data, fenced(lines) if lines else "Nothing changed between these times.")


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
    return Answer({"memories": len(clean.nodes), "links": len(clean.edges)}, fenced([drawing]))


OWN = read_profile(
    "full", get, list_, edit, supersede, restore, pin, archive, validate, neighbors, path, about, journal, undo, diff,
    export_graph,
)  # fmt: skip
PROFILE = replace(OWN, tools=(*core.PROFILE.tools, *OWN.tools, *MAINTENANCE), instructions=core.PROFILE.instructions)
