"""AutoGen's `Memory`: adds what is relevant to an agent's model context."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Self

from autogen_core import CancellationToken, Component
from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import SystemMessage
from pydantic import BaseModel

from nacre.errors import InvalidInput
from nacre.integrations import records
from nacre.memory_store import MemoryStore
from nacre.model import Hit


class NacreMemoryConfig(BaseModel):
    path: str | None = None
    space: str | None = None
    k: int = 5


class NacreMemory(Memory, Component[NacreMemoryConfig]):
    """Give it to `AssistantAgent(memory=[NacreMemory(store)])`.

    The memories that answer the last message are added to the model context, fenced. `query` returns what was stored.
    `close` leaves the store open, since others may use it.
    """

    component_type = "memory"
    component_provider_override = "nacre.integrations.autogen.NacreMemory"
    component_config_schema = NacreMemoryConfig

    def __init__(self, store: MemoryStore, *, k: int = 5, config: NacreMemoryConfig | None = None) -> None:
        self.store = store
        self.k = k
        self._config = config

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        messages = await model_context.get_messages()
        asked = messages[-1].content if messages else ""
        hits = await self._hits(asked if isinstance(asked, str) else "", self.k)
        if hits:
            await model_context.add_message(SystemMessage(content=records.fenced_hits(hits)))
        return UpdateContextResult(memories=MemoryQueryResult(results=list(map(content_of, hits))))

    async def query(
        self,
        query: str | MemoryContent,
        cancellation_token: CancellationToken | None = None,  # noqa: ARG002 - a recall takes milliseconds
        **kwargs: Any,
    ) -> MemoryQueryResult:
        """`kwargs` are of `recall`; `k` among them is the number of memories."""
        text = query if isinstance(query, str) else words_of(query)
        hits = await self._hits(text, kwargs.pop("k", self.k), **kwargs)
        return MemoryQueryResult(results=list(map(content_of, hits)))

    async def add(self, content: MemoryContent, cancellation_token: CancellationToken | None = None) -> None:  # noqa: ARG002
        """Stores text and JSON. Raises `InvalidInput` for images and other bytes."""
        about: dict[str, Any] = {"mime_type": str(content.serialize_mime_type(content.mime_type))}
        if isinstance(content.content, dict):
            about["content"] = content.content
        metadata = {**(content.metadata or {}), "autogen": about}
        await asyncio.to_thread(self.store.remember, words_of(content), metadata=metadata)

    async def clear(self) -> None:
        """Moves all memories of the space to the trash, in one operation that `undo` takes back."""
        await asyncio.to_thread(lambda: self.store.forget(*(memory.id for memory in self.store.iterate())))

    async def close(self) -> None: ...

    def _to_config(self) -> NacreMemoryConfig:
        if self._config is None:
            raise InvalidInput("An open store cannot be written as configuration; use NacreMemory.load_component.")
        return self._config

    @classmethod
    def _from_config(cls, config: NacreMemoryConfig) -> Self:
        store = MemoryStore(config.path, space=config.space, actor="autogen")
        return cls(store, k=config.k, config=config)

    async def _hits(self, query: str, k: int, **options: Any) -> list[Hit]:
        if not query.strip():
            return []
        return list(await asyncio.to_thread(lambda: self.store.recall(query, k, **options)))


def words_of(content: MemoryContent) -> str:
    if isinstance(content.content, str):
        return content.content
    if isinstance(content.content, dict):
        return json.dumps(content.content, ensure_ascii=False)
    raise InvalidInput("Nacre remembers text and JSON, not images or bytes; describe it in words.")


def content_of(hit: Hit) -> MemoryContent:
    memory = hit.memory
    stored: Any = memory.metadata.get("autogen")
    about = stored if isinstance(stored, dict) else {}
    metadata = {key: value for key, value in records.own_metadata(memory).items() if key != "autogen"}
    return MemoryContent(
        content=about.get("content", memory.text),
        mime_type=about.get("mime_type", MemoryMimeType.TEXT),
        metadata={**metadata, "id": memory.id, "relevance": round(hit.relevance, 4), "trust": memory.trust},
    )
