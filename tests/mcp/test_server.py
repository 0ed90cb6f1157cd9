"""What every profile owes the protocol: schemas, resources, prompts, sampling, and a list that says what it costs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CreateMessageRequestParams, CreateMessageResult, TextContent

from nacre import MemoryStore
from nacre.clients.installer import guidance
from nacre.clients.profiles import PROFILES
from nacre.errors import UnknownName
from nacre.mcp.calls import metadata
from nacre.mcp.profiles import profile_named
from nacre.mcp.server import ALWAYS_LOAD, costs, described_prompts, tool_list
from nacre.mcp.store_provider import StoreProvider, actor_of
from nacre.mcp.tool import Tool, input_schema
from nacre.settings import Settings
from tests.command_line import CommandLine
from tests.mcp.agents import Agent, stdio_agent

ALL = [(name, tool) for name in PROFILES for tool in profile_named(name).tools]
COUNTS = {"core": 8, "full": 26, "houkai": 15, "mnemosyne": 8, "lessons": 10}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("protocol")


@pytest.fixture(scope="module")
def agent(place: Path) -> Iterator[Agent]:
    with stdio_agent(place / "store.db", place) as agent:
        yield agent


@pytest.mark.slow
@pytest.mark.parametrize(("name", "tool"), ALL, ids=[f"{name}-{tool.name}" for name, tool in ALL])
def test_the_short_schema_says_what_the_checks_check(name: str, tool: Tool) -> None:  # noqa: ARG001
    told = input_schema(tool.run, tool.arguments)
    checked = metadata(tool.run).arg_model.model_json_schema(by_alias=True)
    assert json.loads(json.dumps(told.get("required", []))) == checked.get("required", [])
    assert {key: kind(each) for key, each in told["properties"].items()} == {  # type: ignore[union-attr]
        key: kind(each) for key, each in checked.get("properties", {}).items()
    }


def kind(schema: Any) -> tuple[object, ...]:
    """Without titles, and without the None that an agent expresses by leaving the argument out."""
    (meant,) = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    said_nothing = schema.get("default") in (None, "")
    items = meant.get("items", {}).get("type")
    return meant.get("type"), items, meant.get("enum"), None if said_nothing else schema["default"]


def test_the_profiles_have_their_tools_and_no_name_twice() -> None:
    for name, count in COUNTS.items():
        names = [tool.name for tool in profile_named(name).tools]
        assert (len(names), len(set(names))) == (count, count)
    with pytest.raises(UnknownName, match="did you mean 'core'"):
        profile_named("cor")


def test_the_default_profile_stays_cheap() -> None:
    assert sum(cost.tokens for cost in costs(profile_named("core"))) <= 1_100
    assert sum(cost.tokens for cost in costs(profile_named("full"))) < 4_000


ADDS, CHANGES = (False, False), (False, True)  # read-only, destructive
HINTS = {
    "core": {"remember": ADDS, "forget": CHANGES, "link": CHANGES, "review": CHANGES, "history": CHANGES},
    "full": {"remember": ADDS, "forget": CHANGES, "link": CHANGES, "review": CHANGES, "history": CHANGES,
             "edit": CHANGES, "supersede": ADDS, "restore": ADDS, "pin": ADDS, "archive": ADDS, "validate": ADDS,
             "undo": CHANGES, "conflicts": ADDS, "reflect": CHANGES, "maintenance_tick": CHANGES},
    "houkai": {"remember": ADDS, "forget": CHANGES, "link": ADDS, "unlink": CHANGES, "supersede": ADDS,
               "maintenance_tick": CHANGES, "export": ADDS, "import": CHANGES},
    "mnemosyne": {"store_memory": ADDS, "consolidate_memories": CHANGES, "delete_memory": CHANGES},
    "lessons": {"learn": ADDS, "update": CHANGES, "delete": CHANGES, "link": ADDS},
}  # fmt: skip


@pytest.mark.parametrize("profile", PROFILES)
def test_hints_say_what_a_tool_may_do(profile: str) -> None:
    for tool in tool_list(profile_named(profile)).tools:
        hints = tool.annotations
        assert tool.title and hints is not None and hints.open_world_hint is False
        told = hints.read_only_hint, hints.destructive_hint
        assert told == HINTS[profile].get(tool.name, (True, False)), tool.name
        assert hints.idempotent_hint or not hints.read_only_hint


@pytest.mark.parametrize("profile", ["core", "full"])
def test_every_argument_is_described(profile: str) -> None:
    for tool in tool_list(profile_named(profile)).tools:
        assert all(each.get("description") for each in tool.input_schema["properties"].values()), tool.name


def test_the_daily_tools_are_loaded_from_the_start_and_their_guidance_agrees() -> None:
    listed = tool_list(profile_named("core")).tools
    assert [tool.name for tool in listed if (tool.meta or {}).get(ALWAYS_LOAD)] == ["remember", "recall", "context"]
    start = "before you choose a convention, a tool or a person"
    for text in (guidance(), profile_named("core").instructions, described_prompts()["start_session"]["text"]):
        plain = " ".join(text.split()).lower()
        assert start in plain and "`recall`" in plain
    for text in (guidance(), profile_named("core").instructions):
        assert "`context` with the task" in text and "unasked" in text


def test_an_unknown_cursor_and_a_missing_argument_are_refused(agent: Agent) -> None:
    for listing in ("list_tools", "list_prompts", "list_resources", "list_resource_templates"):
        with pytest.raises(MCPError, match="Unknown cursor"):
            agent.do(getattr(agent.client, listing), cursor="far")
    for arguments in ({}, {"task": " "}):
        with pytest.raises(MCPError, match="start_session needs 'task'"):
            prompted(agent, "start_session", arguments)
    with pytest.raises(MCPError, match="did you mean 'task'"):
        prompted(agent, "start_session", {"tasks": "caulking"})


def test_the_list_prints_each_tool_and_what_each_profile_costs(nacre: CommandLine) -> None:
    told = nacre.json("mcp", "--list", "--profile", "houkai")
    assert len(told["tools"]) == 15 and set(told["totals"]) == set(PROFILES)
    assert sum(each["tokens"] for each in told["tools"]) == told["totals"]["houkai"]
    printed = nacre("mcp", "--list")
    assert printed.stdout.splitlines()[0].split("\t")[0] == "remember"
    assert "core: 8 tools" in printed.stderr and "lessons: 10 tools" in printed.stderr


def test_resources_tell_one_memory_the_newest_and_the_figures(agent: Agent) -> None:
    id = agent.ok("remember", text="Terns nest on the breakwater")["id"]
    listed = agent.do(agent.client.list_resources).resources
    assert [str(each.uri) for each in listed] == ["nacre://recent", "nacre://stats"]
    (template,) = agent.do(agent.client.list_resource_templates).resource_templates
    assert template.uri_template == "nacre://memory/{id}"
    for given in (id, id[:8]):
        told = read(agent, f"nacre://memory/{given}")
        assert f"{id[:8]} (semantic) Terns nest on the breakwater [" in told and told.startswith("<memories>")
    assert "Terns nest" in read(agent, "nacre://recent") and "<memories>" in read(agent, "nacre://recent")
    assert json.loads(read(agent, "nacre://stats"))["active"] >= 1


@pytest.mark.parametrize("uri", ["nacre://memory/no-such-memory", "nacre://elsewhere", "file:///etc/passwd"])
def test_a_resource_that_is_none_is_an_error_that_says_so(agent: Agent, uri: str) -> None:
    with pytest.raises(MCPError, match="No memory") as caught:
        read(agent, uri)
    assert "nacre list" not in str(caught.value) and "--space" not in str(caught.value)


def read(agent: Agent, uri: str) -> str:
    (content,) = agent.do(agent.client.read_resource, uri).contents
    return str(content.text)


def test_prompts_begin_a_session_with_what_is_known_and_end_it_with_what_was_learned(agent: Agent) -> None:
    agent.ok("remember", text="The slipway was rebuilt with larch")
    prompts = {each.name: each for each in agent.do(agent.client.list_prompts).prompts}
    assert set(prompts) == {"start_session", "end_session"}
    begun = prompted(agent, "start_session", {"task": "repair the slipway"})
    assert "repair the slipway" in begun and "larch" in begun and "</memories>" in begun
    assert "larch" in begun.partition("<memories>")[2].partition("</memories>")[0]
    assert "`remember`" in prompted(agent, "end_session", {"about": "Mind the budget."})
    with pytest.raises(MCPError, match="Unknown prompt"):
        prompted(agent, "middle_session", {})


def prompted(agent: Agent, name: str, arguments: dict[str, str]) -> str:
    (message,) = agent.do(agent.client.get_prompt, name, arguments).messages
    return str(message.content.text)


def test_a_client_that_lends_its_model_is_asked(place: Path) -> None:
    asked: list[str] = []

    async def sampled(context: object, params: CreateMessageRequestParams) -> CreateMessageResult:  # noqa: ARG001
        content = params.messages[0].content
        assert isinstance(content, TextContent)
        asked.append(content.text)
        said = "The cistern overflows whenever it rains." if "Condense" in content.text else "contradiction"
        return CreateMessageResult(
            role="assistant", content=TextContent(text=said), model="tiny", stop_reason="endTurn"
        )

    with stdio_agent(place / "lent.db", place, "full", mode="legacy", sampling_callback=sampled) as lending:
        for day in ("Monday", "Tuesday", "Friday"):
            lending.ok("remember", text=f"On {day} rain came and the cistern overflowed", type="episodic")
        told = lending.told("reflect", apply=True, ask_model=True, min_cluster=2)
        assert "The cistern overflows whenever it rains." in told
        assert asked and "cistern overflowed" in asked[0]
        lending.ok("remember", text="The mill pond freezes in hard winters")
        id = lending.ok("remember", text="The mill pond stays open in hard winters")["id"]
        unasked = lending.ok("conflicts", id=id, threshold=0.3)["conflicts"]
        assert "custom_fn" not in [found["reason"] for found in unasked]
        (found,) = lending.ok("conflicts", id=id, threshold=0.3, ask_model=True)["conflicts"]
        assert (found["kind"], found["reason"]) == ("contradiction", "custom_fn")


def test_a_model_that_fails_is_done_without(place: Path) -> None:
    async def failing(context: object, params: CreateMessageRequestParams) -> CreateMessageResult:  # noqa: ARG001
        return CreateMessageResult(
            role="assistant", content=TextContent(text="  "), model="tiny", stop_reason="endTurn"
        )

    with stdio_agent(place / "failing.db", place, "full", mode="legacy", sampling_callback=failing) as lending:
        for day in ("Monday", "Tuesday"):
            lending.ok("remember", text=f"On {day} the night pump was loud", type="episodic")
        assert "night pump" in lending.told("reflect", ask_model=True, min_cluster=2)


@pytest.mark.parametrize(
    ("client", "actor"),
    [("claude-code", "mcp:claude-code"), ("", "mcp"), ("a b\n\tc", "mcp:a-b-c"), ("x" * 99, "mcp:" + "x" * 40)],
)
def test_a_clients_name_is_fit_for_the_journal(client: str, actor: str) -> None:
    assert actor_of(client) == actor


def test_a_provider_opens_its_store_once_by_the_function_that_it_is_given(tmp_path: Path) -> None:
    known = Settings(store=str(tmp_path / "store.db"), embedder="hashing")
    opened: list[MemoryStore] = []

    def open_it(settings: Settings) -> MemoryStore:
        opened.append(MemoryStore(settings=settings, space="quay"))
        return opened[-1]

    provider = StoreProvider(known, open_it)
    assert (provider.store("one").space, provider.store("two").space) == ("quay", "quay")
    assert opened == [provider.opened()]
    provider.close()
    assert provider.opened() is opened[1]  # as after a restored copy took the place of the store
    provider.close()


def test_a_server_that_ends_before_its_store_was_opened_opens_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.mcp.store_provider.PREPARE_DELAY", 0.05)
    before = set(threading.enumerate())
    provider = StoreProvider(Settings(store=str(tmp_path / "store.db"), embedder="hashing"))
    provider.prepare()
    provider.close()
    for thread in set(threading.enumerate()) - before:
        thread.join()
    assert not (tmp_path / "store.db").exists()
