"""Makes the server for a profile: its tools, the resources and the prompts, on the SDK's low-level server.

The SDK's MCPServer would make a model for each tool and its own log before it answers (45 ms of processor time instead
of 2), write longer schemas, and put its own words before every error.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import anyio.to_thread
import mcp_types as types
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, ToolAnnotations
from mcp_types import Tool as ListedTool

from nacre import __version__
from nacre.errors import InvalidInput, MemoryNotFound, NacreError, UnknownName
from nacre.mcp.calls import RESULT, Context, as_json, call, client_of, workers
from nacre.mcp.records import full_line, listing
from nacre.mcp.store_provider import StoreProvider
from nacre.mcp.tool import Profile, Schema, Tool, input_schema, record, without_commands
from nacre.model.fence import fenced

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore

NAME = "nacre"
ALWAYS_LOAD = "anthropic/alwaysLoad"  # Claude Code defers other tools until it has searched for them


def make_server(profile: Profile, provider: StoreProvider) -> Server[Any]:
    resources, prompts = Resources(profile, provider), Prompts(provider)

    async def list_tools(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:  # noqa: ARG001
        refuse_cursor(params)
        provider.prepare()
        return tool_list(profile)

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        return await call(profile, provider, context, params.name, params.arguments or {})

    return Server(
        NAME,
        version=__version__,
        instructions=profile.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=resources.list,
        on_list_resource_templates=resources.templates,
        on_read_resource=resources.read,
        on_list_prompts=prompts.list,
        on_get_prompt=prompts.get,
    )


def refuse_cursor(params: PaginatedRequestParams | None) -> None:
    if params is not None and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, f"Unknown cursor {params.cursor!r}; every list is complete without one.")


def tool_list(profile: Profile) -> ListToolsResult:
    return ListToolsResult(tools=[describe(tool) for tool in profile.tools])


def describe(tool: Tool) -> ListedTool:
    reads = tool.effect == "reads"
    hints = ToolAnnotations(
        read_only_hint=reads, destructive_hint=tool.effect == "removes", idempotent_hint=reads or tool.idempotent,
        open_world_hint=False,
    )  # fmt: skip
    return ListedTool(
        name=tool.name,
        title=tool.name.replace("_", " ").capitalize(),
        description=tool.about,
        input_schema=input_schema(tool.run, tool.arguments),
        output_schema=listed_output(tool.returns),
        annotations=hints,
        _meta={ALWAYS_LOAD: True} if tool.always else None,
    )


def listed_output(returns: Schema | None) -> Schema | None:
    """The protocol needs objects, so that other results are returned under a name."""
    return returns if returns is None or returns.get("type") == "object" else record(**{RESULT: returns})


@dataclass(frozen=True, slots=True)
class Cost:
    """`tokens` of the whole description; `schema` is the part of these that describes results."""

    name: str
    tokens: int
    schema: int
    about: str


def costs(profile: Profile) -> list[Cost]:
    from nacre.recall.pack import estimated_tokens

    rows = []
    for tool in profile.tools:
        listed = describe(tool)
        read = {"name": tool.name, "description": tool.about, "input_schema": listed.input_schema}
        text = as_json({**read, "output_schema": listed.output_schema} if listed.output_schema else read)
        schema = estimated_tokens(as_json(listed.output_schema)) if listed.output_schema else 0
        rows.append(Cost(tool.name, estimated_tokens(text), schema, tool.about))
    return rows


BUDGET = 800
NOTHING_YET = "Nothing is remembered about it yet."


@cache
def described_prompts() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("prompts.toml").read_text("utf-8"))


class Prompts:
    def __init__(self, provider: StoreProvider) -> None:
        self._provider = provider

    async def list(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:  # noqa: ARG002
        refuse_cursor(params)
        prompts = [
            types.Prompt(name=name, description=each["about"], arguments=[types.PromptArgument(**each["argument"])])
            for name, each in described_prompts().items()
        ]
        return types.ListPromptsResult(prompts=prompts)

    async def get(self, context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        arguments, described = params.arguments or {}, described_prompts()
        try:
            UnknownName.check("prompt", params.name, described)
            text, argument = described[params.name]["text"], described[params.name]["argument"]
            for name in arguments:
                UnknownName.check(f"argument of {params.name}", name, [argument["name"]])
            if argument["required"] and not arguments.get(argument["name"], "").strip():
                raise InvalidInput(f"{params.name} needs {argument['name']!r}; say what the session is about.")
            if params.name == "end_session":
                return user_message(text.format(about=arguments.get("about", "")).strip())
            task, store = arguments.get("task", ""), partial(self._provider.store, client_of(context))
            packed = await anyio.to_thread.run_sync(
                lambda: store().recall_pack(task, token_budget=BUDGET, fence=True, ids=True), limiter=workers()
            )
        except NacreError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        return user_message(text.format(task=task, known=packed.text or NOTHING_YET))


def user_message(text: str) -> types.GetPromptResult:
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=types.TextContent(text=text))])


PLAIN, JSON = "text/plain", "application/json"
RECENT = "nacre://recent"
STATS = "nacre://stats"
MEMORY = re.compile(r"nacre://memory/(.+)\Z")
NEWEST = 20
EMPTY = "Nothing is remembered yet."


class Resources:
    def __init__(self, profile: Profile, provider: StoreProvider) -> None:
        self._profile, self._provider = profile, provider

    async def list(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:  # noqa: ARG002
        refuse_cursor(params)
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=RECENT, name="recent", description="The newest memories.", mime_type=PLAIN),
                types.Resource(uri=STATS, name="stats", description="What is remembered, counted.", mime_type=JSON),
            ]
        )

    async def templates(
        self,
        context: Context,  # noqa: ARG002
        params: types.PaginatedRequestParams | None,
    ) -> types.ListResourceTemplatesResult:
        refuse_cursor(params)
        one = types.ResourceTemplate(
            uri_template="nacre://memory/{id}", name="memory", description="One memory by its id.", mime_type=PLAIN
        )
        return types.ListResourceTemplatesResult(resource_templates=[one])

    async def read(self, context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            kind, text = await anyio.to_thread.run_sync(partial(self._read, uri, client_of(context)), limiter=workers())
        except NacreError as error:
            sentence = without_commands(self._profile, str(error))
            raise MCPError(types.INVALID_PARAMS, sentence, {"uri": uri}) from error
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=text, mime_type=kind)])

    def _read(self, uri: str, client: str) -> tuple[str, str]:
        """The type of the content, and the content."""
        one = MEMORY.match(uri)
        if one is None and uri not in (RECENT, STATS):
            raise MemoryNotFound(uri, self._provider.store(client).space)
        store = self._provider.store(client)
        if one is not None:
            (stored,) = store.get_many([store.resolve_id(unquote(one[1]))])
            return PLAIN, fenced([full_line(store.clean(stored))])
        if uri == RECENT:
            return PLAIN, recent(store)
        counted = asdict(store.stats())
        del counted["top_tags"]  # the names are words of memories, and JSON has no fence
        return JSON, as_json(counted)


def recent(store: MemoryStore) -> str:
    return listing(map(store.clean, store.list_recent(NEWEST)), EMPTY)
