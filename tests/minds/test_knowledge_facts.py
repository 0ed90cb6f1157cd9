"""Storing facts: category, entity, source, resemblance, and whose place a fact takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nacre.engine import engine
from nacre.errors import InvalidInput, StorageError
from nacre.memory_store import MemoryStore
from nacre.minds import knowledge
from nacre.minds.knowledge import RECENT, HierarchicalMemory
from nacre.minds.subgraph import KnowledgeCategory
from nacre.model import Link, Memory
from tests.minds.knowledge_factory import AGENT, fleet, mind, opened, token, turn

__all__ = ["mind"]


def kept(mind: HierarchicalMemory, id: str) -> Memory:
    result = mind.store.get(id)
    assert result is not None
    return result


def links(mind: HierarchicalMemory, id: str, rel: str) -> dict[str, Link]:
    return {link.to: link for link in kept(mind, id).links if link.rel == rel}


def operations(mind: HierarchicalMemory) -> int:
    return len({entry.operation.batch for entry in mind.store.journal(limit=None)})


@pytest.mark.accepts("A2.1")
def test_a_fact_has_concept_content_confidence_tags_and_entity(mind: HierarchicalMemory) -> None:
    id = mind.store_knowledge("Tea with Sarah Chen is at four", "Sarah Chen habits", 0.7, tags=["tea"])
    fact = kept(mind, id)
    assert (fact.type, fact.title, fact.text) == ("semantic", "Sarah Chen habits", "Tea with Sarah Chen is at four")
    assert (fact.confidence, fact.tags, fact.entities) == (0.7, ("tea",), ("sarah chen",))
    assert id.startswith("sem_")


@pytest.mark.accepts("A2.4")
@pytest.mark.parametrize(
    ("content", "category"),
    [
        ("Follow these steps to moor a boat", KnowledgeCategory.PROCEDURAL),
        ("We plan to paint the quay", KnowledgeCategory.PROSPECTIVE),
        ("An incident happened at the pier", KnowledgeCategory.EPISODIC),
        ("Granite is hard", KnowledgeCategory.SEMANTIC),
    ],
)
def test_without_a_category_the_words_decide(
    mind: HierarchicalMemory, content: str, category: KnowledgeCategory
) -> None:
    mind.store_knowledge(content)
    assert [node.category for node in mind.get_all_knowledge()] == [category]


def test_a_given_category_is_kept_even_against_the_words(mind: HierarchicalMemory) -> None:
    mind.store_knowledge("We plan to paint the quay", category="working")
    mind.store_knowledge("Follow these steps", category=KnowledgeCategory.SEMANTIC)
    assert [node.category.value for node in mind.get_all_knowledge()] == ["semantic", "working"]


@pytest.mark.accepts("A2.4")
def test_a_fact_is_derived_from_its_episode_and_shows_the_label(mind: HierarchicalMemory) -> None:
    episode = mind.store_episode("The whole log of March", "harbour log")
    assert episode.startswith("epi_") and kept(mind, episode).type == "episodic"
    fact = mind.store_knowledge("The crane lifts forty tons", "crane", source_id=episode)
    assert list(links(mind, fact, "derived_from")) == [episode]
    (node,) = mind.get_all_knowledge()
    assert (node.source_id, node.metadata["source_label"]) == (episode, "harbour log")


def test_an_unknown_source_is_stored_without_a_link(mind: HierarchicalMemory) -> None:
    fact = mind.store_knowledge("The crane lifts forty tons", source_id="a leaflet")
    assert kept(mind, fact).links == ()
    (node,) = mind.get_all_knowledge()
    assert (node.source_id, node.metadata) == ("a leaflet", {})


def test_a_later_fact_supersedes_the_earlier_one_that_it_contradicts(mind: HierarchicalMemory) -> None:
    old, new = fleet(mind, 7, 1), fleet(mind, 9, 2)
    assert kept(mind, old).superseded_by == new
    assert list(links(mind, new, "supersedes")) == [old]
    assert links(mind, new, "transitioned_to")[old].data == {
        "from_value": "9", "to_value": "7", "turn": 2, "transition_type": "update",
    }  # fmt: skip


@pytest.mark.accepts("A2.11")
@pytest.mark.parametrize(("confidence", "left"), [(0.8, 0.4), (0.1, 0.1), (0.0, 0.1)])
def test_a_superseded_fact_keeps_half_its_confidence_but_never_less_than_a_tenth(
    mind: HierarchicalMemory, confidence: float, left: float
) -> None:
    old = mind.store_knowledge("Marta Ruiz commands 7 ships", "Marta Ruiz fleet", confidence, temporal_metadata=turn(1))
    fleet(mind, 9, 2)
    assert kept(mind, old).confidence == pytest.approx(left)


def test_a_chain_of_values_is_superseded_link_by_link(mind: HierarchicalMemory) -> None:
    first, second, third = fleet(mind, 7, 1), fleet(mind, 9, 2), fleet(mind, 12, 3)
    assert (kept(mind, first).superseded_by, kept(mind, second).superseded_by) == (second, third)
    assert kept(mind, first).confidence == pytest.approx(0.4)


def test_a_fact_that_is_added_late_is_superseded_by_the_newer_one(mind: HierarchicalMemory) -> None:
    new = fleet(mind, 9, 5)
    late = fleet(mind, 7, 2)
    assert kept(mind, late).superseded_by == new
    assert kept(mind, late).confidence == pytest.approx(0.4)
    assert links(mind, new, "transitioned_to")[late].data["from_value"] == "9"


@pytest.mark.parametrize("index", [0, -3])
def test_without_an_index_above_zero_nothing_is_superseded(mind: HierarchicalMemory, index: int) -> None:
    old = fleet(mind, 7, 1)
    fleet(mind, 9, index)
    assert kept(mind, old).superseded_by == ""


@pytest.mark.accepts("A2.5")
def test_a_timeless_fact_is_not_superseded_by_a_later_one(mind: HierarchicalMemory) -> None:
    old = fleet(mind, 7, 0)
    fleet(mind, 9, 2)
    assert kept(mind, old).superseded_by == ""


def test_only_facts_of_the_same_entity_are_superseded(mind: HierarchicalMemory) -> None:
    other = mind.store_knowledge("Tove Lind commands 7 ships", "Tove Lind fleet", temporal_metadata=turn(1))
    fleet(mind, 9, 2)
    assert kept(mind, other).superseded_by == ""


def test_the_new_value_holds_since_the_date_of_its_source(mind: HierarchicalMemory) -> None:
    old, new = fleet(mind, 7, 1, "2024-01-01"), fleet(mind, 9, 2, "2024-02-01")
    assert mind.store.get(new, valid_at="2024-01-15") == kept(mind, old)
    assert fleet(mind, 11, 3, "Day 3")  # no calendar reads this, and it is kept as it is


@pytest.mark.accepts("A2.2", "A2.4")
def test_similar_facts_are_linked_with_their_similarity(mind: HierarchicalMemory) -> None:
    first = mind.store_knowledge("The red crane lifts heavy iron", "red crane", tags=["quay"])
    second = mind.store_knowledge("The red crane lifts heavy timber", "red crane", tags=["quay"])
    unlike = mind.store_knowledge("Gulls nest on roofs", "gulls")
    assert 0.3 < links(mind, second, "similar_to")[first].weight <= 1
    assert links(mind, unlike, "similar_to") == {}


@pytest.mark.accepts("A2.7")
def test_a_link_between_very_similar_facts_names_contradicting_numbers(mind: HierarchicalMemory) -> None:
    first = mind.store_knowledge("The red crane lifts 40 tons of iron", "red crane")
    second = mind.store_knowledge("The red crane lifts 50 tons of iron", "red crane")
    assert links(mind, second, "similar_to")[first].data == {"contradiction": True, "conflicting_values": "50 vs 40"}


def test_only_recent_facts_are_compared(mind: HierarchicalMemory) -> None:
    mind.store_knowledge("The red crane lifts heavy iron", "red crane")
    mind.store.remember_many([{"text": f"w{n}x y{n}z", "type": "semantic"} for n in range(RECENT)])
    late = mind.store_knowledge("The red crane lifts heavy timber", "red crane")
    assert links(mind, late, "similar_to") == {}


def test_storing_is_one_act_and_undo_takes_all_of_it_back(mind: HierarchicalMemory) -> None:
    old = fleet(mind, 7, 1)
    before, stood = operations(mind), kept(mind, old)
    new = fleet(mind, 9, 2)
    assert operations(mind) == before + 1
    mind.store.undo()
    assert mind.store.get(new) is None
    back = kept(mind, old)
    assert (back.superseded_by, back.confidence, back.valid_until) == ("", stood.confidence, None)


def test_a_plan_that_another_process_overtook_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, theirs = opened(tmp_path / "mind.db"), opened(tmp_path / "mind.db")
    first = fleet(mine, 7, 1)
    find, between = knowledge.find_rivals, [lambda: fleet(theirs, 9, 2)]
    seconds: list[str] = []

    def find_before_another(store: MemoryStore, fact: Memory) -> list[Memory]:
        rivals = find(store, fact)
        if between:
            seconds.append(between.pop()())
        return rivals

    monkeypatch.setattr(knowledge, "find_rivals", find_before_another)
    third = fleet(mine, 12, 3)
    assert (kept(mine, first).superseded_by, kept(mine, seconds[0]).superseded_by) == (seconds[0], third)
    assert kept(mine, first).confidence == pytest.approx(0.4)
    mine.store.close()
    theirs.store.close()


def test_a_plan_that_is_always_outdated_is_given_up_with_a_clear_error(
    mind: HierarchicalMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = kept(mind, fleet(mind, 7, 1))
    mind.store.purge(gone.id)
    monkeypatch.setattr(engine, "ATTEMPTS", 3)
    monkeypatch.setattr(engine, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(knowledge, "find_rivals", lambda *_: [gone])
    with pytest.raises(StorageError, match=r"3 times .* nothing was written"):
        fleet(mind, 9, 2)
    assert mind.store.count() == 0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"content": ""}, "cannot be empty"),
        ({"content": "  \n"}, "cannot be empty"),
        ({"content": 5}, "must be text"),
        ({"content": "x", "category": "opinion"}, "category"),
        ({"content": "x", "confidence": 1.5}, "confidence"),
        ({"content": "x", "tags": "sea"}, "list"),
        ({"content": "x", "temporal_metadata": {"temporal_index": "2"}}, "temporal_index"),
        ({"content": "x", "temporal_metadata": [1]}, "temporal_metadata"),
        ({"content": "x", "temporal_metadata": {"superseded": True}}, "superseded"),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing(
    mind: HierarchicalMemory, wrong: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        mind.store_knowledge(**wrong)
    assert mind.store.count() == 0


def test_an_empty_episode_is_refused(mind: HierarchicalMemory) -> None:
    with pytest.raises(ValueError, match="cannot be empty"):
        mind.store_episode(" ")


@pytest.mark.parametrize(("name", "said"), [("", "cannot be empty"), ("../up", "alphanumeric"), ("-a", "alphanumeric")])
def test_a_bad_agent_name_is_refused(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        HierarchicalMemory(name, tmp_path / "mind.db")


def test_secrets_do_not_reach_the_graph(mind: HierarchicalMemory) -> None:
    secret = token()
    mind.store_knowledge(f"The deploy token is {secret}", "deploy")
    assert secret not in str(mind.export_to_json())


def test_knowledge_survives_reopening_and_two_minds_share_one_file(tmp_path: Path) -> None:
    path = tmp_path / "mind.db"
    first, second = opened(path), opened(path)
    old = fleet(first, 7, 1)
    new = fleet(second, 9, 2)
    assert kept(first, old).superseded_by == new
    first.store.close()
    second.store.close()
    again = opened(path)
    assert [node.node_id for node in again.get_all_knowledge()] == [new, old]
    again.store.close()


def test_agents_of_one_file_do_not_see_each_other(tmp_path: Path) -> None:
    path = tmp_path / "mind.db"
    mine, theirs = opened(path), opened(path, "pilot")
    fleet(mine, 7, 1)
    assert theirs.get_all_knowledge() == [] and theirs.retrieve_subgraph("ships").nodes == []
    mine.store.close()
    theirs.store.close()


def test_closing_leaves_a_lent_store_open_and_closes_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_EMBEDDER", "hashing")
    lent = MemoryStore(tmp_path / "lent.db", space=AGENT, embedder="hashing")
    HierarchicalMemory(AGENT, store=lent).close()
    assert lent.count() == 0
    lent.close()
    with HierarchicalMemory(AGENT, tmp_path / "own.db") as own:
        own.store_knowledge("Granite is hard")
    with HierarchicalMemory(AGENT, tmp_path / "own.db") as own:
        assert [node.content for node in own.get_all_knowledge()] == ["Granite is hard"]


def test_other_apis_see_the_facts(mind: HierarchicalMemory) -> None:
    mind.store_knowledge("The crane lifts forty tons", "crane")
    assert [hit.memory.title for hit in mind.store.recall("crane")] == ["crane"]


def test_without_a_name_the_concept_decides_which_fact_is_superseded(mind: HierarchicalMemory) -> None:
    old = mind.store_knowledge("Skerry has 9 buoys in the water", "Skerry buoys", temporal_metadata=turn(1))
    new = mind.store_knowledge("Skerry has 12 buoys in the water", "Skerry buoys", temporal_metadata=turn(2))
    assert not kept(mind, new).entities
    assert kept(mind, old).superseded_by == new


@pytest.mark.parametrize(
    ("content", "concept"), [("The tide table lists 30 ports", "harbour"), ("The crane lifts 12 tons", "crane")]
)
def test_a_wide_concept_is_no_reason_to_take_a_place(mind: HierarchicalMemory, content: str, concept: str) -> None:
    old = mind.store_knowledge("The crane lifts 9 tons", "harbour", temporal_metadata=turn(1))
    mind.store_knowledge(content, concept, temporal_metadata=turn(2))
    assert not kept(mind, old).superseded_by
