"""HierarchicalMemory: an agent's knowledge as a graph of facts, the episodes they come from, and the ties between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from nacre.minds import graph_json
from nacre.minds.aggregation import aggregated, statistics
from nacre.minds.knowledge_retrieving import Retrieval, by_concept, by_entity, provenance
from nacre.minds.knowledge_storing import ALIKE, FACT, drafted, stored, worded
from nacre.minds.opening import Mind
from nacre.minds.subgraph import KnowledgeCategory, KnowledgeNode, KnowledgeSubgraph, as_edges, as_node
from nacre.model import Memory
from nacre.model.memory import Json


class HierarchicalMemory(Mind):
    """Facts are memories of the type `semantic`, episodes of the type `episodic`: every other face sees them too."""

    def store_knowledge(
        self,
        content: str,
        concept: str = "",
        confidence: float = 0.8,
        category: KnowledgeCategory | str | None = None,
        source_id: str = "",
        tags: Sequence[str] | None = None,
        temporal_metadata: Mapping[str, Json] | None = None,
    ) -> str:
        """Keeps a fact with its ties, in one act, and returns its id.

        With a `temporal_index` above 0 it takes the place of facts about the same entity that have a lower one and
        give other numbers; those stay, less trusted, and are told as what was.
        """
        fact = drafted(self.store, content, concept, confidence, category, source_id, tags, temporal_metadata)
        stored(self.store, fact)
        return fact.id

    store_fact = store_knowledge

    def store_episode(self, content: str, source_label: str = "") -> str:
        """Keeps what facts are taken from; `source_label` is shown with each of them."""
        text = worded("content", content)
        episode = self.store.draft(text, id_prefix="epi_", type="episodic", source=source_label)
        self.store.write("store_episode", new=[episode])
        return episode.id

    def retrieve_subgraph(
        self,
        query: str,
        max_nodes: int = 20,
        max_depth: int = 1,
        similarity_threshold: float = ALIKE,
        *,
        retriever: str = "keyword",
    ) -> KnowledgeSubgraph:
        """What matches by words or by name, what resembles that, what each was before, and every tie between these.

        `retriever="native"` begins at what `recall` finds instead, by meaning too.
        """
        facts = Retrieval(self.store, query, max_nodes, max_depth, similarity_threshold, retriever).facts()
        self.store.touch(*(fact.id for fact in facts))
        return KnowledgeSubgraph(self._nodes(facts), as_edges(facts), query)

    def get_all_knowledge(self, limit: int = 50) -> list[KnowledgeNode]:
        """Newest first."""
        return self._nodes(self.store.list_recent(limit, type=FACT, include_superseded=True))

    def retrieve_by_entity(self, entity_name: str, limit: int = 50) -> list[KnowledgeNode]:
        """What is about it, newest first; then what only mentions it."""
        return self._nodes(by_entity(self.store, entity_name, limit))

    def search_by_concept(self, keywords: Sequence[str], limit: int = 30) -> list[KnowledgeNode]:
        return self._nodes(by_concept(self.store, keywords, limit))

    def search_facts(self, query: str, max_nodes: int = 20, *, retriever: str = "keyword") -> list[dict[str, object]]:
        return [as_dict(node) for node in self.retrieve_subgraph(query, max_nodes, retriever=retriever).nodes]

    def get_all_facts(self, limit: int = 50) -> list[dict[str, object]]:
        return [as_dict(node) for node in self.get_all_knowledge(limit)]

    def execute_aggregation(self, query_type: str, entity_filter: str = "") -> dict[str, object]:
        return aggregated(self.store, query_type, entity_filter)

    def get_statistics(self) -> dict[str, object]:
        return {"agent_name": self.agent_name, **statistics(self.store)}

    def export_to_json(self) -> dict[str, Json]:
        """The whole graph in plain JSON values; `import_from_json` restores it exactly, here or elsewhere."""
        return graph_json.exported(self.store)

    def import_from_json(self, data: Mapping[str, Json], merge: bool = False) -> dict[str, int]:
        """Replaces the agent's graph, whose facts and episodes go to the trash; with `merge` it adds to them, and what
        has the same id stays as it is. One act; data that is not whole is refused, and nothing changes."""
        return graph_json.imported(self.store, data, merge=merge)

    export_graph = export_to_json
    import_graph = import_from_json

    def _nodes(self, memories: Sequence[Memory]) -> list[KnowledgeNode]:
        labels = provenance(self.store, memories)
        return [as_node(memory, labels) for memory in memories]


def as_dict(node: KnowledgeNode) -> dict[str, object]:
    """The node, and the same again under the names that readers of experiences know."""
    said = {"experience_id": node.node_id, "context": node.concept, "outcome": node.content}
    return {**asdict(node), **said, "timestamp": node.created_at}
