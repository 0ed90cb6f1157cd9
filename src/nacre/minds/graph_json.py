"""Exports a knowledge graph as JSON and imports it again; the JSON is checked completely before anything is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nacre.engine.engine import Edit
from nacre.engine.review import trashed
from nacre.errors import InvalidInput
from nacre.memory_store import MemoryStore
from nacre.minds.knowledge_facts import add_link, lower_confidence, temporal_index
from nacre.minds.subgraph import (
    DERIVED_FROM,
    SIMILAR_TO,
    SOURCE_ID,
    SUPERSEDES,
    TRANSITIONED_TO,
    relation_type,
    relationship_name,
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
EDGE_FIELDS = ("source_id", "target_id", "weight", "metadata", "relationship", "rel")
HEAVIEST = 1_000_000  # as for any link of the store
REMEDY = "export the graph again, and import that"


@dataclass(frozen=True, slots=True)
class Succession:
    """`successor` replaced the node by `link`; `at` is the time, if the data has one."""

    successor: str
    link: Link
    at: float | None


@dataclass(slots=True)
class ParsedGraph:
    """Nodes without their successions; `successions` has these by the id of the older node."""

    nodes: dict[str, Memory] = field(default_factory=dict)
    successions: dict[str, Succession] = field(default_factory=dict)
    edges: int = 0


@dataclass(frozen=True, slots=True)
class RawNode:
    """A node as read, before anything in it is checked."""

    id: str
    kind: str
    fields: Mapping[str, Json]
    record: Mapping[str, Json]
    metadata: Mapping[str, Json]

    @property
    def order(self) -> tuple[float, str]:
        return temporal_index(self.metadata), str(self.fields.get("created_at", ""))


def read_graph(store: MemoryStore, data: Mapping[str, Json]) -> ParsedGraph:
    """Raises `InvalidInput` for the first thing that is wrong."""
    if not any(name in data for name in NODES):
        raise import_error("it has neither semantic_nodes nor episodic_nodes")
    raw = dict(raw_nodes(data))
    links: dict[str, dict[tuple[str, str], Link]] = {id: {} for id in raw}
    graph = ParsedGraph()
    raw_edges = [(rel, each) for name, rel in EDGE_LISTS.items() for each in objects_in(data, name)]
    for source, link in read_edges(store, raw, raw_edges):
        links[source][link.to, link.rel] = link
        graph.edges += 1
    for old, successors in successors_by_id(raw, links).items():
        first, *later = [(successor, links[successor].pop((old, SUPERSEDES))) for successor in successors]
        at = raw[old].record.get("superseded_at")
        graph.successions[old] = Succession(*first, None if at is None else read_time(old, at))
        for successor, link in later:
            links[successor].setdefault((old, TRANSITIONED_TO), replace(link, rel=TRANSITIONED_TO))
    for id, each in raw.items():
        graph.nodes[id] = read_node(store, each, list(links[id].values()), superseded=id in graph.successions)
    return graph


def raw_nodes(data: Mapping[str, Json]) -> Iterator[tuple[str, RawNode]]:
    seen: set[str] = set()
    for name, kind in NODES.items():
        for entry in objects_in(data, name):
            id = text_in(entry, "memory_id", f"a node of {name}").strip()
            if id in seen:
                raise import_error(f"the id {id!r} is there twice")
            seen.add(id)
            where = f"the node {id!r}"
            yield id, RawNode(id, kind, entry, object_in(entry, "record", where), object_in(entry, "metadata", where))


def read_node(store: MemoryStore, raw: RawNode, links: Sequence[Link], *, superseded: bool) -> Memory:
    entry, record = raw.fields, raw.record
    fields: dict[str, Any] = {name: value for name, value in record.items() if name in CHECKS and name != "links"}
    fields |= {"id": raw.id, "type": raw.kind, "metadata": raw.metadata, "tags": entry.get("tags") or []}
    fields.setdefault("created_at", entry.get("created_at") or store.now())
    if raw.kind == "semantic":
        fields |= {"title": entry.get("concept") or "", "confidence": entry.get("confidence", 0.8)}
        fields.setdefault("entities", [entry["entity_name"]] if entry.get("entity_name") else [])
    else:
        fields["source"] = entry.get("source_label") or ""
    content = text_in(entry, "content", f"the node {raw.id!r}")
    try:
        all_links = link_tuple("links", [*outside_links(store, raw), *links])
        source = label("source_id", entry.get("source_id"))
        if source and (source, DERIVED_FROM) not in {(link.to, link.rel) for link in all_links}:
            fields["metadata"] = {SOURCE_ID: source, **raw.metadata}
        drafted = store.draft(content, **fields)
        return replace(drafted, links=all_links, **stored_state(record, drafted, superseded=superseded))
    except InvalidInput as error:
        raise import_error(f"the node {raw.id!r} cannot be read ({error})") from error


def outside_links(store: MemoryStore, raw: RawNode) -> Iterator[Link]:
    """Links to memories outside the graph; their targets need not exist."""
    entries = raw.record.get("links") or []
    for each in entries if isinstance(entries, list) else [entries]:
        if not isinstance(each, dict) or "to" not in each:
            raise InvalidInput("its links are not a list of links")
        link = Link.from_dict(each)
        yield replace(link, data=clean_data(store, dict(link.data)))


def stored_state(record: Mapping[str, Json], drafted: Memory, *, superseded: bool) -> dict[str, Any]:
    """Fields of an exported record that a caller cannot set on a new memory."""
    if drafted.status == "trashed":
        raise InvalidInput("it is in the trash")
    fields: dict[str, Any] = {"updated_at": instant("updated_at", record.get("updated_at", drafted.updated_at))}
    if not superseded and record.get("superseded_by"):  # by something outside of the graph
        fields["superseded_by"] = label("superseded_by", record["superseded_by"])
        fields["superseded_at"] = instant("superseded_at", record.get("superseded_at", drafted.updated_at))
    return fields


def read_edges(
    store: MemoryStore, nodes: Mapping[str, RawNode], raw_edges: Sequence[tuple[str, Mapping[str, Json]]]
) -> Iterator[tuple[str, Link]]:
    for known, each in raw_edges:
        rel = known or str(each.get("rel") or relation_type(text_in(each, "relationship", "an edge")))
        source, target = (text_in(each, end, f"an edge of {rel}").strip() for end in ("source_id", "target_id"))
        for id in (source, target):
            if id not in nodes:
                raise import_error(f"an edge of {rel} names {id!r}, and no node has that id")
        if source == target:
            raise import_error(f"an edge of {rel} links {source!r} to itself")
        where = f"the edge from {source!r} to {target!r}"
        data = object_in(each, "metadata", where)
        data |= {key: value for key, value in each.items() if key not in EDGE_FIELDS}
        try:
            weight = number("the weight", each.get("weight", 1.0), 0, HEAVIEST)
            yield source, Link(target, label("the relation", rel), weight, clean_data(store, data))
        except InvalidInput as error:
            raise import_error(f"{where} cannot be read ({error})") from error


def successors_by_id(
    nodes: Mapping[str, RawNode], links: Mapping[str, Mapping[tuple[str, str], Link]]
) -> dict[str, list[str]]:
    """The successors of each superseded node, the next in time first. Here a node has one successor, but other systems
    link every later node to it."""
    successors: dict[str, list[str]] = {}
    for source, ends in links.items():
        for to, rel in ends:
            if rel == SUPERSEDES:
                successors.setdefault(to, []).append(source)
    return {old: sorted(sources, key=lambda id: nodes[id].order) for old, sources in successors.items()}


def clean_data(store: MemoryStore, data: dict[str, Json]) -> dict[str, Json]:
    """Checked and without secrets, as the store's settings want it."""
    return dict(store.draft("data of a link", metadata=data).metadata) if data else {}


