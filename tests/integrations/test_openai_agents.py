"""The session of the OpenAI Agents SDK: items come back, and the real runner with a scripted model uses it."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

import pytest

from nacre import MemoryStore

pytest.importorskip("agents", reason="openai-agents is not installed; `make test-integrations` installs it")

from agents import Agent, ModelResponse, Runner, SQLiteSession, Usage, function_tool, set_tracing_disabled
from agents.memory import Session, SessionSettings
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from nacre.integrations.openai_agents import NacreSession

set_tracing_disabled(True)
IMAGE = f"data:image/png;base64,{secrets.token_urlsafe(300)}"
ITEMS: list[Any] = [
    {"role": "user", "content": "My goat Berta eats thistles.\n"},
    {"type": "reasoning", "id": f"rs_{secrets.token_hex(24)}", "summary": [],
     "encrypted_content": secrets.token_urlsafe(900)},
    {"type": "function_call", "call_id": f"call_{secrets.token_urlsafe(18)}", "name": "weigh", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_1", "output": "41 kg"},
    {"type": "function_call_output", "call_id": "call_2", "output": ""},
    {"type": "message", "role": "assistant", "status": "completed", "id": f"msg_{secrets.token_hex(24)}",
     "content": [{"type": "output_text", "text": "Berta weighs 41 kg.", "annotations": []}]},
    {"role": "user", "content": [{"type": "input_image", "image_url": IMAGE},
                                 {"type": "input_text", "text": "This is Berta."}]},
]  # fmt: skip


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(":memory:", embedder="hashing")


def done(coroutine: Any) -> Any:
    return asyncio.run(coroutine)


def test_items_come_back_as_in_the_sdks_own_session(store: MemoryStore) -> None:
    ours, reference = NacreSession("s", store), SQLiteSession("s")
    assert isinstance(ours, Session)
    for session in (ours, reference):
        done(session.add_items(ITEMS[:3]))
        done(session.add_items(ITEMS[3:]))
        done(session.add_items([]))
    for limit in (None, 1, 3, 99, 0):
        assert done(ours.get_items(limit)) == done(reference.get_items(limit))
    assert done(ours.get_items()) == ITEMS
    assert done(ours.pop_item()) == done(reference.pop_item()) == ITEMS[-1]
    assert done(ours.get_items()) == ITEMS[:-1]
    done(ours.add_items(ITEMS[:1]))
    assert done(ours.get_items(2)) == [ITEMS[-2], ITEMS[0]]
    done(ours.clear_session())
    assert done(ours.get_items()) == [] and done(ours.pop_item()) is None
    store.undo()
    assert done(ours.get_items()) == [*ITEMS[:-1], ITEMS[0]]


def test_sessions_are_apart_and_settings_limit_them(store: MemoryStore) -> None:
    one = NacreSession("one", store, session_settings=SessionSettings(limit=2))
    done(one.add_items(ITEMS))
    done(NacreSession("two", store).add_items(ITEMS[:1]))
    assert done(one.get_items()) == ITEMS[-2:]
    assert done(NacreSession("two", store).get_items()) == ITEMS[:1]


def test_what_was_said_is_recalled_later_and_tool_calls_are_not(store: MemoryStore) -> None:
    done(NacreSession("s", store).add_items(ITEMS))
    recalled = [hit.memory.text for hit in store.recall("What does the goat Berta eat?", 10, min_relevance=0.0)]
    assert recalled[0] == "My goat Berta eats thistles."
    assert store.count() == 3 and "41 kg" not in recalled


def test_secrets_are_removed(store: MemoryStore) -> None:
    secret = "-".join(("sk", "proj", secrets.token_urlsafe(60)))
    session = NacreSession("s", store)
    done(session.add_items([{"role": "user", "content": f"My key is {secret}."}]))
    assert secret not in str(done(session.get_items()))


class Scripted(Model):
    """Says what it is told to say, and keeps what it was asked."""

    def __init__(self, *outputs: Any) -> None:
        self.outputs = list(outputs)
        self.asked: list[Any] = []

    async def get_response(self, *_: Any, input: Any, **__: Any) -> ModelResponse:
        self.asked.append(input)
        return ModelResponse(output=[self.outputs.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def says(text: str) -> ResponseOutputMessage:
    content: list[Any] = [ResponseOutputText(type="output_text", text=text, annotations=[])]
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=content)


def test_the_real_runner_continues_a_conversation_with_a_tool_call(store: MemoryStore) -> None:
    @function_tool
    def weigh() -> str:
        """Weighs the goat."""
        return "41 kg"

    call = ResponseFunctionToolCall(type="function_call", call_id="c1", name="weigh", arguments="{}")
    model = Scripted(call, says("41 kg."), says("Berta."))
    agent = Agent(name="farmer", model=model, tools=[weigh])
    for said in ("How heavy is Berta?", "Whom did you weigh?"):
        done(Runner.run(agent, said, session=NacreSession("s", store)))
    kinds = [item.get("type", item.get("role")) for item in model.asked[-1]]
    assert kinds == ["user", "function_call", "function_call_output", "message", "user"]
    assert model.asked[-1][2]["output"] == "41 kg"
