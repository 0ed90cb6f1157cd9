"""Exports a knowledge graph as JSON and imports it again; the JSON is checked completely before anything is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from nacre.engine.engine import Edit
from nacre.engine.review import trashed
from nacre.engine.supersede import first_cycle, without_succession
from nacre.errors import InvalidInput
from nacre.factory import make_guard
from nacre.memory_store import MemoryStore
from nacre.minds.subgraph import (
    Key,
    Rel,
    add_link,
    lower_confidence,
    relation_type,
    relationship_name,
    source_of,
    temporal_index,
)
from nacre.model import Link, Memory
from nacre.model.instants import iso
from nacre.model.memory import TRASHED, Json, by_target
from nacre.transfer.import_plan import RowChecker, json_objects, written_over

NODES = {"semantic_nodes": "semantic", "episodic_nodes": "episodic"}
EDGE_LISTS = {
    "similar_to_edges": Rel.SIMILAR_TO,
    "derives_from_edges": Rel.DERIVED_FROM,
    "supersedes_edges": Rel.SUPERSEDES,
    "transitioned_to_edges": Rel.TRANSITIONED_TO,
    "other_edges": "",  # each names its own relation
}
EDGE_FIELDS = ("source_id", "target_id", "weight", "metadata", "relationship", "rel")
REMEDY = "export the graph again, and import that"
Row = dict[str, Any]


@dataclass(slots=True)
class ParsedGraph:
    """`successions` has the successor of each node that was replaced; the successor's link says so too."""

    nodes: dict[str, Memory]
    successions: dict[str, str]
    edges: int = 0


def read_graph(store: MemoryStore, data: Mapping[str, Json]) -> ParsedGraph:
    """Raises `InvalidInput` for the first thing that is wrong."""
    if not any(name in data for name in NODES):
        raise import_error("it has neither semantic_nodes nor episodic_nodes")
    rows = dict(read_nodes(store, data))
    edges = list(read_edges(rows, data))
    later: dict[str, list[str]] = {}
    for source, link in edges:
        if link["rel"] == Rel.SUPERSEDES:
            later.setdefault(str(link["to"]), []).append(source)
    # Here a node has one successor, the next in time, but other systems link every later node to it.
    successions = {old: min(sources, key=lambda id: order(rows[id])) for old, sources in later.items()}
    for source, link in edges:
        skipped = link["rel"] == Rel.SUPERSEDES and successions[str(link["to"])] != source
        rows[source]["links"].append({**link, "rel": Rel.TRANSITIONED_TO} if skipped else link)
    checker = RowChecker(store.space, make_guard(store.settings), store.types())
    return ParsedGraph({id: read_memory(checker, row) for id, row in rows.items()}, successions, len(edges))


def order(row: Row) -> tuple[float, str]:
    return temporal_index(row["metadata"]), str(row["created_at"])


def read_nodes(store: MemoryStore, data: Mapping[str, Json]) -> Iterator[tuple[str, Row]]:
    """Rows as an archive has them, with the links that lead out of the graph."""
    seen: set[str] = set()
    for name, kind in NODES.items():
        for entry in objects_in(data, name):
            id = text_in(entry, "memory_id", f"a node of {name}").strip()
            if id in seen:
                raise import_error(f"the id {id!r} is there twice")
            seen.add(id)
            where = f"the node {id!r}"
            record = object_in(entry, "record", where)
            if record.get("status") == TRASHED:
                raise import_error(f"{where} is in the trash")
            at = entry.get("created_at") or store.now()
            row: Row = {"created_at": at, "updated_at": at, "last_accessed": at, **record}
            row["links"] = list(objects_in(record, "links"))
            row |= {"id": id, "type": kind, "text": text_in(entry, "content", where), "tags": entry.get("tags") or []}
            row["metadata"] = object_in(entry, "metadata", where)
            if kind == "semantic":
                row |= {"title": entry.get("concept") or "", "confidence": entry.get("confidence", 0.8)}
                row.setdefault("entities", [entry["entity_name"]] if entry.get("entity_name") else [])
                row["metadata"].setdefault(Key.SOURCE_ID, entry.get("source_id") or "")
            else:
                row["source"] = entry.get("source_label") or ""
            yield id, row


def read_memory(checker: RowChecker, row: Row) -> Memory:
    sources = [link.get("to") for link in row["links"] if link.get("rel") == Rel.DERIVED_FROM]
    if row["metadata"].get(Key.SOURCE_ID, "") in ("", *sources):
        row["metadata"].pop(Key.SOURCE_ID, None)  # the link says it
    try:
        return checker.memory(row)
    except InvalidInput as error:
        raise import_error(f"the node {row['id']!r} cannot be read ({error})") from error


