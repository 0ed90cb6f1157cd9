"""The examples for agents: the shared tools, the loops on the real SDKs with a scripted model, the memory tool."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx2
import pytest

from nacre import MemoryStore

EXAMPLES = Path(__file__).parents[1] / "examples"
KEY = "-".join(("no", "key"))
sdk = importlib.import_module  # slow to import, and only some of these tests need one
AGENTS = ("claude_agent", "openai_agent", "ollama_agent")


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore(":memory:", embedder="hashing") as opened:
        yield opened


@pytest.fixture
def example(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    tools = importlib.import_module("agent_tools")
    monkeypatch.setattr(tools, "memory", lambda: store)
    return importlib.import_module


def called(module: ModuleType, name: str, **arguments: object) -> Any:
    return json.loads(module._dispatch_tool(name, json.dumps(arguments)))


@pytest.mark.slow
@pytest.mark.accepts("H19.1", "H19.2")
@pytest.mark.parametrize("agent", AGENTS)
def test_every_agent_has_the_same_three_tools(agent: str, example: Callable[[str], ModuleType]) -> None:
    module = example(agent)
    kept = called(module, "remember", text="The kiln needs two hours to cool.", type="procedural", tags=["kiln"])
    assert kept["stored"] is True
    found = called(module, "recall", query="how long does the kiln cool?", k=1)["results"]
    assert [(hit["id"], hit["type"], hit["tags"]) for hit in found] == [(kept["id"], "procedural", ["kiln"])]
    assert called(module, "forget", memory_id=kept["id"]) == {"deleted": True}
    assert called(module, "forget", memory_id=kept["id"]) == {"deleted": False}
    assert called(module, "recall", query="kiln")["results"] == []
    assert called(module, "juggle") == {"error": "unknown tool: juggle"}


@pytest.mark.parametrize("arguments", ["{", "[]", '{"text": ""}', "{}", '{"text": "x", "colour": "red"}', ""])
def test_what_a_model_got_wrong_is_told_to_the_model(arguments: str, example: Callable[[str], ModuleType]) -> None:
    told = json.loads(example("agent_tools")._dispatch_tool("remember", arguments))
    assert list(told) == ["error"] and told["error"]


@pytest.mark.accepts("H19.3")
def test_the_examples_import_with_any_sdk_and_touch_no_network() -> None:
    script = """
import socket, sys, types
def refuse(*_): raise SystemExit("the network was touched")
socket.socket.connect = refuse
for name, client in (("anthropic", "Anthropic"), ("openai", "OpenAI")):
    sys.modules[name] = types.ModuleType(name)
    setattr(sys.modules[name], client, lambda **_: refuse())
import agent_tools, claude_agent, openai_agent, ollama_agent, memory_tool
assert claude_agent._dispatch_tool is agent_tools._dispatch_tool is ollama_agent._dispatch_tool
print(claude_agent._dispatch_tool("x", "{}"))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=EXAMPLES, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout) == {"error": "unknown tool: x"}, done.stderr


