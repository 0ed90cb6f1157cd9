"""Links memories and removes links, one operation each; the relations that links may have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from nacre.engine.engine import RELATION, Engine
from nacre.engine.supersede import released, superseded
from nacre.errors import LinkRefused, MemoryNotFound, UnknownName
from nacre.model import Edge, Link, Linked, Memory
from nacre.model.graph import RELATIONS
from nacre.model.memory import CONFLICTS, CONTRADICTS, DERIVED_FROM, DISTINCT, MAY_REPLACE, SUPERSEDES, TRANSITIONED_TO
from nacre.model.validate import link_tuple
from nacre.protocols import AnyChange, Backend, Change, Reader

WEAK = 0.3  # a link with less weight that was never followed may be pruned
# Relations whose links are never pruned, and support no target: they record something besides closeness.
LASTING = (SUPERSEDES, CONTRADICTS, DERIVED_FROM, CONFLICTS, MAY_REPLACE, DISTINCT, TRANSITIONED_TO)


def link(engine: Engine, space: str, source: str, wanted: Link, *, strict: bool, why: str = "") -> Linked:
    """Repeating it changes nothing; another weight or other data replaces the old.

    An unknown relation is learned and waits for review; `strict` refuses it, and a missing target. A `supersedes` link
    supersedes its target.
    """
    (wanted,) = link_tuple("links", [wanted])
    known = relations(engine.store)
    check_links(engine.store, space, source, [wanted], strict=strict)
    new = False

    def plan(reader: Reader) -> list[AnyChange]:
        nonlocal new
        memory = engine.get_required(reader, space, source)
        if wanted.rel == SUPERSEDES:  # the link alone would disagree with the record
            changes = superseded(reader, engine.get_required(reader, space, wanted.to), memory, engine.clock())
            new = bool(changes)
            return [*changes]
        if strict:
            engine.get_required(reader, space, wanted.to)
        links = {(each.to, each.rel): each for each in memory.links}
        new = (wanted.to, wanted.rel) not in links
        if links.get((wanted.to, wanted.rel)) == wanted:
            return []
        links[wanted.to, wanted.rel] = wanted
        return [Change(memory, replace(memory, links=tuple(links.values()), updated_at=engine.clock()))]

    engine.write_named("supersede" if wanted.rel == SUPERSEDES else "link", plan, why)
    return Linked(wanted, new, relation_hint(wanted.rel, known))


def unlink(engine: Engine, space: str, source: str, target: str, rel: str | None, *, why: str = "") -> int:
    """Removes the link of this relation, or all between the two when `rel` is None; returns how many."""
    removed = 0

    def plan(reader: Reader) -> list[AnyChange]:
        nonlocal removed
        memory = engine.get_required(reader, space, source)
        remaining = tuple(each for each in memory.links if each.to != target or rel not in (None, each.rel))
        removed = len(memory.links) - len(remaining)
        after = replace(memory, links=remaining, updated_at=engine.clock())
        predecessor = reader.get(space, target)
        if rel not in (None, SUPERSEDES) or predecessor is None or predecessor.superseded_by != source:
            return [Change(memory, after)] if removed else []
        back, successor = released(predecessor, memory, engine.clock())
        valid_from = memory.valid_from if successor is None else successor.valid_from
        return [Change(memory, replace(after, valid_from=valid_from)), Change(predecessor, back)]

    engine.write_named("unlink", plan, why)
    return removed


def check_links(store: Backend, space: str, source: str, links: Sequence[Link], *, strict: bool) -> None:
    """Raises `LinkRefused` for a link to itself; with `strict`, also for unknown relations and targets."""
    if any(each.to == source for each in links):
        raise LinkRefused(f"{source} cannot be linked to itself; give another memory.")
    if strict and links:
        known, existing = relations(store), {m.id for m in store.get_many(space, [each.to for each in links])}
        for each in links:
            UnknownName.check("relation", each.rel, known)
            if each.to not in existing:
                raise MemoryNotFound(each.to, space)


def relations(store: Backend) -> dict[str, str]:
    """Every relation with its description, which may be empty for a learned one."""
    return {**RELATIONS, **{name: str(data.get("description", "")) for name, data in store.terms(RELATION).items()}}


def relation_hint(rel: str, known: Mapping[str, str]) -> tuple[str, ...]:
    if rel in known:
        return ()
    near = get_close_matches(rel.lower().replace("-", "_").replace(" ", "_"), known, n=1, cutoff=0.75)
    return (f"The relation {rel!r} is new here; did you mean {near[0]!r}?",) if near else ()


def with_relation_renamed(memory: Memory, old: str, new: str) -> Memory:
    """Where the memory has both relations to one target, one remains."""
    links: dict[tuple[str, str], Link] = {}
    for each in memory.links:
        rel = new if each.rel == old else each.rel
        links.setdefault((each.to, rel), replace(each, rel=rel))
    return replace(memory, links=tuple(links.values()))


def prunable(store: Backend, space: str, *, below: float = WEAK, walks: int = 0) -> list[Edge]:
    """Links so weak, and followed so seldom, that nobody would miss them; those of lasting relations stay."""
    return [
        edge for edge in store.edges(space) if edge.weight < below and edge.walks <= walks and edge.rel not in LASTING
    ]


def prune(engine: Engine, space: str, edges: Iterable[Edge], *, why: str = "") -> int:
    """Removes the planned links in one operation; one that was followed or made stronger since stays."""
    planned = {edge[:3]: edge for edge in edges}
    sources = list(dict.fromkeys(edge.source for edge in planned.values()))
    removed = 0

    def plan(reader: Reader) -> list[AnyChange]:
        nonlocal removed
        removed = 0
        unused = {e[:3] for e in reader.edges(space, out_of=sources) if is_unused_since(e, planned.get(e[:3]))}
        changes: list[AnyChange] = []
        for memory in reader.get_many(space, sources):
            remaining = tuple(each for each in memory.links if (memory.id, each.to, each.rel) not in unused)
            removed += len(memory.links) - len(remaining)
            if remaining != memory.links:
                changes.append(Change(memory, replace(memory, links=remaining, updated_at=engine.clock())))
        return changes

    engine.write_named("prune_links", plan, why)
    return removed


def is_unused_since(edge: Edge, planned: Edge | None) -> bool:
    return planned is not None and edge.walks <= planned.walks and edge.weight <= planned.weight
