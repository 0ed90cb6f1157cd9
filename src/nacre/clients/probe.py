"""Starts the server as a client would, over stdio with the official MCP client, and lists its tools."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from nacre.clients.installer import Launch
from nacre.errors import ConfigError, MissingExtra

ANSWER_WITHIN = 30.0  # seconds; clients themselves give up after ten to sixty
LONGEST_OUTPUT = 300  # characters of the server's stderr in an error


@dataclass(frozen=True, slots=True)
class Answer:
    server: str
    tools: tuple[str, ...]
    seconds: float


def probe(launch: Launch, *, within: float = ANSWER_WITHIN) -> Answer:
    """Raises `ConfigError` with the last output of a server that does not answer, `MissingExtra` without the SDK."""
    try:
        import anyio
        import mcp_types  # noqa: F401
    except ImportError as error:
        raise MissingExtra("The check of the installed server", "mcp") from error

    began = time.monotonic()
    # Started in another folder: the client may start it anywhere.
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr,
        tempfile.TemporaryDirectory() as at,
    ):
        try:
            server, tools = anyio.run(_list_tools, launch, Path(at), stderr, within)
        except Exception as error:  # whatever the reason, the person sees it
            raise no_answer_error(launch, error, stderr, within) from error
    return Answer(server, tools, time.monotonic() - began)


async def _list_tools(launch: Launch, folder: Path, stderr: IO[str], within: float) -> tuple[str, tuple[str, ...]]:
    import anyio

    from mcp import Client, StdioServerParameters, stdio_client

    started = StdioServerParameters(
        command=launch.command, args=list(launch.args), env=dict(launch.env), cwd=str(folder)
    )
    with anyio.fail_after(within):
        async with Client(stdio_client(started, errlog=stderr)) as client:  # type: ignore[arg-type]
            listed = await client.list_tools()
            return client.server_info.name if client.server_info else "", tuple(tool.name for tool in listed.tools)


def no_answer_error(launch: Launch, error: BaseException, stderr: IO[str], within: float) -> ConfigError:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    stderr.seek(0)
    said = " ".join(stderr.read().split())[-LONGEST_OUTPUT:]
    reason = f"no answer within {within:g} s" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
    started = " ".join((launch.command, *launch.args))
    return ConfigError(
        f"The server did not answer ({reason}{'; it said: ' + said if said else ''}). Run `{started}` to see why."
    )