def read_time(id: str, at: Json) -> float:
    try:
        return instant("superseded_at", at)
    except InvalidInput as error:
        raise import_error(f"the node {id!r} cannot be read ({error})") from error


def objects_in(data: Mapping[str, Json], name: str) -> Iterator[Mapping[str, Json]]:
    values = data.get(name, [])
    if not isinstance(values, list):
        raise import_error(f"{name} is no list")
    for each in values:
        if not isinstance(each, Mapping):
            raise import_error(f"{name} holds something that is no JSON object")
        yield each


def text_in(container: Mapping[str, Json], name: str, where: str) -> str:
    value = container.get(name)
    if not isinstance(value, str) or not value.strip():
        raise import_error(f"{where} has no {name}")
    return value


def object_in(container: Mapping[str, Json], name: str, where: str) -> dict[str, Json]:
    value = container.get(name) or {}
    if not isinstance(value, dict):
        raise import_error(f"the {name} of {where} is no JSON object")
    return dict(value)


def import_error(what: str) -> InvalidInput:
    return InvalidInput(f"The graph cannot be imported: {what.rstrip('.')}; {REMEDY}.")


FORMAT_VERSION = "1.0"
KINDS = ("semantic", "episodic")
# Fields that a node has under names of its own, and that its `record` need not repeat.
COMMON_FIELDS = ("id", "text", "type", "space", "tags", "metadata", "links")
NODE_FIELDS = {"semantic": (*COMMON_FIELDS, "title", "confidence"), "episodic": (*COMMON_FIELDS, "source")}
TRANSITION_FIELDS = ("from_value", "to_value", "turn", "transition_type")  # of a transition, beside its ends


