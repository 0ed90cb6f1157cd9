"""Reads a graph of knowledge from JSON that may be anything, and checks that it is whole before anything is done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nacre.engine.engine import Edit
from nacre.engine.review import trashed
from nacre.errors import InvalidInput
from nacre.memory_store import MemoryStore
from nacre.minds.knowledge_facts import doubted, index_of, tied_by
from nacre.minds.subgraph import (
    DERIVED_FROM,
    SIMILAR_TO,
    SOURCE_ID,
    SUPERSEDES,
    TRANSITIONED_TO,
    kept,
    shown,
    source_of,
)
from nacre.model import Link, Memory
from nacre.model.instants import iso
from nacre.model.memory import Json
from nacre.remember.validate import CHECKS, instant, label, link_tuple, number

NODES = {"semantic_nodes": "semantic", "episodic_nodes": "episodic"}
EDGE_LISTS = {
    "similar_to_edges": SIMILAR_TO,
    "derives_from_edges": DERIVED_FROM,
    "supersedes_edges": SUPERSEDES,
    "transitioned_to_edges": TRANSITIONED_TO,
    "other_edges": "",  # each names its own relation
}
OF_EDGES = ("source_id", "target_id", "weight", "metadata", "relationship", "rel")
HEAVIEST = 1_000_000  # as any tie of the store
REMEDY = "export the graph again, and import that"


@dataclass(frozen=True, slots=True)
class Passed:
    """`heir` took the node's place by `link`; `at` is when, as far as the data tells."""

    heir: str
    link: Link
    at: float | None


@dataclass(slots=True)
class Reading:
    """Nodes without their successions, which `passed` tells by the id of the older one."""

    nodes: dict[str, Memory] = field(default_factory=dict)
    passed: dict[str, Passed] = field(default_factory=dict)
    edges: int = 0


@dataclass(frozen=True, slots=True)
class Raw:
    """A node as it was given, before anything in it is believed."""

    id: str
    kind: str
    given: Mapping[str, Json]
    record: Mapping[str, Json]
    metadata: Mapping[str, Json]

    @property
    def order(self) -> tuple[float, str]:
        return index_of(self.metadata), str(self.given.get("created_at", ""))


def read(store: MemoryStore, data: Mapping[str, Json]) -> Reading:
    """Raises `InvalidInput` for the first thing that is wrong."""
    if not any(name in data for name in NODES):
        raise refused("it has neither semantic_nodes nor episodic_nodes")
    raw = dict(raw_nodes(data))
    links: dict[str, dict[tuple[str, str], Link]] = {id: {} for id in raw}
    found = Reading()
    for source, link in edges(
        store, raw, [(rel, each) for name, rel in EDGE_LISTS.items() for each in listed(data, name)]
    ):
        links[source][link.to, link.rel] = link
        found.edges += 1
    for old, heirs in successions(raw, links).items():
        first, *later = [(heir, links[heir].pop((old, SUPERSEDES))) for heir in heirs]
        at = raw[old].record.get("superseded_at")
        found.passed[old] = Passed(*first, None if at is None else moment(old, at))
        for heir, link in later:
            links[heir].setdefault((old, TRANSITIONED_TO), replace(link, rel=TRANSITIONED_TO))
    for id, each in raw.items():
        found.nodes[id] = read_node(store, each, list(links[id].values()), passed=id in found.passed)
    return found


def raw_nodes(data: Mapping[str, Json]) -> Iterator[tuple[str, Raw]]:
    seen: set[str] = set()
    for name, kind in NODES.items():
        for given in listed(data, name):
            id = text_in(given, "memory_id", f"a node of {name}").strip()
            if id in seen:
                raise refused(f"the id {id!r} is there twice")
            seen.add(id)
            where = f"the node {id!r}"
            yield id, Raw(id, kind, given, object_in(given, "record", where), object_in(given, "metadata", where))


