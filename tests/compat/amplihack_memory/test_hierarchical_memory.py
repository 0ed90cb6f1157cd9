"""HierarchicalMemory and MemoryClassifier under their own names."""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nacre.compat.amplihack_memory import HierarchicalMemory, KnowledgeEdge, KnowledgeNode, KnowledgeSubgraph
from nacre.compat.amplihack_memory.hierarchical_memory import MemoryCategory, MemoryClassifier
from nacre.model.memory import Json

KINDS = ("similar_to", "derives_from", "supersedes", "transitioned_to")


def counted(graph: HierarchicalMemory, apples: int, turn: int) -> str:
    time: dict[str, Json] = {"temporal_index": turn, "source_date": f"2026-0{turn}-01"}
    return graph.store_knowledge(f"Greta counted {apples} apples", "Greta apples", temporal_metadata=time)


def relations(results: KnowledgeSubgraph) -> set[str]:
    return {edge.relationship for edge in results.edges}


@pytest.mark.accepts("A2.17")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "cannot be empty"), ("  ", "cannot be empty"), ("../x", "alphanum"), ("-x", "alphanum"),
        ("x" * 65, "alphanum"),
    ],
)  # fmt: skip
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        HierarchicalMemory(name, db_path=tmp_path / "graph")


@pytest.mark.slow
def test_without_a_path_the_graph_lies_under_the_users_home() -> None:
    with HierarchicalMemory("gardener", embedder="hashing") as graph:
        assert graph.db_path == Path.home() / ".amplihack" / "hierarchical_memory" / "gardener"
        assert graph.db_path.exists()


@pytest.mark.accepts("A2.11", "A2.17")
def test_empty_content_is_refused_and_an_empty_question_finds_nothing(graph: HierarchicalMemory) -> None:
    with pytest.raises(ValueError, match="cannot be empty"):
        graph.store_knowledge(" ")
    assert graph.retrieve_subgraph("").nodes == []


@pytest.mark.accepts("A2.8", "A2.9", "A2.11")
def test_a_fact_comes_back_as_an_open_record_with_its_source(graph: HierarchicalMemory) -> None:
    source = graph.store_episode("A long talk about compost", "Radio: Gardens")
    id = graph.store_knowledge("Compost wants air", "compost", 0.9, source_id=source, tags=["soil"])
    [node] = graph.retrieve_subgraph("compost").nodes
    assert isinstance(node, KnowledgeNode)
    assert (node.node_id, node.content, node.concept, node.confidence) == (id, "Compost wants air", "compost", 0.9)
    assert (node.source_id, node.tags, node.metadata["source_label"]) == (source, ["soil"], "Radio: Gardens")
    setattr(node, "confidence", 0.2)  # noqa: B010
    assert node.confidence == 0.2


@pytest.mark.accepts("A2.18")
def test_times_are_utc_without_a_zone(graph: HierarchicalMemory) -> None:
    graph.store_knowledge("Compost wants air", "compost")
    [node] = graph.get_all_knowledge()
    age = datetime.now(UTC).replace(tzinfo=None) - datetime.fromisoformat(node.created_at)
    assert timedelta(seconds=-1) < age < timedelta(minutes=1)


@pytest.mark.accepts("A2.4", "A2.6", "A2.11")
def test_a_later_count_supersedes_an_earlier_one_and_records_the_change(graph: HierarchicalMemory) -> None:
    old, new = counted(graph, 9, 1), counted(graph, 10, 2)
    result = graph.retrieve_subgraph("apples")
    assert {"SUPERSEDES", "TRANSITIONED_TO", "SIMILAR_TO"} <= relations(result)
    change = next(edge for edge in result.edges if edge.relationship == "TRANSITIONED_TO")
    assert (change.source_id, change.target_id) == (new, old)
    assert change.metadata == {"from_value": "10", "to_value": "9", "turn": 2, "transition_type": "update"}
    passed = next(node for node in result.nodes if node.node_id == old)
    assert passed.metadata["superseded"] is True
    assert passed.confidence == pytest.approx(0.4)


@pytest.mark.accepts("A2.5", "A2.7")
def test_an_index_of_zero_supersedes_nothing(graph: HierarchicalMemory) -> None:
    counted(graph, 9, 1)
    graph.store_knowledge("Greta counted 10 apples", "Greta apples", temporal_metadata={"temporal_index": 0})
    result = graph.retrieve_subgraph("apples")
    assert "SUPERSEDES" not in relations(result)
    assert any(edge.metadata.get("contradiction") for edge in result.edges)