def read_edges(nodes: Mapping[str, Row], data: Mapping[str, Json]) -> Iterator[tuple[str, dict[str, Json]]]:
    """The id of the source, and the link as an archive has it."""
    for known, each in ((rel, each) for name, rel in EDGE_LISTS.items() for each in objects_in(data, name)):
        rel = known or str(each.get("rel") or relation_type(text_in(each, "relationship", "an edge")))
        source, target = (text_in(each, end, f"an edge of {rel}").strip() for end in ("source_id", "target_id"))
        for id in (source, target):
            if id not in nodes:
                raise import_error(f"an edge of {rel} names {id!r}, and no node has that id")
        more = object_in(each, "metadata", f"the edge from {source!r} to {target!r}")
        more |= {key: value for key, value in each.items() if key not in EDGE_FIELDS}
        yield source, {"to": target, "rel": rel, "weight": each.get("weight", 1.0), "data": more}


def objects_in(container: Mapping[str, Json], name: str) -> Iterator[dict[str, Any]]:
    return json_objects(container.get(name, []), name, import_error)


def text_in(container: Mapping[str, Json], name: str, where: str) -> str:
    value = container.get(name)
    if not isinstance(value, str) or not value.strip():
        raise import_error(f"{where} has no {name}")
    return value


def object_in(container: Mapping[str, Json], name: str, where: str) -> dict[str, Json]:
    value = container.get(name) or {}
    if not isinstance(value, dict):
        raise import_error(f"the {name} of {where} is not a JSON object")
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
    flat = {name: data.pop(name) for name in TRANSITION_FIELDS if link.rel == Rel.TRANSITIONED_TO and name in data}
    edge: dict[str, Json] = {"source_id": source, "target_id": link.to, "weight": link.weight, **flat, "metadata": data}
    listed = link.rel in EDGE_LISTS.values()
    return edge if listed else {**edge, "relationship": relationship_name(link.rel), "rel": link.rel}


@dataclass(slots=True)
class ImportPlan:
    """What the import will do. `unchanged` are nodes that exist here already and stay as they are; `successors` are set
    by the store, the other successions are in the records."""

    store: MemoryStore
    graph: ParsedGraph
    held: Mapping[str, Memory]
    unchanged: frozenset[str]
    nodes: dict[str, Memory]
    successors: dict[str, str] = field(default_factory=dict)
    ignored_edges: int = 0

    def decide_successions(self) -> None:
        for old, successor in self.graph.successions.items():
            if self.nodes[old].superseded_at is not None and not {old, successor} & self.unchanged:
                self.nodes[old] = replace(self.nodes[old], superseded_by=successor)
                continue
            links = without_succession(self.nodes[successor].links, old)
            self.nodes[successor] = replace(self.nodes[successor], links=links)
            self.nodes[old] = replace(self.nodes[old], superseded_by="", superseded_at=None)
            if old in self.unchanged and self.held[old].superseded_by:
                self.ignored_edges += self.held[old].superseded_by != successor
            else:
                self.successors[old] = successor

    def refuse_cycles(self) -> None:
        def successor_of(id: str) -> str:
            new = id in self.nodes and id not in self.unchanged
            memory = self.nodes[id] if new else self.store.get(id)
            return self.successors.get(id) or (memory.superseded_by if memory else "")

        if (id := first_cycle(self.graph.successions, successor_of)) is not None:
            raise import_error(f"the node {id!r} supersedes itself in a ring")

    def edits(self, *, merge: bool) -> dict[str, Edit]:
        edits: dict[str, Edit] = {}
        if not merge:
            edits |= {memory.id: trashed for memory in graph_memories(self.store) if memory.id not in self.nodes}
        for id, stands in self.held.items():
            if id not in self.unchanged:
                edits[id] = partial(written_over, imported=self.nodes[id])
            else:
                have = by_target(stands.links)
                missing = [link for key, link in by_target(self.nodes[id].links).items() if key not in have]
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
    unchanged = frozenset(id for id, memory in held.items() if merge and memory.status != TRASHED)
    plan = ImportPlan(store, graph, held, unchanged, dict(graph.nodes))
    plan.decide_successions()
    plan.refuse_cycles()
    fresh = [memory for id, memory in plan.nodes.items() if id not in held]
    store.write("import_graph", new=fresh, edits=plan.edits(merge=merge), successors=plan.successors)
    came = [memory.type for id, memory in plan.nodes.items() if id not in unchanged]
    nodes = {f"{kind}_nodes_imported": came.count(kind) for kind in KINDS}
    return {**nodes, "edges_imported": graph.edges - plan.ignored_edges, "skipped": len(unchanged), "errors": 0}


def add_links(links: list[Link], *, superseded: bool) -> Edit:
    def edit(memory: Memory) -> Memory:
        for link in links:
            memory = add_link(link)(memory)
        return lower_confidence(memory) if superseded else memory

    return edit
