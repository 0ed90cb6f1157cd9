"""An agent with a long-term memory, on the Anthropic API: ANTHROPIC_API_KEY=… python examples/claude_agent.py"""

from __future__ import annotations

import json
import os
from typing import Any

import anthropic
from agent_tools import INSTRUCTIONS, _dispatch_tool, anthropic_tools, converse

MODEL = os.environ.get("AGENT_MODEL", "claude-sonnet-5-5")
LONGEST_ANSWER = 2048  # tokens
MOST_ROUNDS = 8  # of tool calls; a model that calls for ever is stopped


def answer(client: Any, messages: list[dict[str, Any]]) -> str:
    """Carries out what the model calls until it has said what it wants to say; `messages` grows by all of it."""
    for _ in range(MOST_ROUNDS):
        reply = client.messages.create(
            model=MODEL, max_tokens=LONGEST_ANSWER, system=INSTRUCTIONS, tools=anthropic_tools(), messages=messages
        )
        messages.append({"role": "assistant", "content": reply.content})
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in reply.content if block.type == "text")
        messages.append({"role": "user", "content": [carried_out(call) for call in calls]})
    return "(stopped: too many calls of tools)"


def carried_out(call: Any) -> dict[str, Any]:
    result = _dispatch_tool(call.name, json.dumps(call.input))
    return {"type": "tool_result", "tool_use_id": call.id, "content": result, "is_error": "error" in json.loads(result)}


def main() -> None:
    client, messages = anthropic.Anthropic(), list[dict[str, Any]]()

    def turn(said: str) -> str:
        messages.append({"role": "user", "content": said})
        return answer(client, messages)

    converse(turn)


if __name__ == "__main__":
    main()