@pytest.mark.accepts("A2.12")
def test_the_context_for_a_model_numbers_facts_and_warns_of_contradictions() -> None:
    said = {"a": ("Ten rows were sown", 2), "b": ("Nine rows were dug", 1)}
    nodes: list[Any] = [
        KnowledgeNode(id, MemoryCategory.SEMANTIC, content, "rows", metadata={"temporal_index": turn})
        for id, (content, turn) in said.items()
    ]
    clash = KnowledgeEdge("a", "b", "SIMILAR_TO", metadata={"contradiction": True, "conflicting_values": "10 vs 9"})
    result = KnowledgeSubgraph(nodes, [clash], "rows")
    assert "WARNING" in result.to_llm_context() and "10 vs 9" in result.to_llm_context()
    lines = result.to_llm_context(chronological=True)
    assert lines.index("Nine rows") < lines.index("Ten rows")
    assert KnowledgeSubgraph(query="rows").to_llm_context() == "No relevant knowledge found."


@pytest.mark.accepts("A2.15")
def test_the_experience_aliases_give_mappings(graph: HierarchicalMemory) -> None:
    graph.store_fact("Slugs love hostas", "slugs", 0.7)
    graph.store_fact("Slugs shun copper", "slugs", 0.6)
    assert len(graph.search_facts("slugs", max_nodes=1)) == 1
    first = graph.get_all_facts()[0]
    assert (first["content"], first["concept"], first["confidence"]) == ("Slugs shun copper", "slugs", 0.6)


@pytest.mark.accepts("A2.16")
def test_facts_are_found_by_entity_and_by_concept(graph: HierarchicalMemory) -> None:
    graph.store_knowledge("Sarah Chen grafts pears", "Sarah Chen work")
    assert [node.content for node in graph.retrieve_by_entity("Sarah Chen")] == ["Sarah Chen grafts pears"]
    assert graph.retrieve_by_entity("Nobody Known") == []
    assert [node.concept for node in graph.search_by_concept(["grafts"])] == ["Sarah Chen work"]
    assert [node.concept for node in graph.search_by_concept(["work", "of"])] == ["Sarah Chen work"]
    assert graph.search_by_concept([]) == graph.search_by_concept(["of"]) == []
    assert graph._extract_entity_name("Sarah Chen grafts pears", "") == "sarah chen"


@pytest.mark.accepts("A2.16")
def test_counts_cover_all_known_facts(graph: HierarchicalMemory) -> None:
    for plant in ("Beans", "Peas"):
        graph.store_knowledge(f"{plant} climb poles", "climbers")
    assert graph.execute_aggregation("count_total")["count"] == 2
    assert graph.execute_aggregation("list_concepts")["items"] == ["climbers"]
    by_concept = graph.execute_aggregation("count_by_concept")
    assert (by_concept["items"], by_concept["total_facts"]) == ({"climbers": 2}, 2)
    result = graph.get_statistics()
    assert (result["agent_name"], result["semantic_nodes"], result["total_experiences"]) == ("gardener", 2, 2)


@pytest.mark.accepts("A2.14")
def test_the_whole_graph_goes_out_and_comes_back_under_both_names(graph: HierarchicalMemory, tmp_path: Path) -> None:
    counted(graph, 9, 1)
    counted(graph, 10, 2)
    data = json.loads(json.dumps(graph.export_graph()))
    assert data["statistics"]["semantic_node_count"] == 2
    with HierarchicalMemory("heir", db_path=tmp_path / "heir", embedder="hashing") as successor:
        done = successor.import_graph(data)
        assert (done["semantic_nodes_imported"], done["errors"]) == (2, 0)
        assert relations(successor.retrieve_subgraph("apples")) == relations(graph.retrieve_subgraph("apples"))
    assert graph.import_from_json(graph.export_to_json(), merge=True)["skipped"] == 2


