"""Episodic memory: numbers, order, consolidation."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nacre.errors import InvalidInput, MemoryNotFound, UndoRefused
from nacre.minds import cognitive as procedures
from nacre.minds.cognitive import CAPACITY, MAX_LINKS, CognitiveMemory, MemoryCategory, SemanticFact
from tests.minds.cognitive_factory import MORNING, Watch, mind_at, operations

WRITER = """
import sys
from nacre.minds.cognitive import CognitiveMemory
from nacre.memory_store import MemoryStore
with MemoryStore(sys.argv[1], space="planner", embedder="hashing") as store:
    mind = CognitiveMemory("planner", store=store)
    for number in range(int(sys.argv[3])):
        mind.store_episode(f"{sys.argv[2]} did thing {number}", sys.argv[2])
        mind.push_working("item", f"{sys.argv[2]} {number}", "task")
"""


def indexes(mind: CognitiveMemory, **options: bool) -> list[int]:
    return [episode.temporal_index for episode in mind.get_episodes(limit=500, **options)]


def test_episodes_are_numbered_and_come_latest_first(mind: CognitiveMemory) -> None:
    id = mind.store_episode("the build broke", "ci", metadata={"run": 7, "jobs": ["a"]})
    mind.store_episode("the build was mended", "ci")
    later, earlier = mind.get_episodes()
    assert (later.temporal_index, earlier.temporal_index) == (2, 1)
    assert (earlier.node_id, earlier.content, earlier.source_label) == (id, "the build broke", "ci")
    assert earlier.metadata == {"run": 7, "jobs": ["a"]} and not earlier.compressed and id.startswith("epi_")
    assert [episode.temporal_index for episode in mind.get_episodes(limit=1)] == [2]
    assert mind.get_episodes(limit=0) == []


def test_a_clock_that_is_set_back_gives_no_index_twice(mind: CognitiveMemory, watch: Watch) -> None:
    for number in range(20):
        watch.now += -3_600 if number == 10 else 60
        mind.store_episode(f"episode {number}", "s")
        mind.record_sensory("sight", f"sight {number}", 1e6)
    watch.now += 86_400
    mind.store_episode("the day after", "s")
    episodes = mind.get_episodes(limit=50)
    assert [episode.temporal_index for episode in episodes] == list(range(21, 0, -1))
    assert [episode.content for episode in episodes[:2]] == ["the day after", "episode 19"]
    late = mind.store.get(episodes[1].node_id)
    assert late is not None and late.happened_at == watch.now - 86_400
    orders = [item.observation_order for item in mind.get_recent_sensory(50)]
    assert orders == list(range(20, 0, -1))


def test_an_index_may_be_given_and_counting_goes_on_above_the_highest(mind: CognitiveMemory) -> None:
    mind.store_episode("a", "s", temporal_index=100)
    mind.store_episode("b", "s", temporal_index=50)
    mind.store_episode("c", "s")
    assert indexes(mind) == [101, 100, 50]
    assert all(episode.metadata == {} for episode in mind.get_episodes())


def test_the_order_is_that_of_the_index_however_episodes_were_written(mind: CognitiveMemory) -> None:
    values = [9, 2, 30, 1, 14, 30, 5, 8]
    for index in values:
        mind.store_episode(f"number {index}", "s", temporal_index=index)
    assert indexes(mind) == sorted(values, reverse=True)
    for limit in range(1, 9):
        assert [each.temporal_index for each in mind.get_episodes(limit=limit)] == indexes(mind)[:limit]
    for index in range(12):
        mind.store_episode(f"filler {index}", "s", temporal_index=0)
    assert [each.temporal_index for each in mind.get_episodes(limit=2)] == [30, 30], "the newest are not the latest"
    mind.store_episode("the next", "s")
    assert indexes(mind)[0] == 31, "the highest is known after many lower ones"


def test_turns_of_a_conversation_do_not_disturb_the_count(mind: CognitiveMemory) -> None:
    mind.store.remember("said long ago", type="episodic", session="chat", position=4000)
    mind.store_episode("lived through", "s")
    assert indexes(mind) == [1] and mind.get_statistics()["episodic"] == 1


@pytest.mark.parametrize("index", [-1, 1.5, True, "1"])
def test_an_index_must_be_a_whole_number(mind: CognitiveMemory, index: int) -> None:
    with pytest.raises(InvalidInput, match="temporal_index"):
        mind.store_episode("x", "s", temporal_index=index)
    with pytest.raises(InvalidInput, match="highest_index"):
        mind.store_episode("x", "s", metadata={"highest_index": 3})
    assert mind.get_episodes() == []


def test_the_count_survives_reopening(tmp_path: Path, watch: Watch) -> None:
    first = mind_at(tmp_path / "mind.db", watch)
    first.store_episode("before", "s", temporal_index=7)
    first.record_sensory("log", "before")
    first.store.close()
    again = mind_at(tmp_path / "mind.db", watch)
    again.store_episode("after", "s")
    again.record_sensory("log", "after")
    assert indexes(again) == [8, 7]
    assert [item.observation_order for item in again.get_recent_sensory()] == [2, 1]
    again.store.close()


@pytest.mark.slow
def test_two_processes_count_together_and_share_a_task(tmp_path: Path, watch: Watch) -> None:
    path = tmp_path / "mind.db"
    mind_at(path, watch).store.close()
    each = 30
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name, str(each)]) for name in ("ann", "bob")]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    mind = mind_at(path, watch)
    assert indexes(mind) == list(range(2 * each, 0, -1)), "no number twice, none left out"
    assert len(mind.get_working("task")) == mind.WORKING_MEMORY_CAPACITY
    mind.store.close()


@pytest.mark.slow
def test_threads_of_one_mind_count_together(mind: CognitiveMemory) -> None:
    def write(name: str) -> None:
        for number in range(10):
            mind.store_episode(f"{name} {number}", name)

    threads = [threading.Thread(target=write, args=(name,)) for name in ("ann", "bob", "cat")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert indexes(mind) == list(range(30, 0, -1))


def test_undo_takes_an_episode_back(mind: CognitiveMemory) -> None:
    mind.store_episode("one", "s")
    mind.store_episode("two", "s")
    mind.store.undo()
    assert [episode.content for episode in mind.get_episodes()] == ["one"]


@pytest.mark.accepts("A4.5")
def test_the_oldest_episodes_become_one_summary_in_one_operation(mind: CognitiveMemory) -> None:
    ids = [mind.store_episode(f"step {number} went well", "s") for number in range(4)]
    before = operations(mind)
    made = mind.consolidate_episodes(batch_size=3)
    assert made is not None and made.startswith("con_") and operations(mind) == before + 1
    assert [episode.content for episode in mind.get_episodes()] == ["step 3 went well"]
    everything = mind.get_episodes(include_compressed=True)
    assert [episode.compressed for episode in everything] == [False, True, True, True]
    (summary,) = mind.get_consolidated()
    assert summary.summary == "step 0 went well | step 1 went well | step 2 went well"
    assert (summary.node_id, summary.original_count) == (made, 3)
    assert [episode.node_id for episode in mind.lineage(made)] == ids[:3]
    assert {edge.rel for edge in mind.store.edges(out_of=[made])} == {"consolidates"}
    kept = [memory.status for memory in mind.store.get_many(ids)]
    assert kept == ["archived", "archived", "archived", "short_term"]


def test_undo_takes_a_consolidation_back_whole(mind: CognitiveMemory) -> None:
    for number in range(3):
        mind.store_episode(f"step {number}", "s")
    made = mind.consolidate_episodes(batch_size=3)
    mind.store.undo()
    assert indexes(mind) == [3, 2, 1] and mind.get_consolidated() == []
    with pytest.raises(MemoryNotFound):
        mind.lineage(str(made))


def test_the_lowest_numbers_are_consolidated_first_whenever_they_were_written(mind: CognitiveMemory) -> None:
    for index in (5, 1, 9, 2):
        mind.store_episode(f"number {index}", "s", temporal_index=index)
    made = mind.consolidate_episodes(batch_size=2)
    assert [episode.temporal_index for episode in mind.lineage(str(made))] == [1, 2] and indexes(mind) == [9, 5]


def test_too_few_episodes_are_left_as_they_are(mind: CognitiveMemory) -> None:
    mind.store_episode("alone", "s")
    before = operations(mind)
    assert mind.consolidate_episodes() is None and mind.consolidate_episodes(batch_size=2) is None
    assert operations(mind) == before and indexes(mind) == [1]
    with pytest.raises(InvalidInput, match="batch_size"):
        mind.consolidate_episodes(batch_size=0)


def test_a_summarizer_writes_the_summary_and_its_failure_changes_nothing(mind: CognitiveMemory) -> None:
    for number in range(2):
        mind.store_episode(f"step {number}", "s")

    def fails(_contents: list[str]) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        mind.consolidate_episodes(batch_size=2, summarizer=fails)
    with pytest.raises(InvalidInput, match="empty"):
        mind.consolidate_episodes(batch_size=2, summarizer=lambda _contents: " ")
    assert indexes(mind) == [2, 1]
    mind.consolidate_episodes(batch_size=2, summarizer=lambda contents: f"{len(contents)} steps, all well")
    assert mind.get_consolidated()[0].summary == "2 steps, all well"


def test_of_two_who_consolidate_at_once_each_takes_other_episodes(tmp_path: Path, watch: Watch) -> None:
    one, other = mind_at(tmp_path / "mind.db", watch), mind_at(tmp_path / "mind.db", watch)
    for number in range(5):
        one.store_episode(f"step {number}", "s")

    def slow(contents: list[str]) -> str:
        if indexes(other) == [5, 4, 3, 2, 1]:
            other.consolidate_episodes(batch_size=2)
        return "; ".join(contents)

    made = one.consolidate_episodes(batch_size=2, summarizer=slow)
    assert [episode.temporal_index for episode in one.lineage(str(made))] == [3, 4] and indexes(one) == [5]
    one.store.close()
    other.store.close()


def test_what_was_forgotten_is_neither_shown_nor_consolidated(mind: CognitiveMemory) -> None:
    ids = [mind.store_episode(f"step {number}", "s") for number in range(3)]
    mind.store.forget(ids[0])
    assert indexes(mind, include_compressed=True) == [3, 2] and mind.consolidate_episodes(batch_size=3) is None
    mind.store_episode("the next", "s")
    assert indexes(mind)[0] == 4


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
def test_attention_creates_an_episode_and_a_link_in_one_operation(mind: CognitiveMemory) -> None:
    id = mind.record_sensory("error", "out of memory in worker 3")
    before = operations(mind)
    episode = mind.attend_to_sensory(id, "second time today")
    assert episode is not None and episode.startswith("epi_") and operations(mind) == before + 1
    (result,) = mind.get_episodes()
    assert result.content == "[error] out of memory in worker 3 -- attended: second time today"
    assert (result.source_label, result.temporal_index) == ("sensory-attention", 1)
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
    before = operations(mind)
    assert [mind.attend_to_sensory(each, "why") for each in ("nothing", id, episode)] == [None, None, None]
    assert operations(mind) == before


def test_what_has_expired_is_pruned_for_good_in_one_operation(mind: CognitiveMemory, watch: Watch) -> None:
    for number in range(3):
        mind.record_sensory("log", f"passing line {number}", ttl_seconds=10)
    kept = mind.record_sensory("log", "a lasting line", ttl_seconds=100)
    watch.now += 10
    before = operations(mind)
    assert mind.prune_expired_sensory() == 3 and operations(mind) == before + 1
    assert mind.prune_expired_sensory() == 0 and operations(mind) == before + 1
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


@pytest.mark.slow
def test_a_full_task_gives_up_its_least_relevant_slot_in_one_operation(mind: CognitiveMemory) -> None:
    for number in range(CAPACITY):
        mind.push_working("item", f"slot {number}", "task", relevance=float(number or 3))
    mind.push_working("item", "of another task", "other", relevance=0.0)
    before = operations(mind)
    mind.push_working("item", "the newcomer", "task", relevance=0.5)
    contents = [slot.content for slot in mind.get_working("task")]
    assert operations(mind) == before + 1 and len(contents) == CAPACITY == mind.WORKING_MEMORY_CAPACITY == 20
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
    before = operations(mind)
    assert mind.clear_working("task") == 2 and operations(mind) == before + 1
    assert mind.get_working("task") == [] and len(mind.get_working("other")) == 1
    assert mind.clear_working("task") == 0 and operations(mind) == before + 1
    mind.store.undo()
    assert len(mind.get_working("task")) == 2


@pytest.mark.parametrize("relevance", [float("nan"), float("inf"), True, "high"])
def test_relevance_must_be_a_number(mind: CognitiveMemory, relevance: float) -> None:
    with pytest.raises(InvalidInput, match="relevance"):
        mind.push_working("goal", "x", "task", relevance=relevance)
    assert mind.get_working("task") == []


def concepts(results: list[SemanticFact]) -> list[str]:
    return [fact.concept for fact in results]


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


def test_similar_facts_are_linked_in_the_same_operation(mind: CognitiveMemory) -> None:
    old = mind.store_fact("Python version", "the service runs on Python 3.11")
    mind.store_fact("Lunch", "the Python of the zoo is fed on Thursdays, the service is free")
    before = operations(mind)
    new = mind.store_fact("Python version", "the service now runs on Python 3.12")
    (edge,) = mind.store.edges(out_of=[new])
    assert (edge.target, edge.rel) == (old, "similar_to") and 0.3 < edge.weight < 1 and operations(mind) == before + 1
    mind.store.undo()
    assert mind.store.edges() == [] and len(mind.get_all_facts()) == 2


@pytest.mark.slow
def test_an_old_fact_is_linked_by_its_words_and_links_stay_few(mind: CognitiveMemory) -> None:
    old = mind.store_fact("Boiler pressure", "the boiler needs 1.5 bar")
    for number in range(60):
        mind.store_fact(f"Room{number}", f"chair{number} stands beside table{number}")
    new = mind.store_fact("Boiler pressure", "the boiler needs 1.6 bar")
    assert [edge.target for edge in mind.store.edges(out_of=[new])] == [old]
    for _ in range(MAX_LINKS + 3):
        last = mind.store_fact("Boiler pressure", "the boiler needs 1.7 bar")
    assert len(mind.store.edges(out_of=[last])) == MAX_LINKS


def test_a_fact_is_linked_to_the_episode_that_taught_it(mind: CognitiveMemory) -> None:
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


def test_a_procedure_comes_back_with_its_steps_and_prerequisites(mind: CognitiveMemory) -> None:
    id = mind.store_procedure("release a version", ["run the tests", "tag it"], ["a clean tree"])
    (matches,) = mind.recall_procedure("how to release")
    assert (matches.node_id, matches.name, matches.steps) == (id, "release a version", ["run the tests", "tag it"])
    assert (matches.prerequisites, matches.usage_count) == (["a clean tree"], 0) and id.startswith("proc_")
    assert [each.node_id for each in mind.recall_procedure("tests")] == [id], "its steps are searched too"
    assert mind.recall_procedure("cooking") == []


def test_a_recall_is_a_use_and_what_is_used_most_comes_first(mind: CognitiveMemory, watch: Watch) -> None:
    mind.store_procedure("bake bread", ["knead", "wait"])
    watch.now += 1
    mind.store_procedure("bake a cake", ["stir"])
    assert [each.name for each in mind.recall_procedure("bake", limit=1)] == ["bake a cake"], "the newest of equals"
    mind.recall_procedure("bread")
    mind.recall_procedure("bread")
    first, second = mind.recall_procedure("")
    assert (first.name, first.usage_count, second.usage_count) == ("bake bread", 2, 1)
    assert [each.usage_count for each in mind.recall_procedure("bake")] == [3, 2], "only what is returned was used"
    assert mind.recall_procedure("bake", limit=0) == []


def test_a_use_is_no_operation_and_does_not_block_an_undo(mind: CognitiveMemory) -> None:
    mind.store_procedure("bake bread", ["knead"])
    before = operations(mind)
    mind.recall_procedure("bread")
    assert operations(mind) == before
    mind.store.undo()
    assert mind.recall_procedure("") == []


def test_a_procedure_is_linked_to_the_episode_that_taught_it(mind: CognitiveMemory) -> None:
    episode = mind.store_episode("watched the baker", "visit")
    taught = mind.store_procedure("bake bread", ["knead"], source_id=episode)
    mind.store_procedure("bake cake", ["stir"], source_id="nobody")
    edges = [(edge.source, edge.target, edge.rel) for edge in mind.store.edges()]
    assert edges == [(taught, episode, "procedure_derives_from")]


def test_a_procedure_without_steps_is_its_name_and_steps_are_a_list(mind: CognitiveMemory) -> None:
    mind.store_procedure("breathe", [])
    assert mind.recall_procedure("breathe")[0].steps == []
    for name, steps in (("x", "knead"), ("x", ["a", " "]), ("", ["a"])):
        with pytest.raises(InvalidInput):
            mind.store_procedure(name, steps)
    assert mind.get_statistics()["procedural"] == 1


def test_a_procedure_stored_as_plain_text_has_one_step(mind: CognitiveMemory) -> None:
    mind.store.remember("Shake the bottle before pouring", type="procedural")
    (matches,) = mind.recall_procedure("bottle")
    assert (matches.name, matches.steps) == (matches.steps[0], ["Shake the bottle before pouring"])


def test_an_intention_goes_from_pending_to_triggered_to_resolved(mind: CognitiveMemory) -> None:
    id = mind.store_prospective("greet Ada", "Ada arrives", "say hello", priority=3)
    (waiting,) = mind.get_prospective()
    assert (waiting.node_id, waiting.status, waiting.description) == (id, "pending", "greet Ada")
    assert (waiting.trigger_condition, waiting.action_on_trigger) == ("Ada arrives", "say hello")
    (due,) = mind.check_triggers("The doorbell: ADA!")
    assert (due.node_id, due.status, due.priority) == (id, "triggered", 3) and id.startswith("pro_")
    assert mind.check_triggers("Ada again") == [], "it is triggered once"
    assert mind.resolve_prospective(id) and not mind.resolve_prospective(id)
    assert mind.check_triggers("Ada arrives") == []
    assert [each.node_id for each in mind.get_prospective("resolved")] == [id]
    assert not mind.resolve_prospective("nothing")


def test_only_a_whole_word_triggers_and_a_common_one_does_not(mind: CognitiveMemory) -> None:
    mind.store_prospective("order ink", "when the ink is out", "order it")
    for content in ("Think again", "the weather is fine when it is dry", "", "inks"):
        assert mind.check_triggers(content) == []
    assert len(mind.check_triggers("no more ink.")) == 1
    mind.store_prospective("a song", "to be or not to be", "sing")
    assert len(mind.check_triggers("who is not?")) == 1


def test_the_most_urgent_comes_first_and_all_are_triggered_in_one_operation(
    mind: CognitiveMemory, watch: Watch
) -> None:
    for description, priority in (("low", 1), ("high", 9), ("also low", 1)):
        watch.now += 1
        mind.store_prospective(description, "deploy", "look", priority=priority)
    mind.store_prospective("another", "vacation", "pack")
    before = operations(mind)
    assert [each.description for each in mind.check_triggers("we deploy now")] == ["high", "low", "also low"]
    assert operations(mind) == before + 1
    mind.store.undo()
    assert len(mind.get_prospective()) == 4 and len(mind.check_triggers("deploy")) == 3


def test_a_check_that_triggers_nothing_is_no_operation(mind: CognitiveMemory) -> None:
    mind.store_prospective("greet Ada", "Ada", "say hello")
    before = operations(mind)
    assert mind.check_triggers("nobody is there") == [] and operations(mind) == before


def test_a_secret_in_a_trigger_is_kept_nowhere(mind: CognitiveMemory) -> None:
    secret = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3gH6"
    id = mind.store_prospective("rotate it", f"when {secret} shows up", "rotate")
    kept = mind.store.get(id)
    assert kept is not None and secret.lower() not in str(kept.to_dict()).lower()
    assert secret.lower().removeprefix("ghp_") not in str(kept.to_dict()).lower()


@pytest.mark.parametrize("priority", [1.5, True, "high"])
def test_a_priority_is_a_whole_number(mind: CognitiveMemory, priority: int) -> None:
    with pytest.raises(InvalidInput, match="priority"):
        mind.store_prospective("x", "y", "z", priority=priority)
    with pytest.raises(InvalidInput):
        mind.store_prospective("x", " ", "z")
    assert mind.get_prospective() == []


def test_statistics_count_what_can_be_seen_of_each_kind(mind: CognitiveMemory, watch: Watch) -> None:
    kinds = [kind.value for kind in MemoryCategory]
    assert mind.get_statistics() == dict.fromkeys([*kinds, "total"], 0)
    mind.record_sensory("log", "a line", ttl_seconds=5)
    mind.push_working("goal", "a goal", "task")
    mind.store_episode("an event", "s")
    mind.store_fact("concept", "a fact")
    mind.store_procedure("a way", ["a step"])
    mind.store_prospective("a plan", "a trigger", "an action")
    assert mind.get_statistics() == {**dict.fromkeys(kinds, 1), "total": 6}
    watch.now += 5
    mind.consolidate_episodes(batch_size=1)
    mind.clear_working("task")
    result = mind.get_statistics()
    assert (result["sensory"], result["working"], result["episodic"], result["total"]) == (0, 0, 1, 4)


def test_agents_share_a_file_and_see_nothing_of_each_other(tmp_path: Path, watch: Watch) -> None:
    ann, bob = (mind_at(tmp_path / "minds.db", watch, name) for name in ("ann", "bob"))
    secret = ann.store_episode("what only Ann lived through", "s")
    ann.store_fact("Ann", "likes tea")
    ann.store_prospective("greet", "hello", "answer")
    assert bob.get_statistics()["total"] == 0 and bob.get_episodes() == [] and bob.search_facts("tea") == []
    assert bob.check_triggers("hello") == [] and len(ann.check_triggers("hello")) == 1
    assert bob.store_episode("Bob's first", "s") != secret and bob.get_episodes()[0].temporal_index == 1
    ann.store.close()
    bob.store.close()


def test_a_mind_closes_its_own_store_and_leaves_a_lent_one_open(
    tmp_path: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_EMBEDDER", "hashing")
    with CognitiveMemory("planner", tmp_path / "own.db") as own:
        own.store_episode("kept", "s")
    again = mind_at(tmp_path / "own.db", watch)
    again.close()
    assert [episode.content for episode in again.get_episodes()] == ["kept"]
    again.store.close()


def test_the_journal_names_the_agent_and_each_act(mind: CognitiveMemory) -> None:
    mind.store_episode("an event", "s")
    mind.push_working("goal", "x", "task")
    result = [(entry.operation.name, entry.operation.actor) for entry in mind.store.journal(newest_first=False)]
    assert result == [("store_episode", "planner"), ("push_working", "planner")]


def store_all(mind: CognitiveMemory, watch: Watch, *names: str) -> None:
    for name in names:
        mind.store_procedure(name, [f"first step of {name}"])
        watch.now += 1


def listed(mind: CognitiveMemory, limit: int = 5) -> list[str]:
    return [each.name for each in mind.recall_procedure("", limit)]


def test_an_empty_question_lists_the_most_used_first_and_among_equals_the_oldest(
    mind: CognitiveMemory, watch: Watch
) -> None:
    store_all(mind, watch, "boil", "fry", "steam", "roast", "grill")
    for name in ("roast", "steam", "grill", "grill"):
        watch.now += 1
        mind.recall_procedure(name, limit=1)
    assert listed(mind, 0) == []
    assert listed(mind) == ["grill", "steam", "roast", "boil", "fry"]
    assert listed(mind, 2) == ["grill", "steam"]


def test_procedures_never_used_come_in_the_order_in_which_they_were_stored(mind: CognitiveMemory, watch: Watch) -> None:
    store_all(mind, watch, "c", "a", "b")
    assert listed(mind) == ["c", "a", "b"]


def test_the_oldest_are_not_lost_where_more_are_stored_than_are_read(
    mind: CognitiveMemory, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(procedures, "MATCHES", 2)
    store_all(mind, watch, "first", "second", "third", "fourth")
    assert listed(mind, 3) == ["first", "second", "third"]


def test_what_has_another_id_is_found_as_well(mind: CognitiveMemory) -> None:
    """An import may have given one."""
    mind.record_sensory("sight", "smoke over the barn", 60)
    mind.push_working("goal", "put the fire out", "alarm")
    mind.store_prospective("fire", "smoke", "call the brigade")
    for memory in mind.store.list_recent():
        mind.store.remember(f"{memory.text}, again", id=f"renamed-{memory.type}", type=memory.type,
                            metadata=memory.metadata, contexts=memory.contexts, session=memory.session,
                            expires_at=memory.expires_at)  # fmt: skip
    assert len(mind.get_recent_sensory()) == len(mind.get_working("alarm")) == len(mind.get_prospective()) == 2
    assert {each.node_id for each in mind.check_triggers("there is smoke")} > {"renamed-prospective"}


def test_a_mind_leaves_alone_what_other_programs_observed(mind: CognitiveMemory, watch: Watch) -> None:
    mind.store.remember("Wind from the west", type="sensory", expires_at=watch.now + 60)
    mind.store.remember("Mend the roof", type="working", session="barn")
    watch.now += 120
    assert mind.prune_expired_sensory() == 0 and mind.clear_working("barn") == 0
