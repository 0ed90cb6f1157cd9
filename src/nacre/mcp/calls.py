"""The client's own model, where the client lends it: what it writes is asked for through the open connection."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
import anyio.to_thread
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    SamplingMessage,
    TextContent,
)
from pydantic import ValidationError

from nacre.errors import LanguageModelError, NacreError, UnknownName
from nacre.mcp.store_provider import StoreProvider
from nacre.mcp.tool import Answer, Profile, Tool, ToolResult, ToolSession
from nacre.model.fence import escaped, json_line
from nacre.model.memory import Json
from nacre.protocols import LanguageModel

if TYPE_CHECKING:
    from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata

    from nacre.protocols import Progress

SAMPLING_SECONDS = 120.0  # seconds: a person may have to allow it
SAMPLING_REMEDY = "Repeat without ask_model."


def client_model(context: ServerRequestContext[Any, Any]) -> LanguageModel | None:
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
            raise LanguageModelError(self.identity, str(error), SAMPLING_REMEDY) from error
        text = found.content.text.strip() if isinstance(found.content, TextContent) else ""
        if not text:
            raise LanguageModelError(self.identity, "it wrote nothing", SAMPLING_REMEDY)
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
            SAMPLING_SECONDS,
            ServerMessageMetadata(related_request_id=self.context.request_id),
        )


log = logging.getLogger("nacre")

Context = ServerRequestContext[Any, Any]

WORKERS = 8  # calls at work at once: each has a connection of its own, and more would only wait for the processor
PROGRESS_SECONDS = 0.1  # between two notifications of progress: a client shows them to a person
RESULT = "result"


@cache
def workers() -> anyio.CapacityLimiter:
    return anyio.CapacityLimiter(WORKERS)


async def call(
    profile: Profile, provider: StoreProvider, context: Context, name: str, given: Mapping[str, Any]
) -> CallToolResult:
    try:
        tool = tool_named(profile, name)
        arguments = check_arguments(tool, given)
        found = await anyio.to_thread.run_sync(partial(run, tool, provider, context, arguments), limiter=workers())
        return tool_result(found)
    except NacreError as error:
        return error_result(profile, str(error))
    except ValidationError as error:
        return error_result(profile, argument_errors(name, error))
    except Exception as error:  # whatever it is: a server that dies takes every other call with it
        log.exception("The tool %s failed.", name)
        return error_result(
            profile, f"{name} failed unexpectedly ({type(error).__name__}); the server's log tells more."
        )


def tool_named(profile: Profile, name: str) -> Tool:
    known = {tool.name: tool for tool in profile.tools}
    if name not in known:
        raise UnknownName("tool", name, known)
    return known[name]


def check_arguments(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    """In the types of the signature; a word that the tool does not know is an error, for it was meant to matter."""
    expected = metadata(tool.run)
    known = [field.alias or name for name, field in expected.arg_model.model_fields.items()]
    for name in given:
        if name not in known:
            raise UnknownName(f"argument of {tool.name}", name, known)
    return expected.validate_arguments({name: value for name, value in given.items() if value is not None})


@cache
def metadata(function: Callable[..., ToolResult]) -> FuncMetadata:
    from mcp.server.mcpserver.utilities.func_metadata import func_metadata

    return func_metadata(function, skip_names=["session"], structured_output=False)


def argument_errors(name: str, error: ValidationError) -> str:
    faults = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_url=False)]
    return f"{name} was called with arguments that do not fit ({'; '.join(faults)}); mend them and repeat."


def run(tool: Tool, provider: StoreProvider, context: Context, arguments: Mapping[str, Any]) -> ToolResult:

    return tool.run(
        ToolSession(provider.store(client_of(context)), progress_reporter(context), client_model(context)), **arguments
    )


def client_of(context: Context) -> str:
    told = context.session.client_params
    return told.client_info.name if told is not None else ""


def progress_reporter(context: Context) -> Progress:
    last = 0.0

    def report(done: int, total: int, what: str) -> None:
        nonlocal last
        now = time.monotonic()
        if done >= total or now - last >= PROGRESS_SECONDS:
            last = now
            anyio.from_thread.run(context.session.report_progress, float(done), float(total), what)

    return report


def tool_result(found: ToolResult) -> CallToolResult:
    if isinstance(found, Answer):
        return CallToolResult(content=[TextContent(text=found.text)], structured_content=dict(found.data))
    data: dict[str, Json] = {RESULT: found} if isinstance(found, list) else dict(found)
    return CallToolResult(content=[TextContent(text=as_json(found))], structured_content=data)


def error_result(profile: Profile, sentence: str) -> CallToolResult:
    if profile.refusing is None:
        return CallToolResult(content=[TextContent(text=escaped(sentence, keep_lines=True))], is_error=True)
    told = dict(profile.refusing(sentence))
    return CallToolResult(content=[TextContent(text=as_json(told))], structured_content=told, is_error=True)


def as_json(value: object) -> str:
    return json_line(value, separators=(",", ":"))