@pytest.mark.accepts("A2.3", "A2.9")
def test_storing_and_retrieving_take_the_published_arguments(graph: HierarchicalMemory) -> None:
    stored = inspect.signature(graph.store_knowledge).parameters
    assert {name: each.default for name, each in stored.items() if name != "content"} == {
        "concept": "", "confidence": 0.8, "category": None, "source_id": "", "tags": None, "temporal_metadata": None,
    }  # fmt: skip
    id = graph.store_knowledge("Moss likes shade", category="episodic")
    result = graph.retrieve_subgraph("moss")
    assert ([node.node_id for node in result.nodes], result.edges, result.query) == ([id], [], "moss")
    assert result.nodes[0].category is MemoryCategory.EPISODIC
    asked = inspect.signature(graph.retrieve_subgraph).parameters
    assert (asked["max_nodes"].default, asked["similarity_threshold"].default) == (20, 0.3)


@pytest.mark.accepts("A2.1", "A2.2", "A2.4", "A2.8", "A2.13")
def test_a_graph_has_two_kinds_of_nodes_and_four_of_edges(graph: HierarchicalMemory) -> None:
    episode = graph.store_episode("Greta talked of her harvest", "Letter of March")
    first = graph.store_knowledge(
        "Greta Holm has 9 apples", "apples", 0.6, None, episode, ["fruit"], {"temporal_index": 1}
    )
    second = graph.store_knowledge("Greta Holm has 10 apples", "apples", temporal_metadata={"temporal_index": 2})
    newest, oldest = graph.get_all_knowledge()
    assert (newest.node_id, oldest.node_id) == (second, first)
    assert (oldest.content, oldest.concept, oldest.tags) == ("Greta Holm has 9 apples", "apples", ["fruit"])
    assert oldest.confidence == pytest.approx(0.3) and oldest.metadata["entity_name"] == "greta holm"
    full: Any = graph.export_graph()
    [raw] = full["episodic_nodes"]
    assert (raw["content"], raw["source_label"]) == ("Greta talked of her harvest", "Letter of March")
    ends = {kind: [(edge["source_id"], edge["target_id"]) for edge in full[f"{kind}_edges"]] for kind in KINDS}
    assert ends == {**{kind: [(second, first)] for kind in KINDS}, "derives_from": [(first, episode)]}


@pytest.mark.accepts("A2.18")
def test_a_node_and_an_edge_have_the_published_fields_and_defaults() -> None:
    node = KnowledgeNode("sem_1", MemoryCategory.SEMANTIC, "Ivy climbs")
    assert list(asdict(node)) == [
        "node_id", "category", "content", "concept", "confidence", "source_id", "created_at", "tags", "metadata",
    ]  # fmt: skip
    assert (node.confidence, node.source_id, node.tags, node.metadata) == (0.8, "", [], {})
    edge = KnowledgeEdge("sem_1", "sem_2", "SIMILAR_TO")
    assert list(asdict(edge).values()) == ["sem_1", "sem_2", "SIMILAR_TO", 1.0, {}]


@pytest.mark.accepts("A3.1", "A3.2", "A3.3", "A3.4")
@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("A recipe and the steps for quince jam", MemoryCategory.PROCEDURAL),
        ("How to whet a scythe", MemoryCategory.PROCEDURAL),
        ("The procedure of the spring sale", MemoryCategory.PROCEDURAL),
        ("One step after another", MemoryCategory.PROCEDURAL),
        ("Recipe of the house", MemoryCategory.PROCEDURAL),
        ("A plan of the orchard", MemoryCategory.PROSPECTIVE),
        ("The future of the hedge", MemoryCategory.PROSPECTIVE),
        ("Frost will come", MemoryCategory.PROSPECTIVE),
        ("Todo: mend the fence", MemoryCategory.PROSPECTIVE),
        ("It happened in the greenhouse", MemoryCategory.EPISODIC),
        ("The event of the year", MemoryCategory.EPISODIC),
        ("Greenfly observed", MemoryCategory.EPISODIC),
        ("Our method for grafting pears", MemoryCategory.PROCEDURAL),
        ("The goal is a wall of roses", MemoryCategory.PROSPECTIVE),
        ("We should prune on Monday", MemoryCategory.PROSPECTIVE),
        ("An event was observed at the pond", MemoryCategory.EPISODIC),
        ("I noticed mildew", MemoryCategory.EPISODIC),
        ("A plan with steps", MemoryCategory.PROCEDURAL),
        ("Plants drink through their roots", MemoryCategory.SEMANTIC),
    ],
)
def test_whole_words_decide_the_category_in_order(
    graph: HierarchicalMemory, text: str, category: MemoryCategory
) -> None:
    assert MemoryClassifier().classify(text) is category
    graph.store_knowledge(text)
    assert [node.category for node in graph.get_all_knowledge()] == [category]
