"""An agent with a long-term memory, on the OpenAI API: OPENAI_API_KEY=… python examples/openai_agent.py"""

from __future__ import annotations

import os
from typing import Any

import openai
from agent_tools import INSTRUCTIONS, _dispatch_tool, converse, openai_tools

MODEL = os.environ.get("AGENT_MODEL", "gpt-5-mini")
MOST_ROUNDS = 8  # of tool calls; a model that calls for ever is stopped


def answer(client: Any, messages: list[dict[str, Any]], model: str = MODEL) -> str:
    """Carries out what the model calls until it has said what it wants to say; `messages` grows by all of it."""
    for _ in range(MOST_ROUNDS):
        created = client.chat.completions.create(model=model, tools=openai_tools(), messages=messages)
        reply = created.choices[0].message
        calls = reply.tool_calls or []
        messages.append({"role": "assistant", "content": reply.content, **called(calls)})
        if not calls:
            return reply.content or ""
        for call in calls:
            result = _dispatch_tool(call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    return "(stopped: too many calls of tools)"


def called(calls: list[Any]) -> dict[str, Any]:
    tool_calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.function.name, "arguments": call.function.arguments},
        }
        for call in calls
    ]
    return {"tool_calls": tool_calls} if tool_calls else {}


def chat(client: Any, model: str = MODEL) -> None:
    messages: list[dict[str, Any]] = [{"role": "system", "content": INSTRUCTIONS}]

    def turn(said: str) -> str:
        messages.append({"role": "user", "content": said})
        return answer(client, messages, model)

    converse(turn)


def main() -> None:
    chat(openai.OpenAI())


if __name__ == "__main__":
    main()