class Scripted:
    """A model that says what it was told to say, and keeps what it was asked."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    def client(self) -> httpx2.Client:
        return httpx2.Client(transport=httpx2.MockTransport(self.answer))

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(json.loads(request.content))
        return httpx2.Response(200, json=self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])


def claude_says(*content: dict[str, Any]) -> dict[str, Any]:
    stop = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": content, "stop_reason": stop,
            "stop_sequence": None, "usage": usage}  # fmt: skip


def claude_calls(name: str, **arguments: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": "t1", "name": name, "input": arguments}


def gpt_says(text: str | None, *calls: tuple[str, dict[str, object]]) -> dict[str, Any]:
    made = [
        {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for at, (name, given) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "g", "choices": [choice]}


@pytest.mark.slow  # the kit takes two seconds to import
@pytest.mark.accepts("H19.2")
def test_claude_remembers_through_the_real_sdk(store: MemoryStore, example: Callable[[str], ModuleType]) -> None:
    model = Scripted(
        claude_says({"type": "text", "text": "Noted."}, claude_calls("remember", text="Ann drinks green tea.")),
        claude_says({"type": "text", "text": "I will keep that in mind."}),
    )
    client = sdk("anthropic").Anthropic(api_key=KEY, http_client=model.client())
    messages: list[dict[str, Any]] = [{"role": "user", "content": "I drink green tea."}]
    assert example("claude_agent").answer(client, messages) == "I will keep that in mind."
    assert [memory.text for memory in store.list_recent()] == ["Ann drinks green tea."]
    result = model.asked[1]["messages"][-1]["content"][0]
    assert result["tool_use_id"] == "t1" and json.loads(result["content"])["stored"] is True
    assert {tool["name"] for tool in model.asked[0]["tools"]} == {"remember", "recall", "forget"}


@pytest.mark.slow
@pytest.mark.accepts("H19.2")
def test_openai_recalls_through_the_real_sdk(store: MemoryStore, example: Callable[[str], ModuleType]) -> None:
    store.remember("Ann drinks green tea.")
    model = Scripted(gpt_says(None, ("recall", {"query": "what does Ann drink?"})), gpt_says("Green tea."))
    client = sdk("openai").OpenAI(api_key=KEY, http_client=model.client())
    messages: list[dict[str, Any]] = [{"role": "user", "content": "What do I drink?"}]
    assert example("openai_agent").answer(client, messages) == "Green tea."
    tool = model.asked[1]["messages"][-1]
    assert tool["tool_call_id"] == "c0" and "green tea" in tool["content"]


@pytest.mark.accepts("H19.2")
def test_ollama_needs_no_key(example: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert str(example("ollama_agent").client().base_url) == "http://localhost:11434/v1/"


@pytest.mark.slow
def test_a_model_that_calls_for_ever_is_stopped(example: Callable[[str], ModuleType]) -> None:
    claude = Scripted(claude_says(claude_calls("juggle")))
    client = sdk("anthropic").Anthropic(api_key=KEY, http_client=claude.client())
    assert example("claude_agent").answer(client, [{"role": "user", "content": "x"}]).startswith("(stopped")
    assert claude.asked[-1]["messages"][-1]["content"][0]["is_error"] is True
    gpt = Scripted(gpt_says(None, ("juggle", {})))
    other = sdk("openai").OpenAI(api_key=KEY, http_client=gpt.client())
    assert example("openai_agent").answer(other, [{"role": "user", "content": "x"}]).startswith("(stopped")
    assert len(claude.asked) == len(gpt.asked) == 8


def files(example: Callable[[str], ModuleType], store: MemoryStore) -> Any:
    return example("memory_tool").MemoryFiles(store)


def test_files_of_the_memory_tool_are_written_read_changed_and_moved(
    store: MemoryStore, example: Callable[[str], ModuleType]
) -> None:
    tool = files(example, store)
    run = tool.run
    run({"command": "create", "path": "/memories/people/ann.md", "file_text": "# Ann\nlikes tea\n"})
    run({"command": "str_replace", "path": "/memories/people/ann.md", "old_str": "tea", "new_str": "green tea"})
    run({"command": "insert", "path": "/memories/people/ann.md", "insert_line": 1, "insert_text": "lives in Ghent\n"})
    shown = run({"command": "view", "path": "/memories/people/ann.md"})
    assert shown.endswith("     1\t# Ann\n     2\tlives in Ghent\n     3\tlikes green tea")
    only = run({"command": "view", "path": "/memories/people/ann.md", "view_range": [2, 2]})
    assert "Ghent" in only and "tea" not in only
    run({"command": "rename", "old_path": "/memories/people", "new_path": "/memories/team/people"})
    assert "/memories/team/people" in run({"command": "view", "path": "/memories"})
    run({"command": "delete", "path": "/memories/team"})
    assert run({"command": "view", "path": "/memories", "view_range": None}) == "In /memories:\n"
    store.undo()
    assert "green tea" in run({"command": "view", "path": "/memories/team/people/ann.md"})
    assert [hit.memory.source for hit in store.recall("Who likes tea?")] == ["/memories/team/people/ann.md"]


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd", "/memories/../etc/passwd", "/memories/a/../../b", "memories/a", "/memories2/a", "", "/",
        "/memories/%2e%2e/a", "/memories//a", "/memories/./a", "/memories\\..\\a", "/memories/a\0b", "../memories/a",
    ],
)  # fmt: skip
def test_paths_outside_are_refused_by_every_command(
    path: str, store: MemoryStore, example: Callable[[str], ModuleType]
) -> None:
    tool, refused = files(example, store), example("memory_tool").Refused
    for command in (
        {"command": "view", "path": path},
        {"command": "create", "path": path, "file_text": "x"},
        {"command": "str_replace", "path": path, "old_str": "x", "new_str": "y"},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "y"},
        {"command": "delete", "path": path},
        {"command": "rename", "old_path": "/memories/a", "new_path": path},
        {"command": "rename", "old_path": path, "new_path": "/memories/b"},
    ):
        with pytest.raises(refused, match="is no path below /memories"):
            tool.run(command)
    assert store.count() == 0


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ({"command": "create", "path": "/memories/a", "file_text": "new"}, "there already"),
        ({"command": "create", "path": "/memories/d", "file_text": "x"}, "is a folder"),
        ({"command": "create", "path": "/memories/e", "file_text": " "}, "empty file"),
        ({"command": "str_replace", "path": "/memories/a", "old_str": "zzz", "new_str": "y"}, "stands 0 times"),
        ({"command": "str_replace", "path": "/memories/a", "old_str": "o", "new_str": "y"}, "stands 2 times"),
        ({"command": "str_replace", "path": "/memories/a", "old_str": "one\ntwo", "new_str": ""}, "delete it instead"),
        ({"command": "insert", "path": "/memories/a", "insert_line": 9, "insert_text": "y"}, "from 0 to 2"),
        ({"command": "view", "path": "/memories/a", "view_range": [3, 2]}, "has 2"),
        ({"command": "view", "path": "/memories/none"}, "is not there"),
        ({"command": "insert", "path": "/memories/none", "insert_line": 0, "insert_text": "y"}, "There is no file"),
        ({"command": "delete", "path": "/memories/none"}, "is not there"),
        ({"command": "delete", "path": "/memories"}, "cannot be deleted"),
        ({"command": "rename", "old_path": "/memories/a", "new_path": "/memories/d"}, "there already"),
        ({"command": "rename", "old_path": "/memories/d", "new_path": "/memories/d/e"}, "choose another name"),
        ({"command": "juggle", "path": "/memories/a"}, "There is no command 'juggle'"),
        ({"command": "view"}, "missing"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(
    command: dict[str, Any], told: str, store: MemoryStore, example: Callable[[str], ModuleType]
) -> None:
    tool = files(example, store)
    tool.create("/memories/a", "one\ntwo")
    tool.create("/memories/d/f", "text")
    before = [(memory.source, memory.text) for memory in store.list_recent()]
    with pytest.raises(example("memory_tool").Refused, match=told):
        tool.run(command)
    assert [(memory.source, memory.text) for memory in store.list_recent()] == before


def test_the_memory_tool_runs_in_the_real_sdks_loop(store: MemoryStore, example: Callable[[str], ModuleType]) -> None:
    model = Scripted(
        claude_says(claude_calls("memory", command="create", path="/memories/n.md", file_text="Bees sleep at night.")),
        claude_says(claude_calls("memory", command="view", path="/etc/passwd")),
        claude_says({"type": "text", "text": "Done."}),
    )
    client = sdk("anthropic").Anthropic(api_key=KEY, http_client=model.client())
    runner = client.beta.messages.tool_runner(
        model="claude-sonnet-5-5",
        max_tokens=100,
        tools=[example("memory_tool").claude_tool(store)],
        messages=[{"role": "user", "content": "Do bees sleep?"}],
    )
    assert runner.until_done().content[0].text == "Done."
    assert model.asked[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    assert [memory.text for memory in store.list_recent()] == ["Bees sleep at night."]
    refusal = model.asked[2]["messages"][-1]["content"][0]
    assert refusal["is_error"] is True and "no path below" in json.dumps(refusal["content"])
