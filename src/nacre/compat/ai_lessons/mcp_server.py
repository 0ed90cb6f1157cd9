"""The lesson tools over MCP, on the configured database, with the published names of ai-lessons too."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, NoReturn

import nacre.mcp  # noqa: F401 - first: it says what to install when mcp_types is missing

# isort: split
from mcp_types import TextContent
from mcp_types import Tool as ListedTool
from pydantic import ValidationError

from nacre.errors import NacreError
from nacre.lessons import LessonBook
from nacre.mcp.calls import argument_errors, as_json, check_arguments, error_result, tool_named
from nacre.mcp.profiles.lessons import ENVELOPE, PROFILE
from nacre.mcp.server import make_server, tool_list
from nacre.mcp.stdio import serve, serve_stdio
from nacre.mcp.store_provider import StoreProvider
from nacre.mcp.tool import Tool, ToolResult, ToolSession
from nacre.model.memory import Json

from .config import get_config, settings_of
from .db import Book, book_of, init_db

PUBLISHED = {"get": "get_lesson", "update": "update_lesson", "delete": "delete_lesson"}


@dataclass(frozen=True, slots=True)
class LessonSession(ToolSession):
    def lessons(self) -> LessonBook:
        return Book(store=self.store)


def with_own_book(tool: Tool) -> Tool:
    """Runs the tool on our `Book`, so that titles and ids are the same as in `core`."""

    @wraps(tool.run)
    def run(session: ToolSession, **arguments: Any) -> ToolResult:
        return tool.run(LessonSession(session.store, session.progress, session.model), **arguments)

    return replace(tool, run=run)


def confidence_levels(session: ToolSession) -> dict[str, Json]:
    levels = session.lessons().levels()
    return {**levels.to_dict(), "data": [{"name": each.name, "ordinal": each.ordinal} for each in levels.data]}


LEVELS = Tool("confidence_levels", confidence_levels, "The levels of confidence, lowest first.", ENVELOPE)
TOOLS = tuple(map(with_own_book, (*PROFILE.tools, LEVELS)))
NAMED = tuple(replace(tool, name=PUBLISHED[tool.name]) for tool in TOOLS if tool.name in PUBLISHED)
SERVED = replace(PROFILE, tools=(*TOOLS, *NAMED))


async def list_tools() -> list[ListedTool]:
    return list(tool_list(SERVED).tools)


async def call_tool(name: str, arguments: Mapping[str, Any]) -> list[TextContent]:
    """Errors are returned in the envelope as well."""
    try:
        tool = tool_named(SERVED, name)
        session = ToolSession(book_of().store, lambda done, total, what: None)  # noqa: ARG005 (nobody watches)
        return [TextContent(text=as_json(tool.run(session, **check_arguments(tool, arguments))))]
    except NacreError as error:
        message = str(error)
    except ValidationError as error:
        message = argument_errors(name, error)
    return [each for each in error_result(SERVED, message).content if isinstance(each, TextContent)]


def provider() -> StoreProvider:
    init_db()  # its aliases must be known before the first call
    return StoreProvider(settings_of(get_config()))


async def main() -> None:
    await serve(make_server(SERVED, provider()))


def run() -> NoReturn:
    parent, stores = os.getppid(), provider()
    serve_stdio(make_server(SERVED, stores), stores, parent)


if __name__ == "__main__":
    run()
