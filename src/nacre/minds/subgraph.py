"""What a question finds in a graph of knowledge: facts, the ties between them, and their text for a language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from nacre.minds.knowledge_context import written_out
from nacre.model import Edge, Graph, Memory
from nacre.model.instants import iso
from nacre.model.memory import Json
from nacre.transfer import graph_formats

CATEGORY = "knowledge_category"  # in the metadata of a fact; without it the fact is semantic
SOURCE_ID = "source_id"  # in the metadata too, of a fact whose source is no episode here
ENTITY, SOURCE_LABEL, SUPERSEDED, SUPERSEDED_BY = "entity_name", "source_label", "superseded", "superseded_by"
DERIVED_FROM, SUPERSEDES, TRANSITIONED_TO, SIMILAR_TO = "derived_from", "supersedes", "transitioned_to", "similar_to"
SHOWN_AS = {DERIVED_FROM: "DERIVES_FROM"}  # where the relation is not simply the same word in capitals
KEPT_AS = {shown: rel for rel, shown in SHOWN_AS.items()}


class KnowledgeCategory(StrEnum):
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    PROSPECTIVE = "prospective"
    WORKING = "working"


@dataclass(frozen=True, slots=True)
class KnowledgeNode:
    """`metadata` tells, beside what was given, the `entity_name`, the `source_label` of the episode that the fact was
    taken from, and `superseded` with `superseded_by` where a newer fact has taken its place."""

    node_id: str
    category: KnowledgeCategory
    content: str
    concept: str = ""
    confidence: float = 0.8
    source_id: str = ""
    created_at: str = ""
    tags: list[str] = field(default_factory=list)
    metadata: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KnowledgeEdge:
    source_id: str
    target_id: str
    relationship: str
    weight: float = 1.0
    metadata: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KnowledgeSubgraph:
    """The facts come in the order of their worth for the question."""

    nodes: list[KnowledgeNode] = field(default_factory=list)
    edges: list[KnowledgeEdge] = field(default_factory=list)
    query: str = ""

    def to_llm_context(self, chronological: bool = False) -> str:
        """Numbered facts with source and date, what contradicts what, what changed, and how they are related.

        A fact takes one line whatever it says, and secrets of older days are taken out.
        """
        return written_out(self, chronological=chronological)

    def to_graph(self) -> Graph:
        nodes = {node.node_id: as_memory(node) for node in self.nodes}
        ties = (Edge(e.source_id, e.target_id, kept(e.relationship), e.weight) for e in self.edges)
        return Graph(nodes, tuple(edge for edge in ties if edge.source in nodes and edge.target in nodes))

    def to_dot(self) -> str:
        return graph_formats.dot(self.to_graph())

    def to_graphml(self) -> str:
        return graph_formats.graphml(self.to_graph())

    def to_mermaid(self) -> str:
        return graph_formats.mermaid(self.to_graph())

    def to_html(self) -> str:
        return graph_formats.html(self.to_graph())


def shown(rel: str) -> str:
    return SHOWN_AS.get(rel, rel.upper())


def kept(relationship: str) -> str:
    return KEPT_AS.get(relationship, relationship.lower())


def as_node(memory: Memory, labels: Mapping[str, str] | None = None) -> KnowledgeNode:
    """`labels` are the provenance labels of episodes, by id."""
    source = source_of(memory)
    told: dict[str, Json] = {key: value for key, value in memory.metadata.items() if key not in (CATEGORY, SOURCE_ID)}
    if memory.entities:
        told.setdefault(ENTITY, memory.entities[0])
    if label := (labels or {}).get(source, ""):
        told[SOURCE_LABEL] = label
    if memory.superseded_by:
        told |= {SUPERSEDED: True, SUPERSEDED_BY: memory.superseded_by}
    return KnowledgeNode(
        node_id=memory.id,
        category=category_of(memory),
        content=memory.text,
        concept=memory.title,
        confidence=memory.confidence,
        source_id=source,
        created_at=iso(memory.created_at),
        tags=list(memory.tags),
        metadata=told,
    )


def as_edges(memories: Sequence[Memory]) -> list[KnowledgeEdge]:
    """Every tie between two of them."""
    there = {memory.id for memory in memories}
    return [
        KnowledgeEdge(memory.id, link.to, shown(link.rel), link.weight, dict(link.data))
        for memory in memories
        for link in memory.links
        if link.to in there
    ]


def as_memory(node: KnowledgeNode) -> Memory:
    return Memory(
        id=node.node_id,
        text=node.content,
        title=node.concept,
        type=str(node.category),
        confidence=node.confidence,
        tags=tuple(node.tags),
        metadata=node.metadata,
        superseded_by=str(node.metadata.get(SUPERSEDED_BY, "")),
    )


def source_of(memory: Memory) -> str:
    tied = next((link.to for link in memory.links if link.rel == DERIVED_FROM), "")
    return tied or str(memory.metadata.get(SOURCE_ID, ""))


def category_of(memory: Memory) -> KnowledgeCategory:
    told = memory.metadata.get(CATEGORY, memory.type)
    known = [each.value for each in KnowledgeCategory]
    return KnowledgeCategory(str(told)) if told in known else KnowledgeCategory.SEMANTIC
