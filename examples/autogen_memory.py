"""AutoGen's memory protocol on a store, without a model: python examples/autogen_memory.py"""

from __future__ import annotations

import asyncio

from autogen_core.memory import MemoryContent, MemoryMimeType
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import UserMessage

from nacre import MemoryStore
from nacre.integrations.autogen import NacreMemory


async def story(store: MemoryStore) -> None:
    memory = NacreMemory(store)  # for an agent: AssistantAgent("farmer", model_client=…, memory=[memory])
    await memory.add(MemoryContent(content="Berta eats thistles.", mime_type=MemoryMimeType.TEXT))
    context = UnboundedChatCompletionContext()
    await context.add_message(UserMessage(content="What does Berta eat?", source="user"))
    await memory.update_context(context)
    print("thistles" in str((await context.get_messages())[-1].content))


def main(path: str = "agent.db") -> None:
    with MemoryStore(path, actor="autogen") as store:
        asyncio.run(story(store))


if __name__ == "__main__":
    main()
