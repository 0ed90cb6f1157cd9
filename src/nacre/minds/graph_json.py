"""A graph of knowledge as plain JSON, out and back: exactly, all or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from nacre.engine.engine import Edit
from nacre.engine.review import trashed
from nacre.errors import InvalidInput
from nacre.memory_store import MemoryStore
from nacre.minds.graph_reading import TIES, Reading, read, refused
from nacre.minds.knowledge_storing import doubted, tied_by
from nacre.minds.subgraph import TRANSITIONED_TO, shown, source_of
from nacre.model import Link, Memory
from nacre.model.instants import iso
from nacre.model.memory import Json

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
    parts: dict[str, list[Json]] = {name: [] for name in (*(f"{kind}_nodes" for kind in KINDS), *TIES)}
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
    named: dict[str, Json] = {} if link.rel in TIES.values() else {"relationship": shown(link.rel), "rel": link.rel}
    return {"source_id": source, "target_id": link.to, "weight": link.weight, **flat, "metadata": data, **named}


def place_of(link: Link) -> str:
    return next((name for name, rel in TIES.items() if rel == link.rel), "other_edges")


@dataclass(slots=True)
class Importing:
    """What the act will do. `kept` are nodes that stand here already and stay as they are."""

    store: MemoryStore
    given: Reading
    held: Mapping[str, Memory]
    kept: frozenset[str]
    nodes: dict[str, Memory]
    heirs: dict[str, str] = field(default_factory=dict)
    standing: dict[str, str] = field(default_factory=dict)  # successions that the records themselves tell
    passed_over: int = 0

    def decide_successions(self) -> None:
        for old, passed in self.given.passed.items():
            if old in self.kept and self.held[old].superseded_by:
                self.passed_over += self.held[old].superseded_by != passed.heir
            elif passed.at is None or {old, passed.heir} & self.kept:
                self.heirs[old] = passed.heir
            else:
                heir = self.nodes[passed.heir]
                self.nodes[old] = replace(self.nodes[old], superseded_by=passed.heir, superseded_at=passed.at)
                self.nodes[passed.heir] = replace(heir, links=(*heir.links, passed.link))
                self.standing[old] = passed.heir

    def refuse_rings(self) -> None:
        clear: set[str] = set()
        for id in (*self.heirs, *self.standing):
            way: dict[str, None] = {}
            while id and id not in clear:
                if id in way:
                    raise refused(f"the node {id!r} supersedes itself in a ring")
                way[id] = None
                id = self.heir_of(id)
            clear |= way.keys()

    def heir_of(self, id: str) -> str:
        if known := self.heirs.get(id) or self.standing.get(id):
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
                edits[id] = extended(missing_ties(self.nodes[id], stands), passed=id in self.heirs)
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
    store.write("import_graph", new=fresh, edits=plan.edits(merge=merge), heirs=plan.heirs)
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
