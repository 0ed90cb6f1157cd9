"""Ties memories together and takes ties away, one act each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from nacre.engine.changes import AnyChange, Change, TermChange
from nacre.engine.engine import RELATION, Engine
from nacre.engine.supersede import SUPERSEDES, released, superseded
from nacre.errors import LinkRefused, MemoryNotFound, UnknownName
from nacre.model import Edge, Link, Linked, Memory
from nacre.model.graph import RELATIONS
from nacre.model.memory import Json
from nacre.protocols import Backend, Transaction
from nacre.remember.validate import link_tuple

WEAK = 0.3  # below this a tie that never led anywhere may be pruned


def link(engine: Engine, space: str, source: str, tie: Link, *, strict: bool, why: str = "") -> Linked:
    """Repeating it changes nothing, another weight or other data replaces what was there.

    A relation that the store does not know is learned, and waits for review; `strict` refuses it, and a target that is
    not there. To tie as `supersedes` is to supersede.
    """
    (tie,) = link_tuple("links", [tie])
    known = relations(engine.store)
    check(engine.store, space, source, [tie], strict=strict)
    new = False

    def plan(transaction: Transaction) -> list[AnyChange]:
        nonlocal new
        memory = engine.found(transaction, space, source)
        if tie.rel == SUPERSEDES:  # the tie alone would say what the record does not
            done = superseded(transaction, engine.found(transaction, space, tie.to), memory, engine.clock())
            new = bool(done)
            return [*done]
        if strict:
            engine.found(transaction, space, tie.to)
        held = {(each.to, each.rel): each for each in memory.links}
        new = (tie.to, tie.rel) not in held
        if held.get((tie.to, tie.rel)) == tie:
            return []
        held[tie.to, tie.rel] = tie
        after = replace(memory, links=tuple(held.values()), updated_at=engine.clock())
        return [Change(memory, after)]

    engine.commit("supersede" if tie.rel == SUPERSEDES else "link", plan, why)
    return Linked(tie, new, near_miss(tie.rel, known))


def check(store: Backend, space: str, source: str, links: Sequence[Link], *, strict: bool) -> None:
    """Raises `LinkRefused` for a tie to itself; where links are strict, also for what the store does not know."""
    if any(each.to == source for each in links):
        raise LinkRefused(f"{source} cannot be tied to itself; give another memory.")
    if strict and links:
        known, there = relations(store), {m.id for m in store.get(space, [each.to for each in links])}
        for each in links:
            if each.rel not in known:
                raise UnknownName("relation", each.rel, known)
            if each.to not in there:
                raise MemoryNotFound(each.to, space)


def near_miss(rel: str, known: Mapping[str, str]) -> tuple[str, ...]:
    if rel in known:
        return ()
    near = get_close_matches(rel.lower().replace("-", "_").replace(" ", "_"), known, n=1, cutoff=0.75)
    return (f"The relation {rel!r} is new here; did you mean {near[0]!r}?",) if near else ()


def relations(store: Backend) -> dict[str, str]:
    """Every relation with what it means; of a learned one that may be nothing."""
    return {**RELATIONS, **{name: str(data.get("description", "")) for name, data in store.terms(RELATION).items()}}


def register(engine: Engine, space: str, name: str, description: str) -> None:
    def plan(transaction: Transaction) -> list[AnyChange]:
        stood = transaction.term(RELATION, name)
        data: dict[str, Json] = {"description": description}
        return [] if stood == data else [TermChange(space, RELATION, name, stood, data)]

    engine.commit("register", plan, "")


def unlink(engine: Engine, space: str, source: str, target: str, rel: str | None, *, why: str = "") -> int:
    """How many ties went; every relation when none is named."""
    removed = 0

    def plan(transaction: Transaction) -> list[AnyChange]:
        nonlocal removed
        memory = engine.found(transaction, space, source)
        kept = tuple(each for each in memory.links if each.to != target or rel not in (None, each.rel))
        removed = len(memory.links) - len(kept)
        after = replace(memory, links=kept, updated_at=engine.clock())
        former = transaction.get(space, target)
        if rel not in (None, SUPERSEDES) or former is None or former.superseded_by != source:
            return [Change(memory, after)] if removed else []
        back, heir = released(former, memory, engine.clock())
        began = memory.valid_from if heir is None else heir.valid_from
        return [Change(memory, replace(after, valid_from=began)), Change(former, back)]

    engine.commit("unlink", plan, why)
    return removed


def prunable(store: Backend, space: str, *, below: float = WEAK, walks: int = 0) -> list[Edge]:
    """Ties so weak, and walked so seldom, that nobody would miss them; those with a meaning of their own stay."""
    lasting = ("supersedes", "contradicts", "derived_from", "conflicts", "distinct_from", "transitioned_to")
    return [
        edge for edge in store.edges(space) if edge.weight < below and edge.walks <= walks and edge.rel not in lasting
    ]


def prune(engine: Engine, space: str, edges: Iterable[Edge], *, why: str = "") -> int:
    """Takes the planned ties away in one act; one that was walked or made stronger since stays."""
    planned = {edge[:3]: edge for edge in edges}
    sources = list(dict.fromkeys(edge.source for edge in planned.values()))
    removed = 0

    def plan(transaction: Transaction) -> list[AnyChange]:
        nonlocal removed
        stands = {e[:3] for e in engine.store.edges(space, out_of=sources) if same_use(e, planned.get(e[:3]))}
        changes: list[AnyChange] = []
        for memory in filter(None, (transaction.get(space, id) for id in sources)):
            kept = tuple(each for each in memory.links if (memory.id, each.to, each.rel) not in stands)
            removed += len(memory.links) - len(kept)
            if kept != memory.links:
                changes.append(Change(memory, replace(memory, links=kept, updated_at=engine.clock())))
        return changes

    engine.commit("prune_links", plan, why)
    return removed


def same_use(edge: Edge, planned: Edge | None) -> bool:
    return planned is not None and edge.walks <= planned.walks and edge.weight <= planned.weight


def renamed(memories: Sequence[Memory], old: str, new: str, now: float) -> list[AnyChange]:
    """Every tie of one relation under another name; where both were there, one remains."""
    changes: list[AnyChange] = []
    for memory in memories:
        whole: dict[tuple[str, str], Link] = {}
        for each in memory.links:
            rel = new if each.rel == old else each.rel
            whole.setdefault((each.to, rel), replace(each, rel=rel))
        changes.append(Change(memory, replace(memory, links=tuple(whole.values()), updated_at=now)))
    return changes
