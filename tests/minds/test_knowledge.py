"""From a question to a part of the graph."""

from __future__ import annotations

import pytest

from nacre.errors import InvalidInput, UnknownName
from nacre.minds import knowledge as knowledge_retrieving
from nacre.minds.knowledge import HierarchicalMemory
from tests.minds.knowledge_factory import fleet, mind, turn

__all__ = ["mind"]


def contents(mind: HierarchicalMemory, query: str, **how: int | str | float) -> list[str]:
    return [node.content for node in mind.retrieve_subgraph(query, **how).nodes]  # type: ignore[arg-type]


@pytest.mark.accepts("A2.10")
def test_words_match_in_concept_and_content_whatever_their_case(mind: HierarchicalMemory) -> None:
    mind.store_knowledge("It lifts iron", "CRANE of the quay")
    mind.store_knowledge("A Crane is a bird", "birds")
    mind.store_knowledge("Bread needs salt", "kitchen")
    assert sorted(contents(mind, "crane")) == ["A Crane is a bird", "It lifts iron"]


def test_parts_of_words_match_too(mind: HierarchicalMemory) -> None:
    mind.store_knowledge("Superstructures rust first", "hulls")
    assert contents(mind, "structure") == ["Superstructures rust first"]


def test_whole_words_are_found_beyond_the_newest(mind: HierarchicalMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge_retrieving, "NEWEST_SCANNED", 2)
    mind.store_knowledge("Barnacles slow a hull", "hulls")
    for kind in ("salt", "sugar", "flour"):
        mind.store_knowledge(f"Bread needs {kind}", kind)
    assert contents(mind, "BARNACLE") == ["Barnacles slow a hull"]


@pytest.mark.parametrize("query", ["", "  ", "of it", "a"])
def test_a_question_without_words_finds_nothing(mind: HierarchicalMemory, query: str) -> None:
    mind.store_knowledge("It is of use")
    result = mind.retrieve_subgraph(query)
    assert (result.nodes, result.edges, result.query) == ([], [], query)


@pytest.mark.accepts("A2.11")
def test_short_words_are_ignored(mind: HierarchicalMemory) -> None:
    mind.store_knowledge("An ox is strong", "farm")
    mind.store_knowledge("Bread needs salt", "kitchen")
    assert contents(mind, "ox bread") == ["Bread needs salt"]


@pytest.mark.accepts("A2.10")
def test_the_name_in_a_question_finds_what_is_about_it(mind: HierarchicalMemory) -> None:
    mind.store_knowledge("Breakfast is at six", "Marta Ruiz")
    assert contents(mind, "What wakes Marta Ruiz?") == ["Breakfast is at six"]


@pytest.mark.accepts("A2.10")
def test_each_fact_comes_once(mind: HierarchicalMemory) -> None:
    fleet(mind, 7, 0)
    assert len(contents(mind, "How many ships does Marta Ruiz command?")) == 1


@pytest.mark.accepts("A2.11")
def test_rank_is_confidence_times_the_share_of_matching_words(mind: HierarchicalMemory) -> None:
    mind.store_knowledge("Tar seals the deck planks", "a", 0.6)  # .6 * (.5 + .5 * 2/2) = .60
    mind.store_knowledge("Tar smells", "b", 0.9)  # .9 * (.5 + .5 * 1/2) = .675
    mind.store_knowledge("Planks bend", "c", 0.7)  # .7 * .75 = .525
    assert contents(mind, "tar planks", max_depth=0) == ["Tar smells", "Tar seals the deck planks", "Planks bend"]


@pytest.mark.accepts("A2.10")
def test_one_similarity_link_is_followed_both_ways(mind: HierarchicalMemory) -> None:
    first = mind.store_knowledge("Oak beams carry roofs", "oak beams")
    middle = mind.store_knowledge("Oak beams carry granite decks", "oak beams")
    last = mind.store_knowledge("Granite decks outlast storms", "granite decks beams")
    ids = {node.node_id for node in mind.retrieve_subgraph("roofs").nodes}
    assert middle in ids and first in ids
    back = {node.node_id for node in mind.retrieve_subgraph("storms").nodes}
    assert last in back
    assert contents(mind, "roofs", max_depth=0) == ["Oak beams carry roofs"]


