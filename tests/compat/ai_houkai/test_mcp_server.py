"""H17 to H19, and the collection that callers reach for: the MCP tools, the installer, the examples' dispatch."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from mcp import Client
from nacre.compat.ai_houkai import MemoryStore, dispatch
from nacre.compat.ai_houkai.installers import claude_code
from nacre.compat.ai_houkai.installers.claude_code import ClaudeCodeInstaller
from nacre.compat.ai_houkai.mcp_server import server
from nacre.compat.ai_houkai.memory_system.store import settings_for
from nacre.mcp.profiles.houkai import PROFILE
from nacre.mcp.server import make_server
from nacre.mcp.store_provider import StoreProvider

NOWHERE = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def served(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryStore]:
    monkeypatch.setattr(server, "_store", store)
    yield store


@pytest.mark.accepts("H17.2")
def test_remembering_returns_the_id_or_the_conflicts(served: MemoryStore) -> None:
    kept = server.remember("never push on friday", type="procedural", tags=["git"], importance=0.9)
    assert kept == {"id": served.list_recent()[0].id, "stored": True}
    refused = server.remember("never push on friday", type="procedural", tags=["git"], on_conflict="raise")
    assert refused["stored"] is False
    assert set(refused["conflicts"][0]) == {"kind", "reason", "similarity", "a", "b"}


@pytest.mark.accepts("H17.3", "H17.4", "H17.5", "H17.6", "H17.7", "H17.8", "H17.9", "H17.10", "H17.12", "H17.13")
def test_the_reading_tools_answer_in_the_published_shapes(served: MemoryStore) -> None:
    a, b = served.remember("push on monday", tags=["git"]), served.remember("push on tuesday")
    assert server.link(a.id, b.id, "refines") == {"ok": True, "src_id": a.id, "dst_id": b.id, "rel": "refines"}
    assert server.link(NOWHERE, a.id)["ok"] is False
    plain = {"id", "text", "type", "tags", "importance"}
    assert set(server.recall("push")[0]) == {*plain, "score", "created_at", "superseded_by"}
    packed = server.recall_pack("push", token_budget=200)
    assert set(packed) == {"text", "used_tokens", "budget", "truncated", "items"}
    assert set(packed["items"][0]) == {*plain, "score", "tokens"}
    assert set(server.neighbors(a.id)[0]) == {*plain, "rel"}
    assert {*plain, "superseded_by"} <= set(server.list_recent()[0])
    assert server.unlink(a.id, b.id) == {"removed": 1}
    assert server.supersede(a.id, b.id) == {"ok": True, "old_id": a.id, "new_id": b.id}
    assert server.find_conflicts() == []
    assert server.stats() == {"count": 2, "path": served.path, "collection": "tests"}
    assert set(server.journal_tail(n=1)[0]) == {"ts", "op", "actor", "id", "summary", "meta"}
    ticked = {"summary", "ran_decay", "ran_reflect", "decayed", "reflected", "decay_error", "reflect_error"}
    assert set(server.maintenance_tick()) == ticked
    assert server.forget(b.id) == {"deleted": True}
    assert served._get_by_id(b.id) is None


@pytest.mark.accepts("H17.15", "H17.16")
def test_archives_go_out_and_come_in_through_tools(served: MemoryStore, tmp_path: Path) -> None:
    served.remember("to be carried")
    result = server.export(str(tmp_path / "x.ahkai"))
    assert (set(result), result["count"]) == ({"path", "count", "bytes", "elapsed"}, 1)
    done = server.import_(str(tmp_path / "x.ahkai"))
    counts = {"imported", "skipped", "overwritten", "renamed", "errors", "vectors_regenerated"}
    assert {"ok", *counts} <= set(done) and done["skipped"] == 1


@pytest.mark.accepts("H17.13")
def test_a_client_is_offered_the_fifteen_tools(tmp_path: Path) -> None:
    provider = StoreProvider(settings_for(tmp_path / "chroma", "agents", "hashing"))

    async def listed() -> list[str]:
        async with Client(make_server(PROFILE, provider)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    names = anyio.run(listed)
    provider.close()
    assert len(names) == 15 and {"maintenance_tick", "journal_tail", "export", "import"} <= set(names)


@pytest.mark.slow
@pytest.mark.accepts("H17.1")
def test_the_environment_names_the_store_and_importing_makes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "nacre.compat.ai_houkai.mcp_server.server"
    subprocess.run([sys.executable, "-c", f"import {module}"], cwd=tmp_path, check=True)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("AI_HOUKAI_PATH", str(tmp_path / "chroma"))
    monkeypatch.setenv("AI_HOUKAI_COLLECTION", "mine")
    monkeypatch.setattr(server, "_store", None)
    result = server.stats()
    opened = server._get_store()
    opened.client.close()
    assert result == {"count": 0, "path": str(tmp_path / "chroma"), "collection": "mine"}


@pytest.mark.accepts("H18.3", "H18.4")
def test_the_installer_sets_its_own_entry_and_keeps_the_others(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"theme": "dark", "mcpServers": {"other": {"command": "x"}}}))
    installer = ClaudeCodeInstaller(str(tmp_path / "mem"), "col", str(file), extra_env={"A": "b"})
    assert installer.verify() is False
    assert installer.install() == str(file)
    first = file.read_text()
    assert installer.install() == str(file) and file.read_text() == first and installer.verify()
    values = json.loads(first)
    assert values["theme"] == "dark" and values["mcpServers"]["other"] == {"command": "x"}
    block = values["mcpServers"]["ai-houkai"]
    assert block == installer.build_mcp_block()
    assert block["env"] == {"AI_HOUKAI_PATH": str(tmp_path / "mem"), "AI_HOUKAI_COLLECTION": "col", "A": "b"}
    assert installer.build_settings_block() == {"mcpServers": {"ai-houkai": block}}


@pytest.mark.accepts("H18.5")
def test_settings_that_cannot_be_read_are_replaced_unless_that_is_forbidden(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text("{not json")
    installer = ClaudeCodeInstaller(settings_path=str(file))
    with pytest.raises(ValueError):
        installer.install(overwrite_unparseable=False)
    assert file.read_text() == "{not json"
    installer.install()
    assert "ai-houkai" in json.loads(file.read_text())["mcpServers"]


@pytest.mark.accepts("H18.2", "H18.3", "H18.8")
def test_the_installer_has_the_published_defaults_and_flags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    usual = ClaudeCodeInstaller()
    assert (usual.memory_path, usual.collection, usual.server_name) == ("~/.ai_houkai", "claude_code", "ai-houkai")
    assert (usual.settings_path, usual.extra_env) == ("~/.claude/settings.json", {})
    place = ["--settings", str(tmp_path / ".claude" / "settings.json"), "--memory-path", str(tmp_path / "mem")]
    assert claude_code._main(["--verify", *place]) == 1
    assert claude_code._main(["--install", *place]) == 0
    assert claude_code._main(["--verify", *place]) == 0
    capsys.readouterr()
    assert claude_code._main(place) == 0
    assert "mcpServers" in json.loads(capsys.readouterr().out)
    assert claude_code._main(["--claudemd"]) == 0
    said = capsys.readouterr().out
    assert all(word in said for word in ("recall", "remember", "forget"))


@pytest.mark.accepts("H19.1")
def test_a_models_calls_are_carried_out(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "store", store)

    def call(name: str, **data: object) -> dict[str, object]:
        answer: dict[str, object] = json.loads(dispatch._dispatch_tool(name, json.dumps(data)))
        return answer

    assert call("recall", query="anything") == {"results": []}
    kept = call("remember", text="deploy with make release", type="procedural", tags=["deploy"], importance=0.9)
    assert kept["stored"] is True
    (matches,) = json.loads(dispatch._dispatch_tool("recall", '{"query": "deploy", "k": 3}'))["results"]
    assert set(matches) == {"id", "text", "type", "tags", "importance", "score"}
    assert call("forget", memory_id=kept["id"]) == {"deleted": True}
    assert call("forget", memory_id=NOWHERE) == {"deleted": False}
    assert call("dance") == {"error": "unknown tool: dance"}


@pytest.mark.accepts("H2.6", "H3.4")
def test_the_collection_is_read_and_changed_as_chromas_is(store: MemoryStore) -> None:
    a = store.remember("tea at noon", type="episodic", importance=0.9)
    b = store.remember("the sea is wide", importance=0.2)
    full = store.collection.get(include=["documents", "metadatas", "embeddings"])
    assert (full["ids"], full["documents"]) == ([a.id, b.id], [a.text, b.text])
    assert full["embeddings"] is not None and len(full["embeddings"][0]) == store.native.embedder.dimensions
    assert store.collection.get(where={"type": "episodic"}, include=["documents"])["metadatas"] is None
    both = {"$and": [{"type": "semantic"}, {"importance": {"$lt": 0.5}}]}
    assert store.collection.get(where=both)["ids"] == [b.id]
    assert store.collection.get(where={"$or": [{"importance": {"$gte": 0.9}}, {"type": "x"}]})["ids"] == [a.id]
    store.collection.update(ids=[a.id, NOWHERE], documents=["tea at ten", "?"], metadatas=[{"access_count": 7}, {}])
    changed = store._get_by_id(a.id)
    assert changed is not None and (changed.text, changed.access_count, changed.type) == ("tea at ten", 7, "episodic")
    near = store.collection.query(query_texts=["tea at ten"], n_results=1)
    assert near["ids"] == [[a.id]] and near["distances"][0][0] == pytest.approx(0.0, abs=0.001)
    store.collection.delete(ids=[a.id])
    store.collection.add(ids=["own"], documents=["by hand"], metadatas=[{"type": "feedback"}])
    assert store.collection.count() == 2
    added = store._get_by_id("own")
    assert added is not None and added.type == "feedback"
