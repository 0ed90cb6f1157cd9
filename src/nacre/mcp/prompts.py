"""Prompts that a person picks from a menu: how a session begins with what is known, and ends with what was learned."""

from __future__ import annotations

from functools import partial

import anyio.to_thread
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)

from nacre.errors import NacreError, UnknownName
from nacre.mcp.calling import Context, client_of, workers
from nacre.mcp.desk import Desk

BUDGET = 800
BEGIN, END = "start_session", "end_session"
NOTHING_YET = "Nothing is remembered of it yet."
BEGINNING = """We begin to work on: {task}

{known}

Use what is remembered where it helps, and say so when it seems outdated. Ask the memory again when you need more."""
ENDING = """Before this session ends, look back over it and keep what a later session needs, one `remember` to each:
- decisions, and why they were made
- what I corrected you on, and how I prefer things
- how something is done here, once it was found out
- what is still open
Look with `recall` first; where a memory is outdated, give its id as `replaces`. Keep no secrets, and nothing that the
files or the history of the project tell anyway. {about}"""


class Prompts:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def list(self, context: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:  # noqa: ARG002
        task = PromptArgument(name="task", description="What the session is about.", required=True)
        about = PromptArgument(name="about", description="What to mind in particular.", required=False)
        return ListPromptsResult(
            prompts=[
                Prompt(name=BEGIN, description="Begin with what is remembered of a task.", arguments=[task]),
                Prompt(name=END, description="Keep what was learned before the session ends.", arguments=[about]),
            ]
        )

    async def get(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        given = params.arguments or {}
        try:
            if params.name == END:
                return asked(ENDING.format(about=given.get("about", "")).strip())
            if params.name != BEGIN:
                raise UnknownName("prompt", params.name, (BEGIN, END))
            task = given.get("task", "")
            known = await anyio.to_thread.run_sync(partial(self._known, task, client_of(context)), limiter=workers())
        except NacreError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error
        return asked(BEGINNING.format(task=task, known=known or NOTHING_YET))

    def _known(self, task: str, client: str) -> str:
        return self._desk.store(client).recall_pack(task, token_budget=BUDGET, fence=True).text


def asked(text: str) -> GetPromptResult:
    return GetPromptResult(messages=[PromptMessage(role="user", content=TextContent(text=text))])
