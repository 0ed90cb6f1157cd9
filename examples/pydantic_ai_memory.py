"""A Pydantic AI agent with a long-term memory: AGENT_MODEL=anthropic:… python examples/pydantic_ai_memory.py"""

from __future__ import annotations

import os

from pydantic_ai import Agent

from nacre import MemoryStore
from nacre.integrations.pydantic_ai import NacreToolset


def main(path: str = "agent.db") -> None:
    with MemoryStore(path, actor="pydantic-ai") as store:
        # The model "test" calls every tool once with made-up arguments.
        agent = Agent(os.environ.get("AGENT_MODEL", "test"), toolsets=[NacreToolset(store)])
        agent.run_sync("I drink green tea. What do you know about me?")
        print("remembered:", *[memory.text for memory in store.list_recent()])


if __name__ == "__main__":
    main()
