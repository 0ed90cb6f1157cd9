"""A part of the knowledge graph: its values, and its text for a language model, in which data cannot look like ours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from nacre.engine.engine import Edit
from nacre.model import Link, Memory
from nacre.model.fence import escaped
from nacre.model.instants import iso
from nacre.model.memory import Json
from nacre.safety.secrets import scrub

NOTHING = "No relevant knowledge found."
MAX_RELATIONSHIPS = 20  # the strongest; weak similarities are not worth their tokens
# Inside of a fact these would read as ours.
OUR_MARKS = re.compile(r"\[(?=\s*(?:source|date|superseded)\b)", re.IGNORECASE)
TRANSITION = "TRANSITIONED_TO"
OTHER_SECTIONS = (TRANSITION, "SUPERSEDES")


def node_time(node: KnowledgeNode) -> tuple[float, str, str]:
    """What is timeless comes first."""
    index = node.metadata.get("temporal_index")
    placed = float(index) if isinstance(index, int | float) and not isinstance(index, bool) else 0.0
    return placed, str(node.metadata.get("source_date", "")), node.created_at


def fact_line(place: int, node: KnowledgeNode, numbers: Mapping[str, int]) -> str:
    about = f"[{one_line(node.concept)}] " if node.concept else ""
    marks = [f"(confidence {node.confidence:.2f})"]
    if label := node.metadata.get("source_label"):
        marks.append(f"[Source: {one_line(str(label))}]")
    if date := node.metadata.get("source_date"):
        marks.append(f"[Date: {one_line(str(date))}]")
    if node.metadata.get("superseded"):
        successor = numbers.get(str(node.metadata.get("superseded_by", "")))
        marks.append("[Superseded]" if successor is None else f"[Superseded by {successor}]")
    return f"{place}. {about}{one_line(node.content)} {' '.join(marks)}"


def warning_lines(edges: list[KnowledgeEdge], numbers: Mapping[str, int]) -> Iterator[str]:
    for edge in edges:
        if edge.metadata.get("contradiction"):
            values = one_line(str(edge.metadata.get("conflicting_values", "")))
            ends = f"{fact_name(edge.source_id, numbers)} and {fact_name(edge.target_id, numbers)}"
            yield f"WARNING: {ends} contradict each other{f' ({values})' if values else ''}."


def change_lines(edges: list[KnowledgeEdge], numbers: Mapping[str, int]) -> Iterator[str]:
    steps = [edge for edge in edges if edge.relationship == TRANSITION]
    for edge in sorted(steps, key=lambda edge: str(edge.metadata.get("turn", "")).zfill(12)):
        older, newer = (one_line(str(edge.metadata.get(name, "?"))) for name in ("to_value", "from_value"))
        ends = f"{fact_name(edge.target_id, numbers)} to {fact_name(edge.source_id, numbers)}"
        yield f"- from {ends}: was {older}, then {newer}"


def relationship_lines(edges: list[KnowledgeEdge], numbers: Mapping[str, int]) -> Iterator[str]:
    edge_list = [edge for edge in edges if edge.relationship not in OTHER_SECTIONS]
    for edge in sorted(edge_list, key=lambda edge: -edge.weight)[:MAX_RELATIONSHIPS]:
        rel = one_line(edge.relationship)
        yield f"- {fact_name(edge.source_id, numbers)} {rel} {fact_name(edge.target_id, numbers)} ({edge.weight:.2f})"


def fact_name(id: str, numbers: Mapping[str, int]) -> str:
    return f"fact {numbers[id]}" if id in numbers else "a fact that is not shown"


def with_title(title: str, lines: Iterator[str]) -> list[str]:
    rows = list(lines)
    return [title, *rows] if rows else []


def one_line(text: str) -> str:
    """Without secrets, line ends of any kind, and marks that are ours to set."""
    return OUR_MARKS.sub("(", " ".join(escaped(scrub(text).text).split()))


class Key:
    """Keys of a fact's metadata; without a category it is semantic, and `source_id` names a source that is not a stored
    episode."""

    CATEGORY, SOURCE_ID = "knowledge_category", "source_id"
    ENTITY, SOURCE_LABEL, SUPERSEDED, SUPERSEDED_BY = "entity_name", "source_label", "superseded", "superseded_by"


class Rel:
    """The relations between facts and episodes."""

    DERIVED_FROM, SUPERSEDES = "derived_from", "supersedes"
    TRANSITIONED_TO, SIMILAR_TO = "transitioned_to", "similar_to"


RELATIONSHIP_NAMES = {Rel.DERIVED_FROM: "DERIVES_FROM"}  # where the relation is not simply the same word in capitals
RELATION_TYPES = {name: rel for rel, name in RELATIONSHIP_NAMES.items()}


class KnowledgeCategory(StrEnum):
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    PROSPECTIVE = "prospective"
    WORKING = "working"


@dataclass(frozen=True, slots=True)
class KnowledgeNode:
    """`metadata` has, besides what was given, the `entity_name`, the `source_label` of the episode that the fact was
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
        if not self.nodes:
            return NOTHING
        nodes = sorted(self.nodes, key=node_time) if chronological else self.nodes
        numbers = {node.node_id: place for place, node in enumerate(nodes, start=1)}
        asked, order = one_line(self.query), " (oldest first)" if chronological else ""
        return "\n".join([
            f"Known facts{order} about: {asked}" if asked else f"Known facts{order}:",
            *(fact_line(place, node, numbers) for place, node in enumerate(nodes, start=1)),
            *warning_lines(self.edges, numbers),
            *with_title("Changes:", change_lines(self.edges, numbers)),
            *with_title("Relationships:", relationship_lines(self.edges, numbers)),
        ])  # fmt: skip