@pytest.mark.accepts("A2.9")
def test_depth_goes_farther_only_when_it_is_asked_for(mind: HierarchicalMemory) -> None:
    one = mind.store_knowledge("aaa bbb ccc", "x")
    two = mind.store_knowledge("ccc bbb ddd", "y")
    three = mind.store_knowledge("ddd ccc2 eee", "z")
    mind.store.link(one, two, "similar_to", weight=0.9)
    mind.store.link(two, three, "similar_to", weight=0.9)
    assert three not in {node.node_id for node in mind.retrieve_subgraph("aaa").nodes}
    assert three in {node.node_id for node in mind.retrieve_subgraph("aaa", max_depth=2).nodes}


@pytest.mark.accepts("A2.9")
def test_links_below_the_threshold_are_not_followed(mind: HierarchicalMemory) -> None:
    one, two = mind.store_knowledge("Tar smells", "x"), mind.store_knowledge("Ropes rot", "y")
    mind.store.link(one, two, "similar_to", weight=0.4)
    assert contents(mind, "tar") == ["Tar smells", "Ropes rot"]
    assert contents(mind, "tar", similarity_threshold=0.5) == ["Tar smells"]


@pytest.mark.accepts("A2.10", "A2.11")
def test_the_chain_of_versions_comes_along_and_is_marked(mind: HierarchicalMemory) -> None:
    first = mind.store_knowledge("Marta Ruiz has 3 tugs", "Marta Ruiz tugs", temporal_metadata=turn(1))
    second = mind.store_knowledge("Marta Ruiz has 5 tugs", "Marta Ruiz tugs", temporal_metadata=turn(2))
    third = mind.store_knowledge("8 tugs: flagship Albatros", "Marta Ruiz tugs", temporal_metadata=turn(3))
    result = mind.retrieve_subgraph("albatros", max_depth=0)
    by_id = {node.node_id: node for node in result.nodes}
    assert by_id.keys() == {first, second, third}
    assert by_id[second].metadata["superseded_by"] == third
    assert by_id[first].metadata["superseded"] is True and "superseded" not in by_id[third].metadata


@pytest.mark.accepts("A2.10")
def test_all_links_between_the_facts_are_returned_with_their_data(mind: HierarchicalMemory) -> None:
    old, new = fleet(mind, 7, 1), fleet(mind, 9, 2)
    mind.store.link(old, new, "causes")
    edges = {(e.source_id, e.target_id, e.relationship): e for e in mind.retrieve_subgraph("ships").edges}
    assert edges.keys() == {
        (new, old, "SUPERSEDES"), (new, old, "TRANSITIONED_TO"), (new, old, "SIMILAR_TO"), (old, new, "CAUSES"),
    }  # fmt: skip
    assert edges[new, old, "SIMILAR_TO"].metadata["conflicting_values"] == "9 vs 7"


@pytest.mark.accepts("A2.9")
def test_there_are_never_more_nodes_than_asked_for(mind: HierarchicalMemory) -> None:
    for number in range(6):
        mind.store_knowledge(f"Rope number {number} is wet", f"rope {number}")
    assert len(contents(mind, "rope", max_nodes=4)) == 4
    assert contents(mind, "rope", max_nodes=0) == []


def test_what_is_trashed_or_archived_does_not_come_back(mind: HierarchicalMemory) -> None:
    gone, hidden = mind.store_knowledge("Wet rope rots", "rope"), mind.store_knowledge("Dry rope lasts", "rope")
    mind.store_knowledge("Rope is hemp", "rope")
    mind.store.forget(gone)
    mind.store.archive(hidden)
    assert contents(mind, "rope") == ["Rope is hemp"]


@pytest.mark.parametrize("how", [{"max_nodes": -1}, {"max_depth": -1}, {"max_nodes": True}, {"max_depth": 1.5}])
def test_a_wrong_way_to_ask_is_refused(mind: HierarchicalMemory, how: dict[str, int]) -> None:
    with pytest.raises(InvalidInput):
        mind.retrieve_subgraph("rope", **how)


@pytest.mark.accepts("A2.13")
def test_all_knowledge_comes_newest_first_and_no_more_than_wanted(mind: HierarchicalMemory) -> None:
    for number in range(4):
        mind.store_knowledge(f"Rope {number} is wet")
    mind.store_episode("A log is no fact")
    assert [node.content[5] for node in mind.get_all_knowledge()] == ["3", "2", "1", "0"]
    assert len(mind.get_all_knowledge(limit=2)) == 2


