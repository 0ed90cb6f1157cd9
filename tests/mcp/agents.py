"""Agents for the tests: the SDK's own client, over real pipes and real sockets, driven as a person would read it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from mcp import Client, StdioServerParameters
from nacre.mcp.calls import DATA
from tests import forked

PATIENCE = 60  # seconds for what takes one on an idle machine
SERVING = re.compile(r"Serving \w+ at (\S+)")
TOKEN = re.compile(r"Token: (\S+)")


def environment(home: Path, **settings: str) -> dict[str, str]:
    """A server sees nothing of whoever runs the tests."""
    homes = {"HOME": home, "USERPROFILE": home, "XDG_CONFIG_HOME": home / "config", "XDG_DATA_HOME": home / "data"}
    given = {"NACRE_EMBEDDER": "hashing", "NACRE_SPACE": "default", **settings}  # the space of the library
    return {**{name: str(path) for name, path in homes.items()}, **given}


def server_command(store: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "nacre", "--store", str(store), "mcp", *words]


class Agent:
    """`ok` insists that it went well and gives the answer for programs; `refused` gives the sentence of an error."""

    def __init__(self, client: Client, portal: BlockingPortal) -> None:
        self.client = client
        self.portal = portal

    def do(self, method: Any, *args: Any, **named: Any) -> Any:
        return self.portal.call(partial(method, *args, **named))

    def call(self, tool: str, /, **arguments: Any) -> CallToolResult:
        found = self.do(self.client.call_tool, tool, arguments)
        assert isinstance(found, CallToolResult)
        return found

    def ok(self, tool: str, /, **arguments: Any) -> Any:
        found = self.call(tool, **arguments)
        assert not found.is_error, said(found)
        data = (found.meta or {}).get(DATA, found.structured_content)
        return data["result"] if isinstance(data, dict) and list(data) == ["result"] else data

    def told(self, tool: str, /, **arguments: Any) -> str:
        found = self.call(tool, **arguments)
        assert not found.is_error, said(found)
        return said(found)

    def refused(self, tool: str, /, **arguments: Any) -> str:
        found = self.call(tool, **arguments)
        assert found.is_error, said(found)
        return said(found)

    def tools(self) -> dict[str, Any]:
        return {tool.name: tool for tool in self.do(self.client.list_tools).tools}


def said(found: CallToolResult) -> str:
    (block,) = found.content
    assert isinstance(block, TextContent)
    return block.text


@contextmanager
def talking(server: Any, **options: Any) -> Iterator[Agent]:
    with start_blocking_portal() as portal, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the client's own pipes, when a server is killed under it
        client = Client(server, **options)
        with portal.wrap_async_context_manager(client):
            yield Agent(client, portal)


@contextmanager
def stdio_agent(
    store: Path, home: Path, profile: str = "core", settings: Mapping[str, str] | None = None, **options: Any
) -> Iterator[Agent]:
    command, *words = forked.launcher(["--store", str(store), "mcp", "--profile", profile])
    started = StdioServerParameters(
        command=command, args=words, env=environment(home, **(settings or {})), cwd=str(home)
    )
    with talking(stdio_client(started), **options) as agent:
        yield agent


class HttpServer:
    """A server process on a free port of this machine; `url` and `token` are as it announced them. With
    `new_interpreter` it is `process` itself, started as a shell starts it."""

    def __init__(
        self,
        store: Path,
        home: Path,
        *words: str,
        settings: Mapping[str, str] | None = None,
        port: int = 0,
        new_interpreter: bool = False,
    ) -> None:
        started = server_command(store, "--http", f"127.0.0.1:{port}", *words)
        command = started if new_interpreter else forked.launcher(started[3:])
        env = {**os.environ, **environment(home, **(settings or {}))}
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env, cwd=home)
        assert self.process.stderr is not None
        self.token = self.url = self.said = ""
        while not self.url:
            line = self.process.stderr.readline()
            assert line, f"the server ended at once: {self.said}"
            self.said += line
            self.token = found[1] if (found := TOKEN.search(line)) else self.token
            self.url = found[1] if (found := SERVING.search(line)) else self.url

    @contextmanager
    def agent(self, token: str | None = None, **options: Any) -> Iterator[Agent]:
        bearer = {"Authorization": f"Bearer {self.token if token is None else token}"}
        client = httpx2.AsyncClient(headers=bearer, timeout=60)
        with talking(streamable_http_client(self.url, http_client=client), **options) as agent:
            try:
                yield agent
            finally:
                agent.do(client.aclose)

    def stop(self) -> int:
        self.process.terminate()
        code = self.process.wait(PATIENCE)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code
