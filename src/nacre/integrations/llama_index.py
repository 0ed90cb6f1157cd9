"""LlamaIndex's `BaseMemoryBlock`: keeps what leaves the short-term memory, and adds what is relevant to the prompt."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from pydantic import Field

from nacre.integrations import records
from nacre.model.fence import CLOSING
from nacre.recall.pack import estimated_tokens

SPEAKERS = ("user", "assistant")
ITEM = "- "  # begins the line of a memory; further lines of its text are indented


class NacreMemoryBlock(BaseMemoryBlock[str]):
    """Give it to `Memory.from_defaults(memory_blocks=[NacreMemoryBlock(store=store)])`.

    It adds the memories that answer the user's last message, fenced and within `token_budget`, and nothing where none
    does. `options` are of `recall`.
    """

    name: str = "LongTermMemory"
    description: str | None = "What was remembered in earlier conversations."
    priority: int = 1
    store: Any = Field(exclude=True)
    token_budget: int = 800
    options: dict[str, Any] = Field(default_factory=dict)

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:
        asked = [message.content for message in messages or () if message.role.value == "user" and message.content]
        if not asked:
            return ""
        pack = await asyncio.to_thread(
            self.store.recall_pack, asked[-1], token_budget=self.token_budget, fence=True, header="", **self.options
        )
        text: str = pack.text
        return text

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Stores what the user and the assistant said as turns."""
        sessions: dict[str, list[dict[str, Any]]] = {}
        for message in messages:
            if message.role.value in SPEAKERS and (message.content or "").strip():
                session = str(message.additional_kwargs.get("session_id", self.name))
                sessions.setdefault(session, []).append({"text": message.content, "role": message.role.value})
        for session, turns in sessions.items():
            await asyncio.to_thread(records.add_turns, self.store, session, turns)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Without the least relevant memories; the fence stays closed."""
        lines = content.split("\n")
        items = [at for at, line in enumerate(lines) if line.startswith(ITEM)]
        for at in reversed(items[1:]):
            shorter = "\n".join([*lines[:at], CLOSING])
            if estimated_tokens(content) - estimated_tokens(shorter) >= tokens_to_truncate:
                return shorter
        return None
