"""The tools: one core and one database with the functions, every answer in its envelope."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.client.stdio import stdio_client

from mcp import StdioServerParameters
from nacre.compat.ai_lessons import core, mcp_server
from nacre.compat.ai_lessons.config import Config
from tests.mcp.agents import environment, talking


def called(tool: str, /, **arguments: object) -> dict[str, Any]:
    (text,) = asyncio.run(mcp_server.call_tool(tool, arguments))
    answer: dict[str, Any] = json.loads(text.text)
    assert set(answer) == {"success", "data", "warnings", "suggestions"}
    return answer


@pytest.mark.accepts("L6.3", "L6.5")
def test_every_tool_is_there_also_under_its_published_name() -> None:
    names = {tool.name for tool in asyncio.run(mcp_server.list_tools())}
    assert names >= {"learn", "recall", "get", "update", "delete", "related", "link", "tags", "sources", "contexts"}
    assert names >= {"get_lesson", "update_lesson", "delete_lesson", "confidence_levels"}


@pytest.mark.accepts("L1.1", "L6.1", "L6.2", "L6.3", "L6.5")
@pytest.mark.usefixtures("configured")
def test_what_a_tool_learned_the_functions_know() -> None:
    rendered = called("learn", title="cool slowly.", content="Draughts crack.", tags=["kiln"], contexts=["workshop"],
                  anti_contexts=["raku"], confidence="high", source="tested", source_notes="twice")  # fmt: skip
    id = rendered["data"]["lesson_id"]
    results = core.get_lesson(id)
    assert (
        len(id) == 26 and results is not None and results.title == "cool slowly." and results.anti_contexts == ["raku"]
    )
    (hit,) = called("recall", query="draughts", tags=["kiln"], contexts=["workshop"], confidence_min="low",
                    source="tested", limit=3)["data"]  # fmt: skip
    assert hit["id"] == id and hit["score"] > 0
    for get in ("get", "get_lesson"):
        assert called(get, lesson_id=id)["data"]["source_notes"] == "twice"
    assert called("update_lesson", lesson_id=id, confidence="low")["data"]["confidence"] == "low"
    assert called("contexts")["data"][0]["name"] in ("workshop", "raku")
    assert called("delete_lesson", lesson_id=id)["data"] == {"deleted": True}
    assert core.get_lesson(id) is None


@pytest.mark.accepts("L6.4", "L6.5")
@pytest.mark.usefixtures("configured")
def test_lessons_are_linked_and_words_are_listed() -> None:
    one, two = core.add_lesson("Cool", "Slowly.", ["kiln"]), core.add_lesson("Load", "Loosely.")
    assert called("link", from_id=one, to_id=two, relation="derived_from")["data"]["new"] is True
    (results,) = called("related", lesson_id=one, depth=1, relations=["derived_from"])["data"]
    assert results["id"] == two
    assert called("tags")["data"] == ["kiln"]
    assert called("tags", with_counts=True)["data"][0]["count"] == 1
    assert "tested" in [each["name"] for each in called("sources")["data"]]
    assert called("confidence_levels")["data"][0] == {"name": "very-low", "ordinal": 1}


@pytest.mark.accepts("L6.6")
def test_an_unknown_tag_is_warned_of_and_what_was_meant_suggested(configured: Config) -> None:
    configured.known_tags = ["jira"]
    rendered = called("learn", title="Close tickets", content="Then they are gone.", tags=["jra"])
    assert rendered["warnings"] == ["tag 'jra' not recognized, did you mean 'jira'?"]
    assert rendered["suggestions"]["jra"] == ["jira"]


@pytest.mark.accepts("L6.6")
@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("get", {"lesson_id": "nobody"}), ("divine", {}), ("learn", {"title": "Only a title"}), ("tags", {"loud": True})],
)
def test_what_goes_wrong_is_reported_in_the_envelope(tool: str, arguments: dict[str, object]) -> None:
    rendered = called(tool, **arguments)
    assert rendered["success"] is False and rendered["data"] is None and len(rendered["warnings"]) == 1


@pytest.mark.slow
@pytest.mark.accepts("L6.1", "L9.3")
def test_the_server_serves_the_configured_database_over_stdio(tmp_path: Path) -> None:
    folder = tmp_path / ".ai" / "lessons"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("embedding: {backend: hashing}\ntag_aliases: {ovens: kiln}\n")
    options = StdioServerParameters(
        command=sys.executable, args=["-m", "nacre.compat.ai_lessons.mcp_server"], env=environment(tmp_path)
    )
    with talking(stdio_client(options)) as agent:
        rendered = agent.ok("learn", title="Cool slowly", content="Draughts crack.", tags=["ovens"])
        assert rendered["data"]["tags"] == ["kiln"] and len(rendered["data"]["lesson_id"]) == 26
        assert agent.ok("get_lesson", lesson_id=rendered["data"]["lesson_id"])["success"] is True
    assert (folder / "knowledge.db").exists()