def relationship_name(rel: str) -> str:
    return RELATIONSHIP_NAMES.get(rel, rel.upper())


def relation_type(relationship: str) -> str:
    return RELATION_TYPES.get(relationship, relationship.lower())


def as_node(memory: Memory, labels: Mapping[str, str] | None = None) -> KnowledgeNode:
    """`labels` are the provenance labels of episodes, by id."""
    source = source_of(memory)
    category = str(memory.metadata.get(Key.CATEGORY, memory.type))
    known = KnowledgeCategory(category) if category in list(KnowledgeCategory) else KnowledgeCategory.SEMANTIC
    metadata = {key: value for key, value in memory.metadata.items() if key not in (Key.CATEGORY, Key.SOURCE_ID)}
    if memory.entities:
        metadata.setdefault(Key.ENTITY, memory.entities[0])
    if label := (labels or {}).get(source, ""):
        metadata[Key.SOURCE_LABEL] = label
    if memory.superseded_by:
        metadata |= {Key.SUPERSEDED: True, Key.SUPERSEDED_BY: memory.superseded_by}
    return KnowledgeNode(
        memory.id, known, content=memory.text, concept=memory.title, confidence=memory.confidence, source_id=source,
        created_at=iso(memory.created_at), tags=list(memory.tags), metadata=metadata,
    )  # fmt: skip


def as_edges(memories: Sequence[Memory]) -> list[KnowledgeEdge]:
    """Every link between two of them."""
    there = {memory.id for memory in memories}
    return [
        KnowledgeEdge(memory.id, link.to, relationship_name(link.rel), link.weight, dict(link.data))
        for memory in memories
        for link in memory.links
        if link.to in there
    ]


def source_of(memory: Memory) -> str:
    tied = next((link.to for link in memory.links if link.rel == Rel.DERIVED_FROM), "")
    return tied or str(memory.metadata.get(Key.SOURCE_ID, ""))


DOUBTED, LEAST_CONFIDENCE = 0.5, 0.1  # what is left of the confidence in a fact that was superseded


def lower_confidence(memory: Memory) -> Memory:
    return replace(memory, confidence=max(LEAST_CONFIDENCE, DOUBTED * memory.confidence))


def add_link(link: Link) -> Edit:
    return lambda memory: replace(
        memory, links=(*(each for each in memory.links if (each.to, each.rel) != (link.to, link.rel)), link)
    )


def temporal_index(metadata: Mapping[str, Json]) -> float:
    """The `temporal_index`; 0 without one."""
    index = metadata.get("temporal_index")
    return index if isinstance(index, int | float) and not isinstance(index, bool) and index > 0 else 0
