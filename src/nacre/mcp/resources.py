"""What a client may read by address: one memory, the newest, the figures."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import unquote

import anyio.to_thread
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from nacre.errors import MemoryNotFound, NacreError
from nacre.mcp.calling import Context, as_json, client_of, workers
from nacre.mcp.desk import Desk
from nacre.mcp.records import brief, listing

if TYPE_CHECKING:
    from nacre.store import MemoryStore

PLAIN, JSON = "text/plain", "application/json"
RECENT = "nacre://recent"
STATS = "nacre://stats"
MEMORY = re.compile(r"nacre://memory/(.+)\Z")
NEWEST = 20
EMPTY = "Nothing is remembered yet."


class Resources:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def list(self, context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:  # noqa: ARG002
        return ListResourcesResult(
            resources=[
                Resource(uri=RECENT, name="recent", description="The newest memories.", mime_type=PLAIN),
                Resource(uri=STATS, name="stats", description="What is remembered, counted.", mime_type=JSON),
            ]
        )

    async def templates(
        self,
        context: Context,  # noqa: ARG002
        params: PaginatedRequestParams | None,  # noqa: ARG002
    ) -> ListResourceTemplatesResult:
        one = ResourceTemplate(
            uri_template="nacre://memory/{id}", name="memory", description="One memory by its id.", mime_type=JSON
        )
        return ListResourceTemplatesResult(resource_templates=[one])

    async def read(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        uri = str(params.uri)
        try:
            kind, text = await anyio.to_thread.run_sync(partial(self._read, uri, client_of(context)), limiter=workers())
        except NacreError as error:
            raise MCPError(INVALID_PARAMS, str(error), {"uri": uri}) from error
        return ReadResourceResult(contents=[TextResourceContents(uri=uri, text=text, mime_type=kind)])

    def _read(self, uri: str, client: str) -> tuple[str, str]:
        one = MEMORY.match(uri)
        if one is None and uri not in READERS:
            raise MemoryNotFound(uri, self._desk.settings.space)
        store = self._desk.store(client)
        return memory(store, unquote(one[1])) if one is not None else READERS[uri](store)


def memory(store: MemoryStore, prefix: str) -> tuple[str, str]:
    id = store.resolve_id(prefix)
    (kept,) = store.get_many([id])
    return JSON, as_json(brief(store.shown(kept)))


def recent(store: MemoryStore) -> tuple[str, str]:
    return PLAIN, listing(map(store.shown, store.list_recent(NEWEST)), EMPTY)


def stats(store: MemoryStore) -> tuple[str, str]:
    from dataclasses import asdict

    return JSON, as_json(asdict(store.stats()))


READERS: dict[str, Callable[[MemoryStore], tuple[str, str]]] = {RECENT: recent, STATS: stats}