def read_node(store: MemoryStore, raw: Raw, links: Sequence[Link], *, passed: bool) -> Memory:
    given, record = raw.given, raw.record
    fields: dict[str, Any] = {name: value for name, value in record.items() if name in CHECKS and name != "links"}
    fields |= {"id": raw.id, "type": raw.kind, "metadata": raw.metadata, "tags": given.get("tags") or []}
    fields.setdefault("created_at", given.get("created_at") or store.now())
    if raw.kind == "semantic":
        fields |= {"title": given.get("concept") or "", "confidence": given.get("confidence", 0.8)}
        fields.setdefault("entities", [given["entity_name"]] if given.get("entity_name") else [])
    else:
        fields["source"] = given.get("source_label") or ""
    content = text_in(given, "content", f"the node {raw.id!r}")
    try:
        whole = link_tuple("links", [*outside(store, raw), *links])
        source = label("source_id", given.get("source_id"))
        if source and (source, DERIVED_FROM) not in {(link.to, link.rel) for link in whole}:
            fields["metadata"] = {SOURCE_ID: source, **raw.metadata}
        drafted = store.draft(content, **fields)
        return replace(drafted, links=whole, **standing(record, drafted, passed=passed))
    except InvalidInput as error:
        raise refused(f"the node {raw.id!r} cannot be read ({error})") from error


def outside(store: MemoryStore, raw: Raw) -> Iterator[Link]:
    """Ties to what is no part of the graph: nothing need be there."""
    told = raw.record.get("links") or []
    for each in told if isinstance(told, list) else [told]:
        if not isinstance(each, dict) or "to" not in each:
            raise InvalidInput("its links are no list of ties")
        link = Link.from_dict(each)
        yield replace(link, data=clean(store, dict(link.data)))


def standing(record: Mapping[str, Json], drafted: Memory, *, passed: bool) -> dict[str, Any]:
    """What a caller may not say of a new memory, but a record tells."""
    if drafted.status == "trashed":
        raise InvalidInput("it is in the trash")
    told: dict[str, Any] = {"updated_at": instant("updated_at", record.get("updated_at", drafted.updated_at))}
    if not passed and record.get("superseded_by"):  # by something outside of the graph
        told["superseded_by"] = label("superseded_by", record["superseded_by"])
        told["superseded_at"] = instant("superseded_at", record.get("superseded_at", drafted.updated_at))
    return told


def edges(
    store: MemoryStore, nodes: Mapping[str, Raw], given: Sequence[tuple[str, Mapping[str, Json]]]
) -> Iterator[tuple[str, Link]]:
    for known, each in given:
        rel = known or str(each.get("rel") or kept(text_in(each, "relationship", "an edge")))
        source, target = (text_in(each, end, f"an edge of {rel}").strip() for end in ("source_id", "target_id"))
        for id in (source, target):
            if id not in nodes:
                raise refused(f"an edge of {rel} names {id!r}, and no node has that id")
        if source == target:
            raise refused(f"an edge of {rel} ties {source!r} to itself")
        where = f"the edge from {source!r} to {target!r}"
        data = object_in(each, "metadata", where) | {key: value for key, value in each.items() if key not in OF_EDGES}
        try:
            weight = number("the weight", each.get("weight", 1.0), 0, HEAVIEST)
            yield source, Link(target, label("the relation", rel), weight, clean(store, data))
        except InvalidInput as error:
            raise refused(f"{where} cannot be read ({error})") from error


def successions(nodes: Mapping[str, Raw], links: Mapping[str, Mapping[tuple[str, str], Link]]) -> dict[str, list[str]]:
    """For each superseded node who follows it, the next in time first: one takes its place, but other systems tie
    every later one to it."""
    heirs: dict[str, list[str]] = {}
    for source, ends in links.items():
        for to, rel in ends:
            if rel == SUPERSEDES:
                heirs.setdefault(to, []).append(source)
    return {old: sorted(sources, key=lambda id: nodes[id].order) for old, sources in heirs.items()}


def clean(store: MemoryStore, data: dict[str, Json]) -> dict[str, Json]:
    """Checked and without secrets, as the store's settings want it."""
    return dict(store.draft("data of a tie", metadata=data).metadata) if data else {}


def moment(id: str, at: Json) -> float:
    try:
        return instant("superseded_at", at)
    except InvalidInput as error:
        raise refused(f"the node {id!r} cannot be read ({error})") from error


