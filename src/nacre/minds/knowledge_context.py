"""Writes a subgraph of knowledge out as text for a language model: data that cannot pass for anything else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from nacre.model.fence import escaped
from nacre.safety.secrets import scrub

if TYPE_CHECKING:
    from nacre.minds.subgraph import KnowledgeEdge, KnowledgeNode, KnowledgeSubgraph

NOTHING = "No relevant knowledge found."
TOLD_TIES = 20  # the strongest; a context window is dear, and weak resemblances say little
# Inside of a fact these would read as ours.
OUR_MARKS = re.compile(r"\[(?=\s*(?:source|date|superseded)\b)", re.IGNORECASE)
TRANSITION = "TRANSITIONED_TO"
TOLD_ELSEWHERE = (TRANSITION, "SUPERSEDES")


def written_out(subgraph: KnowledgeSubgraph, *, chronological: bool) -> str:
    if not subgraph.nodes:
        return NOTHING
    nodes = sorted(subgraph.nodes, key=moment) if chronological else subgraph.nodes
    numbers = {node.node_id: place for place, node in enumerate(nodes, start=1)}
    asked = one_line(subgraph.query)
    order = " (oldest first)" if chronological else ""
    parts = [
        [f"Known facts{order} about: {asked}" if asked else f"Known facts{order}:"],
        [fact(place, node, numbers) for place, node in enumerate(nodes, start=1)],
        list(warnings(subgraph.edges, numbers)),
        titled("Changes:", changes(subgraph.edges, numbers)),
        titled("Relationships:", relationships(subgraph.edges, numbers)),
    ]
    return "\n".join(line for part in parts for line in part)


def moment(node: KnowledgeNode) -> tuple[float, str, str]:
    """What is timeless comes first."""
    index = node.metadata.get("temporal_index")
    placed = float(index) if isinstance(index, int | float) and not isinstance(index, bool) else 0.0
    return placed, str(node.metadata.get("source_date", "")), node.created_at


def fact(place: int, node: KnowledgeNode, numbers: Mapping[str, int]) -> str:
    about = f"[{one_line(node.concept)}] " if node.concept else ""
    marks = [f"(confidence {node.confidence:.2f})"]
    if label := node.metadata.get("source_label"):
        marks.append(f"[Source: {one_line(str(label))}]")
    if date := node.metadata.get("source_date"):
        marks.append(f"[Date: {one_line(str(date))}]")
    if node.metadata.get("superseded"):
        heir = numbers.get(str(node.metadata.get("superseded_by", "")))
        marks.append("[Superseded]" if heir is None else f"[Superseded by {heir}]")
    return f"{place}. {about}{one_line(node.content)} {' '.join(marks)}"


def warnings(edges: list[KnowledgeEdge], numbers: Mapping[str, int]) -> Iterator[str]:
    for edge in edges:
        if edge.metadata.get("contradiction"):
            values = one_line(str(edge.metadata.get("conflicting_values", "")))
            ends = f"{named(edge.source_id, numbers)} and {named(edge.target_id, numbers)}"
            yield f"WARNING: {ends} contradict each other{f' ({values})' if values else ''}."


def changes(edges: list[KnowledgeEdge], numbers: Mapping[str, int]) -> Iterator[str]:
    steps = [edge for edge in edges if edge.relationship == TRANSITION]
    for edge in sorted(steps, key=lambda edge: str(edge.metadata.get("turn", "")).zfill(12)):
        older, newer = (one_line(str(edge.metadata.get(name, "?"))) for name in ("to_value", "from_value"))
        ends = f"{named(edge.target_id, numbers)} to {named(edge.source_id, numbers)}"
        yield f"- from {ends}: was {older}, then {newer}"


def relationships(edges: list[KnowledgeEdge], numbers: Mapping[str, int]) -> Iterator[str]:
    told = [edge for edge in edges if edge.relationship not in TOLD_ELSEWHERE]
    for edge in sorted(told, key=lambda edge: -edge.weight)[:TOLD_TIES]:
        rel = one_line(edge.relationship)
        yield f"- {named(edge.source_id, numbers)} {rel} {named(edge.target_id, numbers)} ({edge.weight:.2f})"


def named(id: str, numbers: Mapping[str, int]) -> str:
    return f"fact {numbers[id]}" if id in numbers else "a fact that is not shown"


def titled(title: str, lines: Iterator[str]) -> list[str]:
    found = list(lines)
    return [title, *found] if found else []


def one_line(text: str) -> str:
    """Without secrets, line ends of any kind, and marks that are ours to set."""
    return OUR_MARKS.sub("(", " ".join(escaped(scrub(text).text).split()))