def graph_memories(store: MemoryStore) -> Iterator[Memory]:
    """All but the trash."""
    return store.iterate(type=KINDS, include_superseded=True, include_archived=True, include_expired=True)


def export_graph(store: MemoryStore) -> dict[str, Json]:
    nodes = {memory.id: memory for memory in graph_memories(store)}
    parts: dict[str, list[Json]] = {name: [] for name in (*(f"{kind}_nodes" for kind in KINDS), *EDGE_LISTS)}
    for memory in nodes.values():
        parts[f"{memory.type}_nodes"].append(node_to_json(memory, nodes))
        for link in memory.links:
            if link.to in nodes:
                name = next((name for name, rel in EDGE_LISTS.items() if rel == link.rel), "other_edges")
                parts[name].append(edge_to_json(memory.id, link))
    head: dict[str, Json] = {"agent_name": store.space, "exported_at": iso(store.now())}
    counts: dict[str, Json] = {f"{name.removesuffix('s')}_count": len(each) for name, each in parts.items()}
    return {**head, "format_version": FORMAT_VERSION, **parts, "statistics": counts}


def node_to_json(memory: Memory, there: Mapping[str, Memory]) -> dict[str, Json]:
    skipped = NODE_FIELDS[memory.type]
    record: dict[str, Json] = {name: value for name, value in memory.to_dict().items() if name not in skipped}
    if memory.superseded_by in there:
        del record["superseded_by"]  # the link says it
    if outside := [link.to_dict() for link in memory.links if link.to not in there]:
        record["links"] = list(outside)
    own: dict[str, Json] = {
        "memory_id": memory.id, "content": memory.text, "agent_id": memory.space, "tags": list(memory.tags),
        "metadata": dict(memory.metadata), "created_at": iso(memory.created_at), "record": record,
    }  # fmt: skip
    if memory.type == "episodic":
        return {**own, "source_label": memory.source}
    entity = memory.entities[0] if memory.entities else ""
    about: dict[str, Json] = {"concept": memory.title, "confidence": memory.confidence}
    return {**own, **about, "source_id": source_of(memory), "entity_name": entity}


def edge_to_json(source: str, link: Link) -> dict[str, Json]:
    data = dict(link.data)
    flat = {name: data.pop(name) for name in TRANSITION_FIELDS if link.rel == TRANSITIONED_TO and name in data}
    edge: dict[str, Json] = {"source_id": source, "target_id": link.to, "weight": link.weight, **flat, "metadata": data}
    listed = link.rel in EDGE_LISTS.values()
    return edge if listed else {**edge, "relationship": relationship_name(link.rel), "rel": link.rel}


