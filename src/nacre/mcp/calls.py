"""Runs a tool call: checks the arguments, runs the tool in a thread, and makes the answer or the error.

A tool may use the language model of the client through sampling, where the client offers it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import ValidationError

from nacre.errors import LanguageModelError, NacreError, UnknownName
from nacre.mcp.store_provider import StoreProvider
from nacre.mcp.tool import Answer, Profile, Tool, ToolResult, ToolSession, without_commands
from nacre.model.fence import escaped, json_line
from nacre.model.memory import Json
from nacre.protocols import LanguageModel, Progress, is_cancelled, own_batches

if TYPE_CHECKING:
    from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata

SAMPLING_SECONDS = 120.0  # a person may have to allow it
SAMPLING_REMEDY = "Repeat without ask_model."


def client_model(context: ServerRequestContext[Any, Any]) -> LanguageModel | None:
    """None where the client offers no sampling, or the protocol has none: that of 2026-07-28 sends no request to the
    client during a call."""
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.sampling is None or not context.session.can_send_request:
        return None
    return ClientModel(context)


@dataclass(frozen=True, slots=True)
class ClientModel:
    """Only for the thread that serves the call."""

    context: ServerRequestContext[Any, Any]

    @property
    def identity(self) -> str:
        params = self.context.session.client_params
        return f"of {params.client_info.name}" if params is not None else "of the client"

    def complete(self, prompt: str, *, system: str = "", max_tokens: int = 512) -> str:
        try:
            message = anyio.from_thread.run(self._sample, prompt, system, max_tokens)
        except (MCPError, TimeoutError) as error:
            raise LanguageModelError(self.identity, str(error), SAMPLING_REMEDY) from error
        text = message.content.text.strip() if isinstance(message.content, types.TextContent) else ""
        if not text:
            raise LanguageModelError(self.identity, "it returned no text", SAMPLING_REMEDY)
        return text

    async def _sample(self, prompt: str, system: str, max_tokens: int) -> types.CreateMessageResult:
        # Not `create_message`, which warns that sampling is deprecated; today's clients have it.
        params = types.CreateMessageRequestParams(
            messages=[types.SamplingMessage(role="user", content=types.TextContent(text=prompt))],
            system_prompt=system or None,
            max_tokens=max_tokens,
        )
        return await self.context.session.send_request(
            types.CreateMessageRequest(params=params),
            types.CreateMessageResult,
            SAMPLING_SECONDS,
            ServerMessageMetadata(related_request_id=self.context.request_id),
        )


log = logging.getLogger("nacre")

Context = ServerRequestContext[Any, Any]

WORKERS = 8  # calls at once: each has its own connection, and more would only wait for the processor
PROGRESS_SECONDS = 0.1  # between two notifications of progress: a client shows them to a person
RESULT = "result"
OTHER_NAMES = {"q": "query", "limit": "k", "k": "limit", "n": "k", "top_k": "k", "content": "text", "memory_id": "id"}
DATA = "nacre/result"  # in `_meta`: what a program needs of an answer; clients do not show it to a model


@cache
def workers() -> anyio.CapacityLimiter:
    return anyio.CapacityLimiter(WORKERS)


async def call(
    profile: Profile, provider: StoreProvider, context: Context, name: str, values: Mapping[str, Any]
) -> types.CallToolResult:
    try:
        tool = tool_named(profile, name)
        arguments = check_arguments(tool, values)
        return tool_result(profile, await run_in_thread(partial(run, tool, provider, context, arguments)))
    except NacreError as error:
        return error_result(profile, without_commands(profile, str(error)))
    except ValidationError as error:
        return error_result(profile, argument_errors(name, error))
    except Exception as error:  # a server that dies takes every other call with it
        log.exception("The tool %s failed.", name)
        return error_result(profile, f"{name} failed unexpectedly ({type(error).__name__}); see the server's log.")


async def run_in_thread(work: Callable[[], ToolResult]) -> ToolResult:
    """What a client cancels writes nothing, unless it has begun to."""
    cancelled = False

    def in_thread() -> ToolResult:
        is_cancelled.set(lambda: cancelled)
        return work()

    try:
        return await anyio.to_thread.run_sync(in_thread, limiter=workers(), abandon_on_cancel=True)
    except anyio.get_cancelled_exc_class():
        cancelled = True
        raise


def tool_named(profile: Profile, name: str) -> Tool:
    return UnknownName.get("tool", name, {tool.name: tool for tool in profile.tools})


def check_arguments(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns them in the types of the signature. An argument that the tool does not have is an error."""
    expected = metadata(tool.run)
    known = [field.alias or name for name, field in expected.arg_model.model_fields.items()]
    arguments = {meant(name, known, arguments): value for name, value in arguments.items()}
    for name in arguments:
        UnknownName.check(f"argument of {tool.name}", name, known)
    return expected.validate_arguments({name: value for name, value in arguments.items() if value is not None})


def meant(name: str, known: Collection[str], arguments: Collection[str]) -> str:
    """The tool's own name for an argument that models often call otherwise."""
    other = OTHER_NAMES.get(name, name)
    return other if name not in known and other in known and other not in arguments else name


@cache
def metadata(function: Callable[..., ToolResult]) -> FuncMetadata:
    from mcp.server.mcpserver.utilities.func_metadata import func_metadata

    return func_metadata(function, skip_names=["session"], structured_output=False)


def argument_errors(name: str, error: ValidationError) -> str:
    faults = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_url=False)]
    return f"{name} was called with wrong arguments ({'; '.join(faults)}); correct them and repeat."


def run(tool: Tool, provider: StoreProvider, context: Context, arguments: Mapping[str, Any]) -> ToolResult:
    own_batches.set(provider.batches)
    session = ToolSession(provider.store(client_of(context)), progress_reporter(context), client_model(context))
    result = tool.run(session, **arguments)
    if tool.effect != "reads":
        provider.written()
    return result


def client_of(context: Context) -> str:
    params = context.session.client_params
    return params.client_info.name if params is not None else ""


def progress_reporter(context: Context) -> Progress:
    last = 0.0

    def report(done: int, total: int, what: str) -> None:
        nonlocal last
        now = time.monotonic()
        if done >= total or now - last >= PROGRESS_SECONDS:
            last = now
            anyio.from_thread.run(context.session.report_progress, float(done), float(total), what)

    return report


def tool_result(profile: Profile, result: ToolResult) -> types.CallToolResult:
    if isinstance(result, Answer):
        notes = (escaped(without_commands(profile, note)) for note in result.notes)  # ours, so outside the fence
        text = types.TextContent(text="\n".join((result.text, *notes)))
        return types.CallToolResult(content=[text], _meta={DATA: dict(result.data)})
    data: dict[str, Json] = {RESULT: result} if isinstance(result, list) else dict(result)
    return types.CallToolResult(content=[types.TextContent(text=as_json(result))], structured_content=data)


def error_result(profile: Profile, sentence: str) -> types.CallToolResult:
    if profile.refusing is None:
        return types.CallToolResult(content=[types.TextContent(text=escaped(sentence, keep_lines=True))], is_error=True)
    data = dict(profile.refusing(sentence))
    return types.CallToolResult(content=[types.TextContent(text=as_json(data))], structured_content=data, is_error=True)


def as_json(value: object) -> str:
    return json_line(value, separators=(",", ":"))
