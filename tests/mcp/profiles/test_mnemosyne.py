"""Mnemosyne's tools over real stdio: arguments, defaults and the shapes of the answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.memory_store import MemoryStore
from tests.mcp.agents import Agent, stdio_agent

DEFAULTS: dict[str, dict[str, object]] = {
    "store_memory": {"memory_type": "episodic"},
    "search_memories": {"n_results": 10, "use_hybrid": True, "emotion_weight": 0.3},
    "consolidate_memories": {"importance_threshold": 0.6, "similarity_threshold": 0.85},
    "should_consolidate": {},
    "get_memory_stats": {},
    "get_memory_context": {"max_tokens": 2000},
    "delete_memory": {},
    "get_recent_memories": {"hours": 24, "limit": 20},
}
TOLD = {"id", "content", "summary", "memory_type", "tags", "emotional_context", "importance_score", "created_at"}
DAY = 86_400.0


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mnemosyne")


@pytest.fixture(scope="module")
def agent(place: Path) -> Iterator[Agent]:
    with stdio_agent(place / "store.db", place, "mnemosyne") as agent:
        yield agent


def test_there_are_eight_tools_with_the_defaults_of_the_reference(agent: Agent) -> None:
    tools = agent.tools()
    told = {
        name: {key: each["default"] for key, each in tool.input_schema["properties"].items() if "default" in each}
        for name, tool in tools.items()
    }
    assert told == DEFAULTS


@pytest.mark.parametrize(
    ("felt", "named"),
    [({"valence": 5, "arousal": "x"}, "arousal"), ({"valence": [1]}, "valence"), ({"valence": True}, "valence")],
)
def test_a_feeling_that_is_no_number_is_refused_by_its_name(agent: Agent, felt: dict[str, object], named: str) -> None:
    for tool, what in (("store_memory", {"content": "The organ hums"}), ("search_memories", {"query": "organ"})):
        refusal = agent.refused(tool, **what, emotional_context=felt)
        assert f"{named} must be a number from -1 to 1" in refusal


@pytest.mark.parametrize("name", ["importance_threshold", "similarity_threshold"])
@pytest.mark.parametrize("value", [5, -1, 1e308, "nan"])
def test_a_threshold_that_is_no_share_is_refused(agent: Agent, name: str, value: object) -> None:
    assert f"{name} must be a number from 0 to 1" in agent.refused("consolidate_memories", **{name: value})


def test_a_memory_is_stored_with_its_feeling_and_found(agent: Agent) -> None:
    kept = agent.ok(
        "store_memory",
        content="The choir sang in the ruined chapel",
        summary="Choir in the chapel",
        tags=["music"],
        emotional_context={"valence": 5, "arousal": 0.5},
    )
    assert set(kept) == {"id", "importance_score", "status"} and kept["status"] == "stored"
    found = agent.ok("search_memories", query="choir chapel", emotional_context={"valence": 0.9, "arousal": 0.4})
    assert (found["query"], found["hybrid_search"]) == ("choir chapel", True)
    (first, *_) = found["results"]
    assert set(first) == TOLD | {"relevance_score"}
    assert (first["id"], first["summary"], first["memory_type"]) == (kept["id"], "Choir in the chapel", "episodic")
    assert first["emotional_context"] == {"valence": 1.0, "arousal": 0.5, "quadrant": "excited"}
    assert agent.ok("search_memories", query="choir", n_results=1, use_hybrid=False)["hybrid_search"] is False


def test_a_summary_that_nobody_wrote_is_the_beginning(agent: Agent) -> None:
    agent.ok("store_memory", content="organ " * 200, memory_type="semantic")
    (found,) = agent.ok("search_memories", query="organ", n_results=1)["results"]
    assert len(found["summary"]) == 500


def test_counts_context_and_recent(agent: Agent) -> None:
    id = agent.ok("store_memory", content="Candles were lit for the evening concert")["id"]
    told = agent.ok("get_memory_stats")
    assert told["total_memories"] == told["short_term"] + told["long_term"] and told["short_term"] > 0
    packed = agent.ok("get_memory_context", query="candles concert", max_tokens=30)
    assert set(packed) == {"query", "memories", "token_count", "truncated"}
    assert packed["memories"][0]["id"] == id and packed["token_count"] <= 30
    assert agent.ok("get_memory_context", query="candles", max_tokens=1) == {
        "query": "candles",
        "memories": [],
        "token_count": 0,
        "truncated": True,
    }
    assert agent.ok("get_recent_memories", hours=1, limit=1)["memories"][0]["id"] == id


def test_what_has_earned_it_is_promoted(agent: Agent, place: Path) -> None:
    with MemoryStore(place / "store.db", embedder="hashing", clock=lambda: __import__("time").time() - DAY) as store:
        for time in ("in the evening", "late in the evening"):
            store.remember(f"Rehearsal at the old bridge {time}", type="episodic", valence=1.0, arousal=1.0)
    waiting = agent.ok("should_consolidate")
    assert set(waiting) == {"should_consolidate", "reason", "short_term_count", "long_term_count"}
    assert waiting["should_consolidate"] is False and "below threshold" in waiting["reason"]
    report = agent.ok("consolidate_memories", similarity_threshold=0.5)
    assert {"clusters_formed", "memories_promoted", "total_processed", "cluster_summaries"} <= set(report)
    assert report["memories_promoted"] == 1
    assert agent.ok("get_memory_stats")["long_term"] == 1


def test_a_memory_is_deleted(agent: Agent) -> None:
    id = agent.ok("store_memory", content="A passing note")["id"]
    assert agent.ok("delete_memory", memory_id=id)["deleted"]
    assert not agent.ok("delete_memory", memory_id=id)["deleted"]


def test_an_error_comes_as_the_reference_gives_it(agent: Agent) -> None:
    for tool, arguments in [("store_memory", {"content": ""}), ("store_memory", {}), ("no_such_tool", {})]:
        assert list(json.loads(agent.refused(tool, **arguments))) == ["error"]
