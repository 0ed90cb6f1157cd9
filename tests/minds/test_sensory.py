"""Sensory and working memory."""

from __future__ import annotations

import pytest

from nacre.errors import InvalidInput, UndoRefused
from nacre.minds.cognitive import CAPACITY, CognitiveMemory
from tests.minds.minding import MORNING, Watch, acts


def test_an_observation_is_seen_until_its_time_is_over(mind: CognitiveMemory, watch: Watch) -> None:
    id = mind.record_sensory("log", "disk at 91 percent")
    mind.record_sensory("audio", "a door closes", ttl_seconds=20)
    assert [item.raw_data for item in mind.get_recent_sensory()] == ["a door closes", "disk at 91 percent"]
    watch.now += 20
    (item,) = mind.get_recent_sensory()
    assert (item.node_id, item.modality, item.observation_order, item.expires_at) == (id, "log", 1, MORNING + 300)
    assert id.startswith("sen_") and item.created_at.timestamp() == MORNING
    watch.now += 280
    assert mind.get_recent_sensory() == []


def test_the_limit_takes_the_newest_observations(mind: CognitiveMemory) -> None:
    for number in range(4):
        mind.record_sensory("log", f"line {number}")
    assert [item.observation_order for item in mind.get_recent_sensory(limit=2)] == [4, 3]
    assert mind.get_recent_sensory(limit=0) == []


@pytest.mark.accepts("A4.2")
def test_attention_makes_an_episode_and_a_tie_in_one_act(mind: CognitiveMemory) -> None:
    id = mind.record_sensory("error", "out of memory in worker 3")
    before = acts(mind)
    episode = mind.attend_to_sensory(id, "second time today")
    assert episode is not None and episode.startswith("epi_") and acts(mind) == before + 1
    (found,) = mind.get_episodes()
    assert found.content == "[error] out of memory in worker 3 -- attended: second time today"
    assert (found.source_label, found.temporal_index) == ("sensory-attention", 1)
    (edge,) = mind.store.edges(out_of=[id])
    assert (edge.target, edge.rel) == (episode, "attended_to")
    assert mind.store.get(id) is not None and "attended_to" in mind.store.relations()


def test_undo_takes_attention_back_whole(mind: CognitiveMemory) -> None:
    id = mind.record_sensory("error", "a crash")
    mind.attend_to_sensory(id, "it matters")
    mind.store.undo()
    assert mind.get_episodes() == [] and mind.store.edges(out_of=[id]) == []
    assert [item.node_id for item in mind.get_recent_sensory()] == [id]


def test_attention_to_nothing_or_to_what_has_expired_is_none(mind: CognitiveMemory, watch: Watch) -> None:
    id = mind.record_sensory("error", "a crash", ttl_seconds=5)
    episode = mind.store_episode("no observation", "test")
    watch.now += 5
    before = acts(mind)
    assert [mind.attend_to_sensory(each, "why") for each in ("nothing", id, episode)] == [None, None, None]
    assert acts(mind) == before


def test_what_has_expired_is_pruned_for_good_in_one_act(mind: CognitiveMemory, watch: Watch) -> None:
    for number in range(3):
        mind.record_sensory("log", f"passing line {number}", ttl_seconds=10)
    kept = mind.record_sensory("log", "a lasting line", ttl_seconds=100)
    watch.now += 10
    before = acts(mind)
    assert mind.prune_expired_sensory() == 3 and acts(mind) == before + 1
    assert mind.prune_expired_sensory() == 0 and acts(mind) == before + 1
    assert [item.node_id for item in mind.get_recent_sensory()] == [kept]
    assert "passing line" not in str([(entry.before, entry.after) for entry in mind.store.journal(limit=None)])


def test_a_prune_does_not_stand_between_a_person_and_undo(mind: CognitiveMemory, watch: Watch) -> None:
    mind.record_sensory("log", "passing", ttl_seconds=1)
    mind.store_episode("an operation of somebody", "test")
    watch.now += 1
    mind.prune_expired_sensory()
    mind.store.undo()
    assert mind.get_episodes() == []
    with pytest.raises(UndoRefused):
        mind.store.undo()


@pytest.mark.parametrize("ttl", [-1, float("nan"), True, "long"])
def test_a_time_to_live_must_be_a_length_of_time(mind: CognitiveMemory, ttl: float) -> None:
    with pytest.raises(InvalidInput, match="ttl_seconds"):
        mind.record_sensory("log", "x", ttl_seconds=ttl)
    assert mind.get_statistics()["total"] == 0


def test_empty_observations_and_nameless_senses_are_refused(mind: CognitiveMemory) -> None:
    for modality, data in (("log", " "), ("", "x")):
        with pytest.raises(InvalidInput):
            mind.record_sensory(modality, data)
    assert mind.get_statistics()["total"] == 0


def test_slots_come_by_relevance_and_belong_to_their_task(mind: CognitiveMemory) -> None:
    mind.push_working("goal", "ship the report", "report", relevance=0.4)
    id = mind.push_working("constraint", "before noon", "report", relevance=7.5)
    mind.push_working("goal", "something else", "other")
    first, second = mind.get_working("report")
    assert (first.node_id, first.slot_type, first.content) == (id, "constraint", "before noon")
    assert (first.relevance, first.task_id, second.relevance) == (7.5, "report", 0.4)
    assert id.startswith("wrk_") and mind.get_working("nothing") == []


def test_a_full_task_gives_up_its_least_relevant_slot_in_one_act(mind: CognitiveMemory) -> None:
    for number in range(CAPACITY):
        mind.push_working("item", f"slot {number}", "task", relevance=float(number or 3))
    mind.push_working("item", "of another task", "other", relevance=0.0)
    before = acts(mind)
    mind.push_working("item", "the newcomer", "task", relevance=0.5)
    contents = [slot.content for slot in mind.get_working("task")]
    assert acts(mind) == before + 1 and len(contents) == CAPACITY == mind.WORKING_MEMORY_CAPACITY == 20
    assert "slot 1" not in contents and contents[-1] == "the newcomer"
    assert len(mind.get_working("other")) == 1
    mind.store.undo()
    assert {slot.content for slot in mind.get_working("task")} == {f"slot {number}" for number in range(CAPACITY)}


def test_among_equally_relevant_slots_the_oldest_goes(mind: CognitiveMemory) -> None:
    for number in range(CAPACITY + 2):
        mind.push_working("item", f"slot {number}", "task")
    contents = [slot.content for slot in mind.get_working("task")]
    assert contents == [f"slot {number}" for number in range(CAPACITY + 1, 1, -1)], "newest first among equals"


def test_a_cleared_task_is_empty_and_undo_fills_it_again(mind: CognitiveMemory) -> None:
    for content in ("one", "two"):
        mind.push_working("item", content, "task")
    mind.push_working("item", "three", "other")
    before = acts(mind)
    assert mind.clear_working("task") == 2 and acts(mind) == before + 1
    assert mind.get_working("task") == [] and len(mind.get_working("other")) == 1
    assert mind.clear_working("task") == 0 and acts(mind) == before + 1
    mind.store.undo()
    assert len(mind.get_working("task")) == 2


@pytest.mark.parametrize("relevance", [float("nan"), float("inf"), True, "high"])
def test_relevance_must_be_a_number(mind: CognitiveMemory, relevance: float) -> None:
    with pytest.raises(InvalidInput, match="relevance"):
        mind.push_working("goal", "x", "task", relevance=relevance)
    assert mind.get_working("task") == []
