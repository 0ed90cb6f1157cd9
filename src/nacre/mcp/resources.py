"""The resources and the prompts of the MCP server."""

from __future__ import annotations

import re
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import unquote

import anyio.to_thread
import mcp_types as types
from mcp.shared.exceptions import MCPError

from nacre.errors import MemoryNotFound, NacreError, UnknownName
from nacre.mcp.calls import Context, as_json, client_of, workers
from nacre.mcp.records import brief_record, listing
from nacre.mcp.store_provider import StoreProvider

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore

BUDGET = 800
START, END = "start_session", "end_session"
NOTHING_YET = "Nothing is remembered about it yet."
START_TEXT = """We begin to work on: {task}

{known}

Use what is remembered where it helps, and say so when it seems outdated. Ask the memory again when you need more."""
END_TEXT = """Before this session ends, look back over it and keep what a later session needs, one `remember` to each:
- decisions, and why they were made
- what I corrected you on, and how I prefer things
- how something is done here, once it was found out
- what is still open
Look with `recall` first; where a memory is outdated, give its id as `replaces`. Keep no secrets, and nothing that the
files or the history of the project show anyway. {about}"""


class Prompts:
    def __init__(self, provider: StoreProvider) -> None:
        self._provider = provider

    async def list(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:  # noqa: ARG002
        task = types.PromptArgument(name="task", description="What the session is about.", required=True)
        about = types.PromptArgument(name="about", description="What to mind in particular.", required=False)
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(name=START, description="Begin with what is remembered of a task.", arguments=[task]),
                types.Prompt(name=END, description="Keep what was learned before the session ends.", arguments=[about]),
            ]
        )

    async def get(self, context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        arguments = params.arguments or {}
        try:
            if params.name == END:
                return user_message(END_TEXT.format(about=arguments.get("about", "")).strip())
            if params.name != START:
                raise UnknownName("prompt", params.name, (START, END))
            task, store = arguments.get("task", ""), partial(self._provider.store, client_of(context))
            packed = await anyio.to_thread.run_sync(
                lambda: store().recall_pack(task, token_budget=BUDGET, fence=True), limiter=workers()
            )
        except NacreError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        return user_message(START_TEXT.format(task=task, known=packed.text or NOTHING_YET))


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
