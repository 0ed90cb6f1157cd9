"""Claude with Anthropic's memory tool on a store: ANTHROPIC_API_KEY=… python examples/memory_tool.py

The space is the one that the settings name, else `default`.
"""

from __future__ import annotations

import os

from nacre import MemoryStore
from nacre.integrations.anthropic import claude_tool
from nacre.settings import settings


def main() -> None:
    import anthropic

    store = MemoryStore(settings=settings(), actor="memory-tool")
    runner = anthropic.Anthropic().beta.messages.tool_runner(
        model=os.environ.get("AGENT_MODEL", "claude-sonnet-5-5"),
        max_tokens=2048,
        tools=[claude_tool(store)],
        messages=[{"role": "user", "content": input("you> ")}],
    )
    for block in runner.until_done().content:
        print(getattr(block, "text", ""), flush=True)


if __name__ == "__main__":
    main()
