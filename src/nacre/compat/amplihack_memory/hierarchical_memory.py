"""HierarchicalMemory: an agent's knowledge as a graph, in a database of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from nacre.compat.amplihack_memory._base import Embedding, Mutable, OwnDatabase, default_path, strip_name
from nacre.minds import knowledge, subgraph
from nacre.minds.classify import classify
from nacre.minds.knowledge import ALIKE, facts_containing
from nacre.minds.subgraph import KnowledgeCategory
from nacre.model import Memory
from nacre.model.memory import Json
from nacre.text.similarity import SHORTEST
from nacre.text.tokens import words

from .contradiction import detect_contradiction
from .entity_extraction import extract_entity_name

MemoryCategory = KnowledgeCategory


class KnowledgeNode(Mutable, subgraph.KnowledgeNode):
    """`created_at` is UTC in ISO 8601, without a zone."""


class KnowledgeEdge(Mutable, subgraph.KnowledgeEdge): ...


class KnowledgeSubgraph(Mutable, subgraph.KnowledgeSubgraph): ...


class MemoryClassifier:
    """The native rules, and the words beyond them that the published classifier knows, as whole words."""

    FURTHER_WORDS: ClassVar[Mapping[MemoryCategory, tuple[str, ...]]] = {
        MemoryCategory.PROCEDURAL: ("process", "method"),
        MemoryCategory.PROSPECTIVE: ("should", "intend", "schedule"),
        MemoryCategory.EPISODIC: ("experience", "saw", "noticed"),
    }

    def classify(self, content: str, concept: str = "") -> MemoryCategory:
        data, said = classify(content, concept), set(words(f"{concept} {content}"))
        for category, further in self.FURTHER_WORDS.items():
            if data == category or not said.isdisjoint(further):
                return category
        return MemoryCategory.SEMANTIC


class HierarchicalMemory(OwnDatabase, knowledge.HierarchicalMemory):
    def __init__(self, agent_name: str, db_path: Path | str | None = None, *, embedder: Embedding = None) -> None:
        agent, self.embedding = strip_name(agent_name), embedder
        self.db_path = default_path("hierarchical_memory", agent) if db_path is None else Path(db_path)
        super().__init__(agent, self.db_path)
        self._classifier = MemoryClassifier()

    def store_knowledge(
        self, content: str, concept: str = "", confidence: float = 0.8, category: MemoryCategory | str | None = None,
        source_id: str = "", tags: Sequence[str] | None = None, temporal_metadata: Mapping[str, Json] | None = None,
    ) -> str:  # fmt: skip
        known = self._classifier.classify(content, concept) if category is None else category
        return super().store_knowledge(content, concept, confidence, known, source_id, tags, temporal_metadata)

    store_fact = store_knowledge

    def retrieve_subgraph(
        self, query: str, max_nodes: int = 20, max_depth: int = 1, similarity_threshold: float = ALIKE
    ) -> KnowledgeSubgraph:
        result = super().retrieve_subgraph(query, max_nodes, max_depth, similarity_threshold)
        return KnowledgeSubgraph(result.nodes, [KnowledgeEdge(**asdict(edge)) for edge in result.edges], query)

    def search_by_concept(self, keywords: Sequence[str], limit: int = 30) -> list[subgraph.KnowledgeNode]:
        """By concept or content, the newest first; words of one or two letters are ignored."""
        wanted = [word for each in keywords if len(word := each.strip().casefold()) >= SHORTEST]
        by_name = {memory.id: memory for memory in facts_containing(self.store, wanted, limit)}
        return self._nodes(sorted(by_name.values(), key=lambda memory: -memory.created_at)[:limit])

    def execute_aggregation(self, query_type: str, entity_filter: str = "") -> dict[str, Any]:
        result = super().execute_aggregation(query_type, entity_filter)
        items = result.get("items")
        return {**result, "total_facts": sum(items.values())} if isinstance(items, dict) else result

    def get_statistics(self) -> dict[str, Any]:
        result = super().get_statistics()
        return {**result, "total_experiences": result["total_nodes"]}

    def _nodes(self, memories: Sequence[Memory]) -> list[subgraph.KnowledgeNode]:
        data = super()._nodes(memories)
        return [KnowledgeNode(**{**asdict(node), "created_at": node.created_at.removesuffix("Z")}) for node in data]

    _extract_entity_name = staticmethod(extract_entity_name)
    _detect_contradiction = staticmethod(detect_contradiction)
