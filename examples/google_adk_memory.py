"""A memory service for Google ADK, without a model: python examples/google_adk_memory.py"""

from __future__ import annotations

import asyncio

from google.adk.events.event import Event
from google.genai.types import Content, Part

from nacre import MemoryStore
from nacre.integrations.google_adk import NacreMemoryService


async def story(store: MemoryStore) -> None:
    # For an agent: Runner(agent=LlmAgent(…, tools=[preload_memory]), memory_service=service, …)
    service = NacreMemoryService(store)
    said = Event(author="user", content=Content(role="user", parts=[Part(text="My goat Berta eats thistles.")]))
    await service.add_events_to_memory(app_name="farm", user_id="ann", session_id="monday", events=[said])
    answer = await service.search_memory(app_name="farm", user_id="ann", query="What does Berta eat?")
    print([memory.content.parts[0].text for memory in answer.memories])


def main(path: str = "agent.db") -> None:
    with MemoryStore(path, actor="adk") as store:
        asyncio.run(story(store))


if __name__ == "__main__":
    main()
