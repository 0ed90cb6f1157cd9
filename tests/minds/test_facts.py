"""Semantic memory of a cognitive mind."""

from __future__ import annotations

import pytest

from nacre.errors import InvalidInput, UnknownName
from nacre.minds.cognitive import MAX_LINKS, CognitiveMemory
from nacre.minds.records import SemanticFact
from tests.minds.minding import Watch, acts


def concepts(found: list[SemanticFact]) -> list[str]:
    return [fact.concept for fact in found]


def test_a_fact_comes_back_as_it_was_given(mind: CognitiveMemory) -> None:
    id = mind.store_fact("Harbour", "The harbour freezes in January", 0.7, tags=["sea", "ice"],
                         temporal_metadata={"year": 2026})  # fmt: skip
    (fact,) = mind.get_all_facts()
    assert (fact.node_id, fact.concept, fact.content) == (id, "Harbour", "The harbour freezes in January")
    assert (fact.confidence, fact.tags, fact.metadata, fact.source_id) == (0.7, ["sea", "ice"], {"year": 2026}, "")
    assert id.startswith("sem_")


def test_a_search_finds_whole_words_in_concept_or_content_the_surest_first_then_the_newest(
    mind: CognitiveMemory, watch: Watch
) -> None:
    for concept, content, confidence in (
        ("Ferry", "leaves at nine", 0.6),
        ("Timetable", "the ferry is late on Mondays", 0.9),
        ("Crossing", "no ferry in fog", 0.9),
        ("Ferrying", "is slow", 0.2),
        ("Train", "differs from the rest", 1.0),
    ):
        watch.now += 1
        mind.store_fact(concept, content, confidence)
    assert concepts(mind.search_facts("ferry")) == ["Crossing", "Timetable", "Ferry", "Ferrying"]
    assert concepts(mind.search_facts("Ferry?", limit=1)) == ["Crossing"]
    assert concepts(mind.search_facts("ferry", min_confidence=0.9)) == ["Crossing", "Timetable"]
    assert mind.search_facts("err") == [] and mind.search_facts("ferry", limit=0) == []


def test_tags_are_not_what_a_fact_says(mind: CognitiveMemory) -> None:
    mind.store_fact("Bread", "rises overnight", tags=["kitchen"])
    assert mind.search_facts("kitchen") == [] and len(mind.search_facts("bread")) == 1


@pytest.mark.accepts("A4.6")
def test_an_empty_question_means_all_facts_the_surest_first(mind: CognitiveMemory, watch: Watch) -> None:
    for concept, confidence in (("a", 0.3), ("b", 0.9), ("c", 0.5), ("d", 0.9)):
        watch.now += 1
        mind.store_fact(concept, f"something about {concept}", confidence)
    assert concepts(mind.search_facts("")) == ["d", "b", "c", "a"]
    assert concepts(mind.search_facts("  ", limit=3, min_confidence=0.5)) == ["d", "b", "c"]
    assert concepts(mind.get_all_facts(limit=2)) == ["d", "c"], "all facts come newest first"


@pytest.mark.accepts("A4.6")
def test_only_the_first_six_keywords_are_looked_for(mind: CognitiveMemory) -> None:
    mind.store_fact("Sixth", "about foxtrot")
    mind.store_fact("Seventh", "about golf")
    assert concepts(mind.search_facts("alpha bravo charlie delta echo foxtrot golf")) == ["Sixth"]


def test_the_native_retriever_asks_the_stores_own_recall(mind: CognitiveMemory) -> None:
    mind.store_fact("Harbour", "ships wait in the harbour", 0.4)
    mind.store_fact("Market", "the harbour market sells fish", 0.9)
    found = mind.search_facts("ships in the harbour", retriever="native")
    assert concepts(found)[0] == "Harbour", "how well it answers counts, not how sure it is"
    assert concepts(mind.search_facts("ships in the harbour")) == ["Market", "Harbour"]
    assert "Harbour" not in concepts(mind.search_facts("ships in harbour", min_confidence=0.5, retriever="native"))
    with pytest.raises(UnknownName, match="retriever"):
        mind.search_facts("ships", retriever="telepathy")


def test_facts_that_resemble_each_other_are_tied_in_the_same_act(mind: CognitiveMemory) -> None:
    old = mind.store_fact("Python version", "the service runs on Python 3.11")
    mind.store_fact("Lunch", "the Python of the zoo is fed on Thursdays, the service is free")
    before = acts(mind)
    new = mind.store_fact("Python version", "the service now runs on Python 3.12")
    (edge,) = mind.store.edges(out_of=[new])
    assert (edge.target, edge.rel) == (old, "similar_to") and 0.3 < edge.weight < 1 and acts(mind) == before + 1
    mind.store.undo()
    assert mind.store.edges() == [] and len(mind.get_all_facts()) == 2


def test_an_old_fact_is_tied_by_its_words_and_ties_stay_few(mind: CognitiveMemory) -> None:
    old = mind.store_fact("Boiler pressure", "the boiler needs 1.5 bar")
    for number in range(60):
        mind.store_fact(f"Room{number}", f"chair{number} stands beside table{number}")
    new = mind.store_fact("Boiler pressure", "the boiler needs 1.6 bar")
    assert [edge.target for edge in mind.store.edges(out_of=[new])] == [old]
    for _ in range(MAX_LINKS + 3):
        last = mind.store_fact("Boiler pressure", "the boiler needs 1.7 bar")
    assert len(mind.store.edges(out_of=[last])) == MAX_LINKS


def test_a_fact_is_tied_to_the_episode_that_taught_it(mind: CognitiveMemory) -> None:
    episode = mind.store_episode("read the manual", "reading")
    fact = mind.store_fact("Valve", "opens to the left", source_id=episode)
    loose = mind.store_fact("Pump", "is loud", source_id="a talk in March")
    assert [(edge.target, edge.rel) for edge in mind.store.edges(out_of=[fact, loose])] == [(episode, "derived_from")]
    assert {each.source_id for each in mind.get_all_facts()} == {episode, "a talk in March"}


@pytest.mark.parametrize("confidence", [-0.1, 1.1, float("nan"), True])
def test_confidence_lies_between_none_and_full(mind: CognitiveMemory, confidence: float) -> None:
    with pytest.raises(InvalidInput, match="confidence"):
        mind.store_fact("x", "y", confidence)
    with pytest.raises(InvalidInput, match="empty"):
        mind.store_fact("x", "")
    assert mind.get_all_facts() == []
