"""An agent's six kinds of memory at the command line."""

from __future__ import annotations

import pytest

from nacre.memory_store import MemoryStore
from nacre.minds.cognitive import CognitiveMemory
from tests.command_line import CommandLine


@pytest.fixture
def minded(nacre: CommandLine) -> CommandLine:
    with MemoryStore(nacre.store, space="planner", embedder="hashing") as store:
        mind = CognitiveMemory("planner", store=store)
        mind.record_sensory("log", "a passing line")
        mind.push_working("goal", "finish the plan", "plan", relevance=0.4)
        mind.push_working("limit", "by Friday", "plan", relevance=0.9)
        for number in range(3):
            mind.store_episode(f"meeting {number} took place", "calendar")
        mind.store_fact("Budget", "is 40 thousand", 0.6)
        mind.store_fact("Deadline", "the budget closes in May", 0.9)
        mind.store_procedure("write a plan", ["ask everyone", "write it down"])
        mind.store_prospective("warn Ada", "budget exceeded", "send a message", priority=2)
    return nacre


def test_the_status_counts_each_kind(minded: CommandLine) -> None:
    assert minded.json("mind", "status", "planner") == {
        "sensory": 1, "working": 2, "episodic": 3, "semantic": 2, "procedural": 1, "prospective": 1, "total": 10,
    }  # fmt: skip
    assert minded.ok("mind", "status", "planner").splitlines()[2] == "episodic\t3"
    assert minded.json("mind", "status", "nobody")["total"] == 0, "agents see nothing of each other"


def test_working_memory_is_shown_for_a_task(minded: CommandLine) -> None:
    rows = [row.split("\t")[1:] for row in minded.ok("mind", "working", "planner", "plan").splitlines()]
    assert rows == [["limit", "0.9", "by Friday"], ["goal", "0.4", "finish the plan"]]
    assert "There is no working memory" in minded("mind", "working", "planner", "nothing").stderr
    assert "by Friday" in minded.ok("mind", "working", "planner", "plan", "-f", "table")


def test_episodes_come_latest_first_with_iso_times(minded: CommandLine) -> None:
    result = minded.json("mind", "episodes", "planner", "-n", "2")
    assert [each["temporal_index"] for each in result] == [3, 2] and result[0]["created_at"].endswith("Z")
    assert "meeting 2" in minded.ok("mind", "episodes", "planner", "-f", "table")
    assert "no episodes" in minded("mind", "episodes", "nobody").stderr


def test_facts_are_all_or_those_with_a_word(minded: CommandLine) -> None:
    assert [each["concept"] for each in minded.json("mind", "facts", "planner")] == ["Deadline", "Budget"]
    assert [each["concept"] for each in minded.json("mind", "facts", "planner", "thousand")] == ["Budget"]
    assert minded.ok("mind", "facts", "planner", "May").split("\t")[1:] == [
        "0.9",
        "Deadline",
        "the budget closes in May",
    ]
    assert "has no fact that matches" in minded("mind", "facts", "planner", "zebra").stderr
    assert "0.60" in minded.ok("mind", "facts", "planner", "-f", "table")


def test_procedures_count_their_uses(minded: CommandLine) -> None:
    assert minded.json("mind", "procedures", "planner", "plan")[0]["usage_count"] == 0
    assert minded.ok("mind", "procedures", "planner").split("\t")[1:] == [
        "1",
        "write a plan",
        "ask everyone; write it down",
    ]
    assert "2. write it down" in minded.ok("mind", "procedures", "planner", "-f", "table")
    assert "has no procedure that matches" in minded("mind", "procedures", "planner", "swim").stderr


def test_what_is_due_is_triggered_once_and_undo_takes_that_back(minded: CommandLine) -> None:
    (due,) = minded.json("mind", "due", "planner", "The budget is exceeded!")
    assert (due["action_on_trigger"], due["status"], due["priority"]) == ("send a message", "triggered", 2)
    assert "Nothing is due" in minded("mind", "due", "planner", "the budget again").stderr
    minded.ok("undo", "--any", "--space", "planner")
    assert "send a message" in minded.ok("mind", "due", "planner", "budget", "-f", "table")


def test_episodes_are_consolidated_and_undo_takes_that_back(minded: CommandLine) -> None:
    assert "fewer than 10" in minded("mind", "consolidate", "planner").stderr
    result = minded("mind", "consolidate", "planner", "--batch-size", "2")
    assert result.exit_code == 0 and result.stdout.startswith("con_") and "nacre undo" in result.stderr
    assert len(minded.json("mind", "episodes", "planner")) == 1
    assert len(minded.json("mind", "episodes", "planner", "--compressed")) == 3
    minded.ok("undo", "--any", "--space", "planner")
    assert len(minded.json("mind", "episodes", "planner")) == 3


def test_a_name_that_is_none_is_reported(nacre: CommandLine) -> None:
    result = nacre("mind", "status", "no such agent")
    assert result.exit_code == 2 and "alphanumeric" in result.stderr
