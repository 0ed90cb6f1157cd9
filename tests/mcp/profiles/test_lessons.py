"""The lesson tools over real stdio: every answer comes in the envelope, with warnings and suggestions."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.mcp.agents import Agent, stdio_agent

TOOLS = ["learn", "recall", "get", "update", "delete", "related", "link", "tags", "sources", "contexts"]


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    place = tmp_path_factory.mktemp("lessons")
    with stdio_agent(place / "store.db", place, "lessons") as agent:
        yield agent


def data(agent: Agent, tool: str, /, **arguments: object) -> object:
    answer = agent.ok(tool, **arguments)
    assert set(answer) == {"success", "data", "warnings", "suggestions"} and answer["success"] is True
    return answer["data"]


def learned(agent: Agent, title: str, content: str, **fields: object) -> str:
    told = data(agent, "learn", title=title, content=content, **fields)
    assert isinstance(told, dict)
    return str(told["lesson_id"])


def test_there_are_ten_tools(agent: Agent) -> None:
    assert list(agent.tools()) == TOOLS


@pytest.mark.accepts("L9.3")
def test_a_lesson_is_learned_found_read_changed_and_deleted(agent: Agent) -> None:
    id = learned(
        agent,
        "Glaze cracks when it cools fast",
        "Let the kiln cool below 90 degrees before the door is opened.",
        tags=["kiln"],
        contexts=["workshop"],
        anti_contexts=["raku"],
        confidence="high",
        source="tested",
        source_notes="three firings",
    )
    found = data(agent, "recall", query="why does glaze crack", tags=["kiln"], confidence_min="medium", limit=3)
    assert isinstance(found, list) and found[0]["id"] == id and found[0]["score"] > 0
    whole = data(agent, "get", lesson_id=id)
    assert isinstance(whole, dict)
    assert (whole["confidence"], whole["source"], whole["anti_contexts"]) == ("high", "tested", ["raku"])
    changed = data(agent, "update", lesson_id=id, confidence="low", tags=["kiln", "glaze"])
    assert isinstance(changed, dict) and changed["confidence"] == "low" and set(changed["tags"]) >= {"kiln", "glaze"}
    assert data(agent, "delete", lesson_id=id) == {"deleted": True}
    assert data(agent, "delete", lesson_id=id) == {"deleted": False}
    assert id not in str(data(agent, "recall", query="why does glaze crack"))


def test_an_unknown_word_is_warned_of_with_what_may_be_meant(agent: Agent) -> None:
    learned(agent, "Throwing", "Centre the clay first.", tags=["pottery"])
    answer = agent.ok("learn", title="Trimming", content="Trim when the clay is leather hard.", tags=["potery"])
    assert any("potery" in each for each in answer["warnings"])
    assert answer["suggestions"]["potery"] == ["pottery"]
    new = agent.ok("learn", title="Wax", content="Wax resists glaze.", source="grandmother")
    assert any("grandmother" in each for each in new["warnings"])


def test_lessons_are_tied_and_walked(agent: Agent) -> None:
    a, b = learned(agent, "Slip", "Slip joins handles."), learned(agent, "Scoring", "Score both sides before slip.")
    assert data(agent, "link", from_id=a, to_id=b, relation="depends_on") == {"linked": True, "new": True}
    near = data(agent, "related", lesson_id=b, depth=1, relations=["depends_on"])
    assert isinstance(near, list) and [(each["id"], each["direction"]) for each in near] == [(a, "in")]


def test_the_words_in_use_are_listed(agent: Agent) -> None:
    learned(agent, "Wedging", "Wedge the clay to drive out air.", tags=["clay"], contexts=["studio"], source="observed")
    names = data(agent, "tags")
    assert isinstance(names, list) and "clay" in names
    counted = data(agent, "tags", with_counts=True)
    assert isinstance(counted, list) and any(each["name"] == "clay" and each["count"] >= 1 for each in counted)
    sources = data(agent, "sources")
    assert isinstance(sources, list) and {"tested", "observed"} <= {each["name"] for each in sources}
    contexts = data(agent, "contexts")
    assert isinstance(contexts, list) and "studio" in {each["name"] for each in contexts}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("get", {"lesson_id": "no-such-lesson"}),
        ("update", {"lesson_id": "no-such-lesson", "title": "x"}),
        ("learn", {"title": "", "content": "x"}),
        ("learn", {"content": "x"}),
        ("related", {"lesson_id": "no-such-lesson"}),
        ("unlearn", {}),
    ],
)
def test_a_mistake_comes_in_the_envelope_too(agent: Agent, tool: str, arguments: dict[str, object]) -> None:
    answer = json.loads(agent.refused(tool, **arguments))
    assert (answer["success"], answer["data"]) == (False, None) and answer["warnings"][0]
