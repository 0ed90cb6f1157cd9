"""A session of OpenAI Agents that later sessions recall: OPENAI_API_KEY=… python examples/openai_agents_session.py"""

from __future__ import annotations

import asyncio
import sys

from agents import Agent, Runner

from nacre import MemoryStore
from nacre.integrations.openai_agents import NacreSession


def main(path: str = "agent.db") -> None:
    """What a session stores, and what a later one can recall; without a model."""
    with MemoryStore(path, actor="openai-agents") as store:
        session = NacreSession("monday", store)
        asyncio.run(session.add_items([{"role": "user", "content": "My goat Berta eats thistles."}]))
        print([hit.memory.text for hit in store.recall("What does Berta eat?")])


async def chat(path: str = "agent.db") -> None:
    with MemoryStore(path, actor="openai-agents") as store:
        agent = Agent(name="farmer")
        while said := input("you> ").strip():
            known = store.recall_pack(said, fence=True).text
            agent.instructions = f"You are a helpful farmer.\n{known}"
            result = await Runner.run(agent, said, session=NacreSession("today", store))
            print(result.final_output)


if __name__ == "__main__":
    asyncio.run(chat()) if "chat" in sys.argv else main()