@dataclass(slots=True)
class ImportPlan:
    """What the import will do. `unchanged` are nodes that exist here already and stay as they are."""

    store: MemoryStore
    graph: ParsedGraph
    held: Mapping[str, Memory]
    unchanged: frozenset[str]
    nodes: dict[str, Memory]
    successors: dict[str, str] = field(default_factory=dict)
    recorded: dict[str, str] = field(default_factory=dict)  # successions with a time, written into the records
    ignored_edges: int = 0

    def decide_successions(self) -> None:
        for old, succession in self.graph.successions.items():
            if old in self.unchanged and self.held[old].superseded_by:
                self.ignored_edges += self.held[old].superseded_by != succession.successor
            elif succession.at is None or {old, succession.successor} & self.unchanged:
                self.successors[old] = succession.successor
            else:
                id, successor = succession.successor, self.nodes[succession.successor]
                self.nodes[old] = replace(self.nodes[old], superseded_by=id, superseded_at=succession.at)
                self.nodes[id] = replace(successor, links=(*successor.links, succession.link))
                self.recorded[old] = id

    def refuse_rings(self) -> None:
        clear: set[str] = set()
        for id in (*self.successors, *self.recorded):
            way: dict[str, None] = {}
            while id and id not in clear:
                if id in way:
                    raise import_error(f"the node {id!r} supersedes itself in a ring")
                way[id] = None
                stored = None if id in self.nodes and id not in self.unchanged else self.store.get(id)
                id = self.successors.get(id) or self.recorded.get(id) or (stored.superseded_by if stored else "")
            clear |= way.keys()

    def edits(self, *, merge: bool) -> dict[str, Edit]:
        edits: dict[str, Edit] = {}
        if not merge:
            edits |= {memory.id: trashed for memory in graph_memories(self.store) if memory.id not in self.nodes}
        for id, stands in self.held.items():
            if id not in self.unchanged:
                edits[id] = replace_with(self.nodes[id])
            else:
                have = links_by_key(stands.links)
                missing = [link for key, link in links_by_key(self.nodes[id].links).items() if key not in have]
                edits[id] = add_links(missing, superseded=id in self.successors)
        return edits


def import_graph(store: MemoryStore, data: Mapping[str, Json], *, merge: bool) -> dict[str, int]:
    graph = read_graph(store, data)
    held = {memory.id: memory for memory in store.get_many(list(graph.nodes))}
    for memory in held.values():
        if memory.type not in KINDS:
            raise InvalidInput(
                f"The graph's id {memory.id!r} belongs to a memory of the type {memory.type!r} here; "
                "import it for another agent."
            )
    unchanged = frozenset(id for id, memory in held.items() if merge and memory.status != "trashed")
    plan = ImportPlan(store, graph, held, unchanged, dict(graph.nodes))
    plan.decide_successions()
    plan.refuse_rings()
    fresh = [memory for id, memory in plan.nodes.items() if id not in held]
    store.write("import_graph", new=fresh, edits=plan.edits(merge=merge), successors=plan.successors)
    came = [memory.type for id, memory in plan.nodes.items() if id not in unchanged]
    nodes = {f"{kind}_nodes_imported": came.count(kind) for kind in KINDS}
    return {**nodes, "edges_imported": graph.edges - plan.ignored_edges, "skipped": len(unchanged), "errors": 0}


def links_by_key(links: Sequence[Link]) -> dict[tuple[str, str], Link]:
    return {(link.to, link.rel): link for link in links}


def replace_with(replacement: Memory) -> Edit:
    """A memory does not count as changed by another order of its links, or by having been used since."""

    def edit(memory: Memory) -> Memory:
        same_links = links_by_key(memory.links) == links_by_key(replacement.links)
        after = replace(
            replacement,
            links=memory.links if same_links else replacement.links,
            last_accessed=memory.last_accessed,
            access_count=memory.access_count,
            updated_at=memory.updated_at,
        )
        return memory if after == memory else after

    return edit


def add_links(links: list[Link], *, superseded: bool) -> Edit:
    def edit(memory: Memory) -> Memory:
        for link in links:
            memory = add_link(link)(memory)
        return lower_confidence(memory) if superseded else memory

    return edit
