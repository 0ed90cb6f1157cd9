"""Procedural and prospective memory, and the mind as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.errors import InvalidInput
from nacre.minds.cognitive import CognitiveMemory
from nacre.minds.records import MemoryCategory
from tests.minds.minding import Watch, acts, mind_at


def test_a_procedure_comes_back_with_its_steps_and_prerequisites(mind: CognitiveMemory) -> None:
    id = mind.store_procedure("release a version", ["run the tests", "tag it"], ["a clean tree"])
    (found,) = mind.recall_procedure("how to release")
    assert (found.node_id, found.name, found.steps) == (id, "release a version", ["run the tests", "tag it"])
    assert (found.prerequisites, found.usage_count) == (["a clean tree"], 0) and id.startswith("proc_")
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


def test_a_use_is_no_act_and_stands_in_no_undos_way(mind: CognitiveMemory) -> None:
    mind.store_procedure("bake bread", ["knead"])
    before = acts(mind)
    mind.recall_procedure("bread")
    assert acts(mind) == before
    mind.store.undo()
    assert mind.recall_procedure("") == []


def test_a_procedure_is_tied_to_the_episode_that_taught_it(mind: CognitiveMemory) -> None:
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


def test_a_procedure_that_the_store_was_told_in_words_has_one_step(mind: CognitiveMemory) -> None:
    mind.store.remember("Shake the bottle before pouring", type="procedural")
    (found,) = mind.recall_procedure("bottle")
    assert (found.name, found.steps) == (found.steps[0], ["Shake the bottle before pouring"])


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


def test_the_most_urgent_comes_first_and_all_are_triggered_in_one_act(mind: CognitiveMemory, watch: Watch) -> None:
    for description, priority in (("low", 1), ("high", 9), ("also low", 1)):
        watch.now += 1
        mind.store_prospective(description, "deploy", "look", priority=priority)
    mind.store_prospective("another", "vacation", "pack")
    before = acts(mind)
    assert [each.description for each in mind.check_triggers("we deploy now")] == ["high", "low", "also low"]
    assert acts(mind) == before + 1
    mind.store.undo()
    assert len(mind.get_prospective()) == 4 and len(mind.check_triggers("deploy")) == 3


def test_a_check_that_triggers_nothing_is_no_act(mind: CognitiveMemory) -> None:
    mind.store_prospective("greet Ada", "Ada", "say hello")
    before = acts(mind)
    assert mind.check_triggers("nobody is there") == [] and acts(mind) == before


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
    found = mind.get_statistics()
    assert (found["sensory"], found["working"], found["episodic"], found["total"]) == (0, 0, 1, 4)


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
    told = [(entry.operation.name, entry.operation.actor) for entry in mind.store.journal(newest_first=False)]
    assert told == [("store_episode", "planner"), ("push_working", "planner")]