def test_an_entity_is_found_in_any_case_and_what_mentions_it_comes_last(mind: HierarchicalMemory) -> None:
    about = mind.store_knowledge("Coffee at seven", "Sarah Chen")
    mention = mind.store_knowledge("Coffee for sarah chen and the crew", "kitchen")
    mind.store_knowledge("Bread needs salt", "kitchen")
    assert [node.node_id for node in mind.retrieve_by_entity("SARAH  Chen")] == [about, mention]
    assert [node.node_id for node in mind.retrieve_by_entity("sarah chen", limit=1)] == [about]
    assert mind.retrieve_by_entity("Nobody") == [] and mind.retrieve_by_entity(" ") == []


def test_merged_names_are_one_entity(mind: HierarchicalMemory) -> None:
    before = mind.store_knowledge("Coffee at seven", "Sally Chen")
    mind.store.merge_entities("Sarah Chen", "Sally Chen")
    after = mind.store_knowledge("Tea at four", "Sally Chen")
    late = mind.store_knowledge("Cake at five", "Sarah Chen")
    assert [node.node_id for node in mind.retrieve_by_entity("Sarah Chen")] == [late, after, before]
    assert contents(mind, "What about Sally Chen?", max_depth=0)[:2] == ["Tea at four", "Coffee at seven"]
    assert "Tea at four" in contents(mind, "What does Sarah Chen drink?", max_depth=0)


def test_concepts_are_searched_by_any_of_the_words(mind: HierarchicalMemory) -> None:
    mind.store_knowledge("It freezes at zero", "Water properties")
    mind.store_knowledge("Water is wet", "trivia")
    mind.store_knowledge("Salt preserves", "salt")
    assert {node.concept for node in mind.search_by_concept(["water", "SALT"])} == {"Water properties", "salt"}
    assert mind.search_by_concept([]) == []
    assert len(mind.search_by_concept(["water", "salt"], limit=1)) == 1


def test_the_aliases_give_dicts_that_readers_of_experiences_know(mind: HierarchicalMemory) -> None:
    id = mind.store_fact("Wet rope rots", "rope", 0.6, tags=["deck"])
    (matches,) = mind.search_facts("rope")
    assert matches == mind.get_all_facts()[0]
    assert (matches["node_id"], matches["experience_id"]) == (id, id)
    assert (matches["content"], matches["concept"], matches["confidence"]) == ("Wet rope rots", "rope", 0.6)
    assert (matches["outcome"], matches["context"], matches["tags"]) == ("Wet rope rots", "rope", ["deck"])


@pytest.fixture
def known(mind: HierarchicalMemory) -> HierarchicalMemory:
    fleet(mind, 7, 1)
    fleet(mind, 9, 2)
    mind.store_knowledge("Tea at four", "Sarah Chen")
    mind.store_knowledge("Bread needs salt")
    mind.store_episode("The log", "log")
    return mind


@pytest.mark.accepts("A2.16")
@pytest.mark.parametrize(
    ("kind", "count", "items"),
    [
        ("count_total", 4, None),
        ("count_entities", 2, None),
        ("list_entities", 2, ["marta ruiz", "sarah chen"]),
        ("count_concepts", 2, None),
        ("list_concepts", 2, ["Marta Ruiz fleet", "Sarah Chen"]),
        ("count_by_concept", 2, {"Marta Ruiz fleet": 2, "Sarah Chen": 1}),
    ],
)
def test_each_aggregation_answers(known: HierarchicalMemory, kind: str, count: int, items: object) -> None:
    result = known.execute_aggregation(kind)
    assert (result["count"], result.get("items")) == (count, items)


def test_an_entity_narrows_it_down(known: HierarchicalMemory) -> None:
    assert known.execute_aggregation("count_total", entity_filter="Marta")["count"] == 2
    assert known.execute_aggregation("list_concepts", entity_filter="chen")["items"] == ["Sarah Chen"]


def test_an_unknown_aggregation_is_refused(known: HierarchicalMemory) -> None:
    with pytest.raises(UnknownName, match="count_total"):
        known.execute_aggregation("count_totals")


def test_statistics_count_nodes_and_links(known: HierarchicalMemory) -> None:
    assert known.get_statistics() == {
        "agent_name": known.agent_name, "semantic_nodes": 4, "episodic_nodes": 1, "total_nodes": 5,
        "similar_to_edges": 1, "derives_from_edges": 0, "supersedes_edges": 1, "transitioned_to_edges": 1,
    }  # fmt: skip
