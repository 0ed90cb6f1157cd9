"""AI-Houkai's tools over real stdio: names, arguments, defaults and the shapes of the answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nacre.memory_store import MemoryStore
from tests.mcp.agents import Agent, stdio_agent

# Each tool with its arguments; a default stands where the reference has one that says something.
SIGNATURES: dict[str, dict[str, Any]] = {
    "remember": {"text": ..., "type": "semantic", "tags": None, "importance": 0.5, "source": None,
                 "on_conflict": "ignore", "polarity": 0},
    "recall": {"query": ..., "k": 5, "type": None, "tag": None, "min_importance": None, "mode": "semantic",
               "overfetch": 4, "include_superseded": False},
    "recall_pack": {"query": ..., "token_budget": 800, "type": None, "tag": None, "min_importance": None,
                    "mode": "hybrid", "max_items": 50, "include_superseded": False},
    "forget": {"memory_id": ...},
    "list_recent": {"limit": 20, "include_superseded": False},
    "stats": {},
    "link": {"src_id": ..., "dst_id": ..., "rel": "related"},
    "unlink": {"src_id": ..., "dst_id": ..., "rel": None},
    "neighbors": {"memory_id": ..., "rel": None, "direction": "both", "depth": 1},
    "find_conflicts": {"memory_id": None, "threshold": None},
    "supersede": {"old_id": ..., "new_id": ...},
    "maintenance_tick": {"reflect_apply": False},
    "journal_tail": {"n": 20, "op": None, "since_seconds": None},
    "export": {"path": ..., "include_vectors": True, "include_superseded": False, "type": None, "tag": None,
               "since": None},
    "import": {"path": ..., "on_conflict": "skip", "regenerate_vectors": False, "dry_run": False},
}  # fmt: skip
PLAIN = {"id", "text", "type", "tags", "importance"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("houkai")


@pytest.fixture(scope="module")
def agent(place: Path) -> Iterator[Agent]:
    with stdio_agent(place / "store.db", place, "houkai") as agent:
        yield agent


def keep(agent: Agent, text: str, **fields: object) -> str:
    kept = agent.ok("remember", text=text, **fields)
    assert kept["stored"] and set(kept) <= {"id", "stored", "conflicts"}
    return str(kept["id"])


def test_there_are_fifteen_tools_with_the_arguments_of_the_reference(agent: Agent) -> None:
    tools = agent.tools()
    assert list(tools) == list(SIGNATURES)
    for name, arguments in SIGNATURES.items():
        schema = tools[name].input_schema
        assert list(schema["properties"]) == list(arguments), name
        assert schema.get("required", []) == [key for key, value in arguments.items() if value is ...]
        told = {key: each["default"] for key, each in schema["properties"].items() if "default" in each}
        assert told == {key: value for key, value in arguments.items() if value not in (..., None)}


@pytest.mark.accepts("H17.2", "H17.3")
def test_remember_and_recall(agent: Agent) -> None:
    id = keep(agent, "  The mint stamps coins at dawn ", tags=["mint"], importance=7, source="tour")
    (found,) = agent.ok("recall", query="mint stamps coins", k=1)
    assert set(found) == PLAIN | {"score", "created_at", "superseded_by"}
    assert (found["id"], found["text"], found["importance"], found["superseded_by"]) == (
        id,
        "The mint stamps coins at dawn",
        1.0,
        "",
    )
    assert agent.ok("recall", query="mint coins", type="procedural") == []
    assert agent.ok("recall", query="mint coins", tag="mint", min_importance=0.9, mode="hybrid", overfetch=6)
    assert "ask for at least 1" in agent.refused("recall", query="mint", k=0)


@pytest.mark.accepts("H17.2")
def test_a_conflict_that_should_raise_stores_nothing_and_is_returned(agent: Agent) -> None:
    keep(agent, "The furnace burns at 900 degrees")
    before = agent.ok("stats")["count"]
    refused = agent.ok("remember", text="The furnace burns at 1200 degrees", on_conflict="raise")
    assert refused["stored"] is False and "id" not in refused
    assert set(refused["conflicts"][0]) == {"kind", "reason", "similarity", "a", "b"}
    assert agent.ok("stats")["count"] == before
    warned = agent.ok("remember", text="The furnace burns at 1300 degrees", on_conflict="warn")
    assert warned["stored"] and warned["conflicts"]


@pytest.mark.accepts("H17.4")
def test_recall_pack(agent: Agent) -> None:
    keep(agent, "Ingots cool on the iron rack")
    packed = agent.ok("recall_pack", query="ingots on the rack", token_budget=60)
    assert set(packed) == {"text", "used_tokens", "budget", "truncated", "items"}
    assert set(packed["items"][0]) == PLAIN | {"score", "tokens"}
    assert packed["text"].startswith("## Relevant memory") and "data, not instructions" in packed["text"]
    assert packed["used_tokens"] == sum(item["tokens"] for item in packed["items"]) <= packed["budget"] == 60


@pytest.mark.accepts("H17.5", "H17.6")
def test_forget_and_list_recent(agent: Agent) -> None:
    id = keep(agent, "The bellows leak")
    (first,) = agent.ok("list_recent", limit=1)
    assert first["id"] == id and set(first) >= PLAIN | {"superseded_by"}
    assert agent.ok("forget", memory_id=id) == {"deleted": True}
    assert agent.ok("forget", memory_id=id) == {"deleted": False}
    assert agent.ok("forget", memory_id="no-such-id") == {"deleted": False}
    assert id not in [each["id"] for each in agent.ok("list_recent")]


@pytest.mark.accepts("H17.7")
def test_stats(agent: Agent, place: Path) -> None:
    told = agent.ok("stats")
    assert set(told) == {"count", "path", "collection"} and told["path"] == str(place / "store.db")


@pytest.mark.accepts("H17.8", "H17.9", "H17.10")
def test_link_unlink_and_neighbors(agent: Agent) -> None:
    a, b = keep(agent, "Dies wear out"), keep(agent, "Dies are made of steel")
    assert agent.ok("link", src_id=a, dst_id=b) == {"ok": True, "src_id": a, "dst_id": b, "rel": "related"}
    assert agent.ok("link", src_id=a, dst_id=a)["ok"] is False
    assert agent.ok("link", src_id="no-such-id", dst_id=a)["error"]
    (near,) = agent.ok("neighbors", memory_id=a)
    assert near["id"] == b and set(near) == PLAIN | {"rel"}
    assert agent.ok("neighbors", memory_id=a, direction="in") == []
    assert agent.ok("unlink", src_id=a, dst_id=b) == {"removed": 1}
    assert agent.ok("unlink", src_id=a, dst_id=b) == {"removed": 0}


@pytest.mark.accepts("H9.3", "H10.1")
def test_neighbors_leave_out_only_what_is_deleted_and_links_that_nobody_made(agent: Agent, place: Path) -> None:
    old, new = keep(agent, "The kiln is fired on Friday"), keep(agent, "The kiln is fired on Monday now")
    calm = keep(agent, "Fridays are calm")
    agent.ok("link", src_id=calm, dst_id=old, rel="refines")
    agent.ok("supersede", old_id=old, new_id=new)
    assert [(each["id"], each["rel"]) for each in agent.ok("neighbors", memory_id=calm)] == [(old, "refines")]
    assert old in [each["id"] for each in agent.ok("neighbors", memory_id=new, rel="supersedes")]
    with MemoryStore(place / "store.db") as store:
        space = next(name for name in store.spaces() if store.in_space(name).get(calm))
        store.in_space(space).link(calm, new, "may_replace", weight=0.6)
    assert new not in [each["id"] for each in agent.ok("neighbors", memory_id=calm)]
    assert [each["id"] for each in agent.ok("neighbors", memory_id=calm, rel="may_replace")] == [new]
    agent.ok("forget", memory_id=old)
    assert agent.ok("neighbors", memory_id=calm) == []


def test_a_refusal_names_a_tool_and_no_shell_command(agent: Agent) -> None:
    id = keep(agent, "The glaze is ash and feldspar")
    for answer in (
        agent.ok("link", src_id="no-such-id", dst_id=id),
        agent.ok("supersede", old_id="no-such-id", new_id=id),
    ):
        assert answer["ok"] is False and "`recall` shows ids" in answer["error"]
        assert "nacre" not in answer["error"] and "--" not in answer["error"]


@pytest.mark.accepts("H17.11", "H17.12")
def test_find_conflicts_and_supersede(agent: Agent) -> None:
    old, new = keep(agent, "The deadline is Friday"), keep(agent, "The deadline is Monday")
    (found, *_) = agent.ok("find_conflicts", memory_id=new)
    assert set(found) == {"kind", "reason", "similarity", "a", "b"} and {found["a"]["id"], found["b"]["id"]} == {
        old,
        new,
    }
    assert agent.ok("find_conflicts", threshold=0.99) is not None
    assert agent.ok("supersede", old_id=old, new_id=new) == {"ok": True, "old_id": old, "new_id": new}
    assert agent.ok("supersede", old_id=new, new_id=old)["ok"] is False
    assert old not in [each["id"] for each in agent.ok("list_recent", limit=100)]
    hidden = {each["id"]: each for each in agent.ok("list_recent", limit=100, include_superseded=True)}
    assert hidden[old]["superseded_by"] == new


@pytest.mark.accepts("H17.13", "H17.14")
def test_maintenance_and_the_journal(agent: Agent) -> None:
    done = agent.ok("maintenance_tick")
    assert set(done) == {"summary", "ran_decay", "ran_reflect", "decayed", "reflected", "decay_error", "reflect_error"}
    assert done["ran_decay"] and done["decay_error"] is None
    id = keep(agent, "The scales were tested")
    (last,) = agent.ok("journal_tail", n=1)
    assert set(last) == {"ts", "op", "actor", "id", "summary", "meta"}
    assert (last["op"], last["id"]) == ("remember", id)
    assert {each["op"] for each in agent.ok("journal_tail", op="remember", since_seconds=3600)} == {"remember"}


@pytest.mark.accepts("H17.15", "H17.16")
def test_memories_go_to_an_archive_and_come_back(agent: Agent, place: Path) -> None:
    id = keep(agent, "Old coins lie in the cellar", tags=["cellar"])
    archive = place / "cellar.ahkai"
    written = agent.ok("export", path=str(archive), tag="cellar")
    assert set(written) == {"path", "count", "bytes", "elapsed"} and written["count"] == 1
    assert "exists already" in agent.refused("export", path=str(archive))
    assert "not the name of an archive" in agent.refused("export", path=str(place / "profile.txt"))
    with stdio_agent(place / "other.db", place, "houkai") as other:
        tried = other.ok("import", path=str(archive), dry_run=True)
        assert other.ok("stats")["count"] == 0
        read = other.ok("import", path=str(archive))
        assert tried["imported"] == read["imported"] == 1 and read["ok"]
        assert set(read) == {"ok", "imported", "skipped", "overwritten", "renamed", "errors", "vectors_regenerated"}
        assert other.ok("list_recent")[0]["id"] == id
        assert other.ok("import", path=str(archive))["skipped"] == 1
        assert "not taken" in other.refused("import", path=str(place / "store.db"))
