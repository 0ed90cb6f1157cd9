"""Episodic memory: numbers, order, consolidation."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nacre.errors import InvalidInput, MemoryNotFound
from nacre.minds.cognitive import CognitiveMemory
from tests.minds.minding import Watch, acts, mind_at

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


def test_an_index_may_be_given_and_counting_goes_on_above_the_highest(mind: CognitiveMemory) -> None:
    mind.store_episode("a", "s", temporal_index=100)
    mind.store_episode("b", "s", temporal_index=50)
    mind.store_episode("c", "s")
    assert indexes(mind) == [101, 100, 50]
    assert all(episode.metadata == {} for episode in mind.get_episodes())


def test_the_order_is_that_of_the_index_however_episodes_were_written(mind: CognitiveMemory) -> None:
    given = [9, 2, 30, 1, 14, 30, 5, 8]
    for index in given:
        mind.store_episode(f"number {index}", "s", temporal_index=index)
    assert indexes(mind) == sorted(given, reverse=True)
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
def test_the_oldest_episodes_become_one_summary_in_one_act(mind: CognitiveMemory) -> None:
    ids = [mind.store_episode(f"step {number} went well", "s") for number in range(4)]
    before = acts(mind)
    made = mind.consolidate_episodes(batch_size=3)
    assert made is not None and made.startswith("con_") and acts(mind) == before + 1
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
    before = acts(mind)
    assert mind.consolidate_episodes() is None and mind.consolidate_episodes(batch_size=2) is None
    assert acts(mind) == before and indexes(mind) == [1]
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
