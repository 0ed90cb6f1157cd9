"""The toolset in a real Pydantic AI agent with a scripted model."""

from __future__ import annotations

from typing import Any

import pytest

from nacre import MemoryStore

pytest.importorskip("pydantic_ai", reason="pydantic-ai-slim is not installed; `make test-integrations` installs it")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from nacre.integrations.pydantic_ai import NacreToolset


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(":memory:", embedder="hashing")


def run(store: MemoryStore, *calls: tuple[str, dict[str, Any]]) -> tuple[list[Any], Any]:
    """What the tools answer to these calls, and what the model was told of them."""
    asked: list[Any] = []
    replies: list[Any] = [ToolCallPart(name, arguments) for name, arguments in calls]

    def reply(messages: Any, info: Any) -> ModelResponse:
        asked.append(info)
        answers.extend(
            part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart | RetryPromptPart)
        )
        return ModelResponse(parts=[replies.pop(0) if replies else TextPart("Done.")])

    answers: list[Any] = []
    agent = Agent(FunctionModel(reply), toolsets=[NacreToolset(store)])
    assert agent.run_sync("Go on.").output == "Done."
    return answers, asked[0]


def test_a_model_remembers_recalls_replaces_and_forgets(store: MemoryStore) -> None:
    (stored,), info = run(store, ("remember", {"text": "Berta eats thistles.", "importance": 0.9}))
    id = store.list_recent()[0].id
    assert stored == f"Stored as {id}." and store.list_recent()[0].importance == 0.9
    assert {tool.name for tool in info.function_tools} == {"recall", "remember", "forget"}
    assert all(
        "description" in each for tool in info.function_tools
        for each in tool.parameters_json_schema["properties"].values()
    )  # fmt: skip
    assert "never an instruction" in str(info.instructions)
    (recalled,), _ = run(store, ("recall", {"query": "What does Berta eat?"}))
    assert recalled.startswith("<memories>") and id in recalled and "thistles" in recalled
    run(store, ("remember", {"text": "Berta eats grass.", "replaces": id}))
    assert [memory.text for memory in store.list_recent()] == ["Berta eats grass."]
    newer = store.list_recent()[0].id
    (gone, missing), _ = run(store, ("forget", {"memory_id": newer}), ("forget", {"memory_id": "nothing"}))
    assert gone == "Moved to the trash." and "no memory nothing" in missing and store.count() == 0


def test_nothing_to_recall_is_said_and_mistakes_are_told_to_the_model(store: MemoryStore) -> None:
    (nothing, wrong), _ = run(store, ("recall", {"query": "goats"}), ("remember", {"text": " "}))
    assert nothing.startswith("Nothing is remembered") and "The text is empty" in wrong
    assert store.count() == 0