def listed(data: Mapping[str, Json], name: str) -> Iterator[Mapping[str, Json]]:
    given = data.get(name, [])
    if not isinstance(given, list):
        raise refused(f"{name} is no list")
    for each in given:
        if not isinstance(each, Mapping):
            raise refused(f"{name} holds something that is no JSON object")
        yield each


def text_in(given: Mapping[str, Json], name: str, where: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value.strip():
        raise refused(f"{where} has no {name}")
    return value


def object_in(given: Mapping[str, Json], name: str, where: str) -> dict[str, Json]:
    value = given.get(name) or {}
    if not isinstance(value, dict):
        raise refused(f"the {name} of {where} is no JSON object")
    return dict(value)


def refused(what: str) -> InvalidInput:
    return InvalidInput(f"The graph cannot be imported: {what.rstrip('.')}; {REMEDY}.")


FORMAT_VERSION = "1.0"
KINDS = ("semantic", "episodic")
# What a node tells under names of its own, and need not tell again in its `record`.
TOLD = ("id", "text", "type", "space", "tags", "metadata", "links")
TOLD_OF = {"semantic": (*TOLD, "title", "confidence"), "episodic": (*TOLD, "source")}
FLAT = ("from_value", "to_value", "turn", "transition_type")  # of a transition, beside its ends


def graph(store: MemoryStore) -> Iterator[Memory]:
    """All but the trash, however it stands."""
    return store.iterate(type=KINDS, include_superseded=True, include_archived=True, include_expired=True)


def exported(store: MemoryStore) -> dict[str, Json]:
    nodes = {memory.id: memory for memory in graph(store)}
    parts: dict[str, list[Json]] = {name: [] for name in (*(f"{kind}_nodes" for kind in KINDS), *EDGE_LISTS)}
    for memory in nodes.values():
        parts[f"{memory.type}_nodes"].append(node(memory, nodes))
        for link in memory.links:
            if link.to in nodes:
                parts[place_of(link)].append(edge(memory.id, link))
    head: dict[str, Json] = {"agent_name": store.space, "exported_at": iso(store.now())}
    counts: dict[str, Json] = {f"{name.removesuffix('s')}_count": len(each) for name, each in parts.items()}
    return {**head, "format_version": FORMAT_VERSION, **parts, "statistics": counts}


def node(memory: Memory, there: Mapping[str, Memory]) -> dict[str, Json]:
    told = TOLD_OF[memory.type]
    record: dict[str, Json] = {name: value for name, value in memory.to_dict().items() if name not in told}
    if memory.superseded_by in there:
        del record["superseded_by"]  # the tie tells it
    if outside := [link.to_dict() for link in memory.links if link.to not in there]:
        record["links"] = list(outside)
    own: dict[str, Json] = {
        "memory_id": memory.id,
        "content": memory.text,
        "agent_id": memory.space,
        "tags": list(memory.tags),
        "metadata": dict(memory.metadata),
        "created_at": iso(memory.created_at),
        "record": record,
    }
    if memory.type == "episodic":
        return {**own, "source_label": memory.source}
    entity = memory.entities[0] if memory.entities else ""
    about: dict[str, Json] = {"concept": memory.title, "confidence": memory.confidence}
    return {**own, **about, "source_id": source_of(memory), "entity_name": entity}


def edge(source: str, link: Link) -> dict[str, Json]:
    data = dict(link.data)
    flat = {name: data.pop(name) for name in FLAT if link.rel == TRANSITIONED_TO and name in data}
    named: dict[str, Json] = (
        {} if link.rel in EDGE_LISTS.values() else {"relationship": shown(link.rel), "rel": link.rel}
    )
    return {"source_id": source, "target_id": link.to, "weight": link.weight, **flat, "metadata": data, **named}


def place_of(link: Link) -> str:
    return next((name for name, rel in EDGE_LISTS.items() if rel == link.rel), "other_edges")


@dataclass(slots=True)
class Importing:
    """What the act will do. `kept` are nodes that stand here already and stay as they are."""

    store: MemoryStore
    given: Reading
    held: Mapping[str, Memory]
    kept: frozenset[str]
    nodes: dict[str, Memory]
    successors: dict[str, str] = field(default_factory=dict)
    standing: dict[str, str] = field(default_factory=dict)  # successions that the records themselves tell
    passed_over: int = 0

    def decide_successions(self) -> None:
        for old, passed in self.given.passed.items():
            if old in self.kept and self.held[old].superseded_by:
                self.passed_over += self.held[old].superseded_by != passed.heir
            elif passed.at is None or {old, passed.heir} & self.kept:
                self.successors[old] = passed.heir
            else:
                heir = self.nodes[passed.heir]
                self.nodes[old] = replace(self.nodes[old], superseded_by=passed.heir, superseded_at=passed.at)
                self.nodes[passed.heir] = replace(heir, links=(*heir.links, passed.link))
                self.standing[old] = passed.heir

    def refuse_rings(self) -> None:
        clear: set[str] = set()
        for id in (*self.successors, *self.standing):
            way: dict[str, None] = {}
            while id and id not in clear:
                if id in way:
                    raise refused(f"the node {id!r} supersedes itself in a ring")
                way[id] = None
                id = self.heir_of(id)
            clear |= way.keys()

    def heir_of(self, id: str) -> str:
        if known := self.successors.get(id) or self.standing.get(id):
            return known
        stands = None if id in self.nodes and id not in self.kept else self.store.get(id)
        return stands.superseded_by if stands is not None else ""

    def edits(self, *, merge: bool) -> dict[str, Edit]:
        edits: dict[str, Edit] = {}
        if not merge:
            edits |= {memory.id: trashed for memory in graph(self.store) if memory.id not in self.nodes}
        for id, stands in self.held.items():
            if id not in self.kept:
                edits[id] = becoming(self.nodes[id])
            else:
                edits[id] = extended(missing_ties(self.nodes[id], stands), passed=id in self.successors)
        return edits


def imported(store: MemoryStore, data: Mapping[str, Json], *, merge: bool) -> dict[str, int]:
    given = read(store, data)
    held = {memory.id: memory for memory in store.get_many(list(given.nodes))}
    refuse_strangers(held)
    kept = frozenset(id for id, memory in held.items() if merge and memory.status != "trashed")
    plan = Importing(store, given, held, kept, dict(given.nodes))
    plan.decide_successions()
    plan.refuse_rings()
    fresh = [memory for id, memory in plan.nodes.items() if id not in held]
    store.write("import_graph", new=fresh, edits=plan.edits(merge=merge), successors=plan.successors)
    came = [memory.type for id, memory in plan.nodes.items() if id not in kept]
    return {
        "semantic_nodes_imported": came.count("semantic"),
        "episodic_nodes_imported": came.count("episodic"),
        "edges_imported": given.edges - plan.passed_over,
        "skipped": len(kept),
        "errors": 0,
    }


def refuse_strangers(held: Mapping[str, Memory]) -> None:
    for memory in held.values():
        if memory.type not in KINDS:
            raise InvalidInput(
                f"The graph's id {memory.id!r} belongs to a memory of the type {memory.type!r} here; "
                "import it for another agent."
            )


def missing_ties(node: Memory, stands: Memory) -> list[Link]:
    have = {(link.to, link.rel) for link in stands.links}
    return [link for link in node.links if (link.to, link.rel) not in have]


def becoming(given: Memory) -> Edit:
    """What is the same already is not changed by another order of its ties, or by having been used since."""

    def edit(memory: Memory) -> Memory:
        same_ties = {(link.to, link.rel): link for link in memory.links} == {(k.to, k.rel): k for k in given.links}
        after = replace(
            given,
            links=memory.links if same_ties else given.links,
            last_accessed=memory.last_accessed,
            access_count=memory.access_count,
            updated_at=memory.updated_at,
        )
        return memory if after == memory else after

    return edit


def extended(links: list[Link], *, passed: bool) -> Edit:
    def edit(memory: Memory) -> Memory:
        for link in links:
            memory = tied_by(link)(memory)
        return doubted(memory) if passed else memory

    return edit
