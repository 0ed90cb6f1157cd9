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
from nacre.errors import MemoryNotFound, NacreError, UnknownName
from nacre.mcp.calls import RESULT, Context, as_json, call, client_of, workers
from nacre.mcp.records import brief_record, listing
from nacre.mcp.store_provider import StoreProvider
from nacre.mcp.tool import Profile, Tool, input_schema, record

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore

NAME = "nacre"


def make_server(profile: Profile, provider: StoreProvider) -> Server[Any]:
    resources, prompts = Resources(provider), Prompts(provider)

    async def list_tools(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:  # noqa: ARG001
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


def tool_list(profile: Profile) -> ListToolsResult:
    return ListToolsResult(tools=[describe(tool) for tool in profile.tools])


def describe(tool: Tool) -> ListedTool:
    output = tool.returns if tool.returns.get("type") == "object" else record(**{RESULT: tool.returns})
    reads, removes = tool.effect == "reads", tool.effect == "removes"
    hints = ToolAnnotations(read_only_hint=True) if reads else ToolAnnotations(destructive_hint=removes)
    arguments = input_schema(tool.run, tool.arguments)
    return ListedTool(
        name=tool.name, description=tool.about, input_schema=arguments, output_schema=output, annotations=hints
    )


CHARACTERS_A_TOKEN = 4  # English prose and JSON with the common tokenizers


@dataclass(frozen=True, slots=True)
class Cost:
    """`schema` is the part that describes results; many clients do not pass it to the model."""

    name: str
    tokens: int
    schema: int
    about: str


def costs(profile: Profile) -> list[Cost]:
    rows = []
    for tool in profile.tools:
        listed = describe(tool)
        text = as_json(listed.model_dump(by_alias=True, mode="json", exclude_none=True))
        rows.append(Cost(tool.name, tokens(text), tokens(as_json(listed.output_schema)), tool.about))
    return rows


def tokens(text: str) -> int:
    return max(1, round(len(text) / CHARACTERS_A_TOKEN))


BUDGET = 800
NOTHING_YET = "Nothing is remembered about it yet."


@cache
def described_prompts() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("prompts.toml").read_text("utf-8"))


class Prompts:
    def __init__(self, provider: StoreProvider) -> None:
        self._provider = provider

    async def list(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:  # noqa: ARG002
        prompts = [
            types.Prompt(name=name, description=each["about"], arguments=[types.PromptArgument(**each["argument"])])
            for name, each in described_prompts().items()
        ]
        return types.ListPromptsResult(prompts=prompts)

    async def get(self, context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        arguments, described = params.arguments or {}, described_prompts()
        try:
            UnknownName.check("prompt", params.name, described)
            text = described[params.name]["text"]
            if params.name == "end_session":
                return user_message(text.format(about=arguments.get("about", "")).strip())
            task, store = arguments.get("task", ""), partial(self._provider.store, client_of(context))
            packed = await anyio.to_thread.run_sync(
                lambda: store().recall_pack(task, token_budget=BUDGET, fence=True), limiter=workers()
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
    def __init__(self, provider: StoreProvider) -> None:
        self._provider = provider

    async def list(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:  # noqa: ARG002
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=RECENT, name="recent", description="The newest memories.", mime_type=PLAIN),
                types.Resource(uri=STATS, name="stats", description="What is remembered, counted.", mime_type=JSON),
            ]
        )

    async def templates(
        self,
        context: Context,  # noqa: ARG002
        params: types.PaginatedRequestParams | None,  # noqa: ARG002
    ) -> types.ListResourceTemplatesResult:
        one = types.ResourceTemplate(
            uri_template="nacre://memory/{id}", name="memory", description="One memory by its id.", mime_type=JSON
        )
        return types.ListResourceTemplatesResult(resource_templates=[one])

    async def read(self, context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            kind, text = await anyio.to_thread.run_sync(partial(self._read, uri, client_of(context)), limiter=workers())
        except NacreError as error:
            raise MCPError(types.INVALID_PARAMS, str(error), {"uri": uri}) from error
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=text, mime_type=kind)])

    def _read(self, uri: str, client: str) -> tuple[str, str]:
        """The type of the content, and the content."""
        one = MEMORY.match(uri)
        if one is None and uri not in (RECENT, STATS):
            raise MemoryNotFound(uri, self._provider.settings.space)
        store = self._provider.store(client)
        if one is not None:
            (stored,) = store.get_many([store.resolve_id(unquote(one[1]))])
            return JSON, as_json(brief_record(store.clean(stored)))
        if uri == RECENT:
            return PLAIN, recent(store)
        return JSON, as_json(asdict(store.stats()))


def recent(store: MemoryStore) -> str:
    return listing(map(store.clean, store.list_recent(NEWEST)), EMPTY)
