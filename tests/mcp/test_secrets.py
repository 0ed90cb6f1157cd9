"""Secrets that were kept before there was a guard leave the store through no tool and no resource."""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from pathlib import Path

from nacre.memory_store import MemoryStore
from nacre.settings import settings
from tests.mcp.agents import stdio_agent


def test_an_old_secret_is_shown_by_no_tool(tmp_path: Path) -> None:
    secret = "ghp_" + secrets.token_hex(18)
    careless = replace(settings(environment={}), secrets="allow", embedder="hashing")
    with MemoryStore(tmp_path / "store.db", settings=careless) as store:
        a = store.remember(f"The relay token is {secret} on port 40").id
        b = store.remember(f"The relay token is {secret} on port 60").id
        store.edit(a, text=f"The relay token is still {secret} on port 40")
        store.link(a, b, "refines")
    calls: list[tuple[str, dict[str, object]]] = [
        ("recall", {"query": "relay token"}), ("context", {"task": "relay token"}), ("review", {}),
        ("history", {"id": a}), ("history", {}), ("get", {"ids": [a, b]}), ("list", {}), ("neighbors", {"id": a}),
        ("path", {"start": a, "end": b}), ("conflicts", {"threshold": 0.3}), ("journal", {}),
        ("diff", {"since": "2020-01-01"}), ("export_graph", {"form": "graphml"}), ("validate", {"id": a}),
        ("edit", {"id": a, "tags": ["relay"]}), ("remember", {"text": "The relay token is gone from port 40"}),
    ]  # fmt: skip
    with stdio_agent(tmp_path / "store.db", tmp_path, "full") as agent:
        for tool, arguments in calls:
            found = agent.call(tool, **arguments)
            whole = json.dumps(found.meta) + str(found.content)
            assert not found.is_error and secret not in whole, tool
        for uri in (f"nacre://memory/{a}", "nacre://recent"):
            assert secret not in str(agent.do(agent.client.read_resource, uri))
        assert secret not in str(agent.do(agent.client.get_prompt, "start_session", {"task": "relay token"}))
    with stdio_agent(tmp_path / "store.db", tmp_path, "houkai") as agent:
        assert secret not in str(agent.ok("list_recent"))
        assert secret not in str(agent.ok("recall", query="relay token"))
        assert secret not in str(agent.ok("find_conflicts", threshold=0.3))
