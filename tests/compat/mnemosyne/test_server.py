"""The server: its eight tools called directly, and once over stdio as a client would."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nacre.compat.mnemosyne import server
from nacre.compat.mnemosyne.config.settings import ConsolidationSettings, Settings, StorageSettings
from nacre.compat.mnemosyne.core.models import Memory, MemoryStatus
from nacre.compat.mnemosyne.storage.chroma_store import ChromaMemoryStore

NAMES = {
    "store_memory", "search_memories", "consolidate_memories", "should_consolidate", "get_memory_stats",
    "get_memory_context", "delete_memory", "get_recent_memories",
}  # fmt: skip


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChromaMemoryStore]:
    monkeypatch.setattr(server, "memory_store", None)
    monkeypatch.setattr(server, "_settings", None)
    server.initialize(str(tmp_path), Settings(storage=StorageSettings(embedding_model="hashing")))
    assert server.memory_store is not None
    yield server.memory_store
    server.memory_store.client.close()


def call(name: str, **arguments: Any) -> dict[str, Any]:
    (output,) = asyncio.run(server.call_tool(name, arguments))
    result: dict[str, Any] = json.loads(output.text)
    return result


@pytest.mark.accepts("M8.1", "M8.2")
def test_there_are_eight_tools() -> None:
    assert {tool.name for tool in asyncio.run(server.list_tools())} == NAMES


@pytest.mark.accepts("M8.2", "M8.3", "M8.4")
def test_the_tools_take_the_published_arguments_and_defaults() -> None:
    takes = {tool.name: dict(list(inspect.signature(tool.run).parameters.items())[1:]) for tool in server.PROFILE.tools}
    result = {name: {each: values.default for each, values in taken.items()} for name, taken in takes.items()}
    needed = inspect.Parameter.empty
    assert result["get_memory_context"] == {"query": needed, "max_tokens": 2000}
    assert result["get_recent_memories"] == {"hours": 24, "limit": 20}
    assert result["store_memory"] == {
        "content": needed, "summary": None, "memory_type": "episodic", "tags": None, "emotional_context": None,
    }  # fmt: skip
    assert result["search_memories"] == {
        "query": needed, "n_results": 10, "use_hybrid": True, "emotional_context": None, "emotion_weight": 0.3,
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.accepts("M1.1")
def test_the_store_knows_nothing_of_the_server() -> None:
    asked = "import sys, nacre.compat.mnemosyne.storage.chroma_store; print([m for m in sys.modules if '.mcp' in m])"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.accepts("M6.1", "M8.3", "M8.4")
def test_a_memory_is_stored_with_its_computed_importance_and_found(served: ChromaMemoryStore) -> None:
    kept = call(
        "store_memory", content="The lighthouse keeper retired", emotional_context={"valence": 3, "arousal": -0.5}
    )
    assert set(kept) == {"id", "importance_score", "status"} and kept["status"] == "stored"
    memory = served.get_memory(kept["id"])
    assert memory is not None and memory.emotional_context is not None
    assert (served.short_term.count(), served.long_term.count()) == (1, 0)
    assert (memory.emotional_context.valence, memory.emotional_context.quadrant) == (1.0, "neutral")
    assert kept["importance_score"] == memory.importance_score == memory.compute_importance()
    matches = call("search_memories", query="lighthouse keeper")
    assert (matches["query"], matches["hybrid_search"]) == ("lighthouse keeper", True)
    assert set(matches["results"][0]) == {
        "id", "content", "summary", "memory_type", "tags", "emotional_context", "importance_score",
        "relevance_score", "created_at",
    }  # fmt: skip
    assert matches["results"][0]["emotional_context"] == memory.emotional_context.to_dict()


@pytest.mark.accepts("M3.8", "M8.3")
def test_a_summary_that_is_not_given_is_the_beginning_of_the_content(served: ChromaMemoryStore) -> None:
    assert served.count_memories() == 0
    call("store_memory", content="harvest " * 100)
    (matches,) = call("search_memories", query="harvest", use_hybrid=False)["results"]
    assert matches["summary"] == ("harvest " * 100)[:500]


@pytest.mark.accepts("M8.4")
def test_a_search_asks_as_the_store_does_with_or_without_words_and_mood(served: ChromaMemoryStore) -> None:
    for word, valence in (("sunny", 0.9), ("rainy", -0.9)):
        felt = {"valence": valence, "arousal": 0.1, "quadrant": "own word"}
        call("store_memory", content=f"A {word} day at the market", emotional_context=felt)
    for mood, first in ((0.8, "sunny"), (-0.8, "rainy")):
        matches = call("search_memories", query="day at the market", emotional_context={"valence": mood})["results"]
        assert first in matches[0]["content"] and matches[0]["emotional_context"]["quadrant"] == "own word"
    plain = call("search_memories", query="sunny market", use_hybrid=False)
    near = served.search_memories("sunny market")[0].metadata["relevance_distance"]
    assert plain["hybrid_search"] is False and plain["results"][0]["relevance_score"] == pytest.approx(1 - near)


@pytest.mark.accepts("M8.2", "M8.6")
def test_statistics_context_and_recent_memories(served: ChromaMemoryStore) -> None:
    for number in range(3):
        call("store_memory", content=f"Letter {number} from the coast about the storm")
    served.add_memory(Memory(content="An old storm", created_at=datetime.now() - timedelta(days=5)))
    assert call("get_memory_stats") == {"total_memories": 4, "short_term": 4, "long_term": 0}
    context = call("get_memory_context", query="storm", max_tokens=40)
    assert set(context) == {"query", "memories", "token_count", "truncated"}
    assert context["truncated"] is True and 0 < context["token_count"] <= 40
    lines = [f"[{each['created_at']}] {each['content']}" for each in context["memories"]]
    assert context["token_count"] == sum(len(line) // 4 for line in lines)
    assert call("get_memory_context", query="storm")["truncated"] is False
    recent = call("get_recent_memories", hours=24)
    assert recent["count"] == 3 and len(call("get_recent_memories", limit=2)["memories"]) == 2


@pytest.mark.accepts("M8.2")
def test_a_deleted_memory_is_deleted(served: ChromaMemoryStore) -> None:
    id = call("store_memory", content="Throw me away")["id"]
    assert call("delete_memory", memory_id=id) == {"deleted": True, "memory_id": id}
    assert call("delete_memory", memory_id=id) == {"deleted": False, "memory_id": id}
    assert served.memories.get(id) is None


@pytest.mark.accepts("M7.7", "M8.5")
def test_consolidation_follows_the_settings_and_the_call(served: ChromaMemoryStore) -> None:
    served.add_memory(Memory(content="The gate squeaks", created_at=datetime.now() - timedelta(hours=2)))
    assert call("should_consolidate") == {
        "should_consolidate": False, "reason": "Buffer size (1) below threshold (100)",
        "short_term_count": 1, "long_term_count": 0,
    }  # fmt: skip
    assert call("consolidate_memories")["memories_promoted"] == 0
    report = call("consolidate_memories", importance_threshold=0.5)
    assert report["memories_promoted"] == 1 and call("get_memory_stats")["long_term"] == 1


@pytest.mark.accepts("M7.7", "M8.5")
def test_the_settings_say_when_it_is_time(served: ChromaMemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_settings", Settings(consolidation=ConsolidationSettings(buffer_threshold=1)))
    served.add_memory(Memory(content="The tide table hangs by the door"))
    result = call("should_consolidate")
    assert (result["should_consolidate"], result["reason"]) == (True, "Buffer size (1) exceeds threshold (1)")


@pytest.mark.accepts("M2.4", "M8.6")
def test_what_is_archived_counts_as_long_term(served: ChromaMemoryStore) -> None:
    served.add_memory(Memory(content="A harbour that silted up", status=MemoryStatus.ARCHIVED))
    assert call("get_memory_stats") == {"total_memories": 1, "short_term": 0, "long_term": 1}
    assert call("should_consolidate")["long_term_count"] == 1


@pytest.mark.accepts("M8.7")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [("no_such_tool", {}), ("store_memory", {}), ("store_memory", {"content": "x", "memory_type": "telepathic"})],
)
def test_a_callers_mistake_is_returned_as_an_error(
    served: ChromaMemoryStore, name: str, arguments: dict[str, Any]
) -> None:
    assert list(call(name, **arguments)) == ["error"]
    assert served.count_memories() == 0


def test_a_server_that_was_not_initialized_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "memory_store", None)
    with pytest.raises(RuntimeError, match="not initialized"):
        call("get_memory_stats")


@pytest.mark.accepts("M8.1")
def test_each_tool_has_its_handler(served: ChromaMemoryStore) -> None:
    kept = asyncio.run(server._handle_store_memory({"content": "By hand"}))
    assert served.get_memory(kept["id"]) is not None
    assert asyncio.run(server._handle_get_stats())["total_memories"] == 1


@pytest.mark.slow
@pytest.mark.accepts("M1.1", "M10.5")
def test_the_entry_point_serves_a_client_over_stdio(tmp_path: Path) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "psyche", "version": "1"}}
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
         "params": {"name": "store_memory", "arguments": {"content": "Said over a pipe"}}},
    ]  # fmt: skip
    environment = {**os.environ, "MNEMOSYNE_STORAGE_EMBEDDING_MODEL": "hashing", "MNEMOSYNE_LOGGING_QUIET": "1"}
    command = [sys.executable, "-m", "nacre.compat.mnemosyne.cli"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.writelines(json.dumps(each) + "\n" for each in asked)
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
    assert json.loads(answers[1]["result"]["content"][0]["text"])["status"] == "stored"
    store = ChromaMemoryStore(str(tmp_path / "data" / "memory"), "hashing")
    assert store.count_memories() == 1
    store.client.close()
