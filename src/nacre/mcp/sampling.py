"""The client's own model, where the client lends it: what it writes is asked for through the open connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import anyio.from_thread
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    SamplingMessage,
    TextContent,
)

from nacre.errors import LanguageModelError
from nacre.ports import LanguageModel

PATIENCE = 120.0  # seconds: a person may have to allow it
REMEDY = "Repeat without ask_model."


def lent(context: ServerRequestContext[Any, Any]) -> LanguageModel | None:
    """None where the client did not say that it answers, or cannot be asked: the protocol of 2026-07-28 has no way
    back to the client within a call."""
    told = context.session.client_capabilities
    if told is None or told.sampling is None or not context.session.can_send_request:
        return None
    return ClientModel(context)


@dataclass(frozen=True, slots=True)
class ClientModel:
    """Only for the thread that serves the call."""

    context: ServerRequestContext[Any, Any]

    @property
    def identity(self) -> str:
        told = self.context.session.client_params
        return f"of {told.client_info.name}" if told is not None else "of the client"

    def complete(self, prompt: str, *, system: str = "", max_tokens: int = 512) -> str:
        try:
            found = anyio.from_thread.run(self._asked, prompt, system, max_tokens)
        except (MCPError, TimeoutError) as error:
            raise LanguageModelError(self.identity, str(error), REMEDY) from error
        text = found.content.text.strip() if isinstance(found.content, TextContent) else ""
        if not text:
            raise LanguageModelError(self.identity, "it wrote nothing", REMEDY)
        return text

    async def _asked(self, prompt: str, system: str, max_tokens: int) -> CreateMessageResult:
        # Not `create_message`, which warns that sampling is deprecated; the clients of today do have it.
        asked = CreateMessageRequestParams(
            messages=[SamplingMessage(role="user", content=TextContent(text=prompt))],
            system_prompt=system or None,
            max_tokens=max_tokens,
        )
        return await self.context.session.send_request(
            CreateMessageRequest(params=asked),
            CreateMessageResult,
            PATIENCE,
            ServerMessageMetadata(related_request_id=self.context.request_id),
        )
