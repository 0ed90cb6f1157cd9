"""Many agents at once on one store: each writes of its own, asks for it again, and hears how long that took."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import httpx2
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from mcp import Client, StdioServerParameters
from tests.mcp.agents import HttpServer, environment, server_command

PATIENCE = 120


@dataclass(slots=True)
class Crowd:
    """`seconds` are those of each recall; `faults` is what went wrong, in words."""

    seconds: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def p95(self) -> float:
        return sorted(self.seconds)[int(0.95 * (len(self.seconds) - 1))]

    async def over_http(self, server: HttpServer, number: int, rounds: int) -> None:
        bearer = {"Authorization": f"Bearer {server.token}"}
        async with httpx2.AsyncClient(headers=bearer, timeout=PATIENCE) as http:
            transport = streamable_http_client(server.url, http_client=http)
            async with Client(transport) as client:
                await self._live(client, f"http agent {number}", rounds)

    async def over_stdio(self, store: Path, home: Path, number: int, rounds: int) -> None:
        command, *words = server_command(store)
        started = StdioServerParameters(command=command, args=words, env=environment(home))
        async with Client(stdio_client(started)) as client:
            await self._live(client, f"stdio agent {number}", rounds)

    async def _live(self, client: Client, name: str, rounds: int) -> None:
        for turn in range(rounds):
            text = f"{name} saw ship {turn} pass the pier with {turn * 7 + 3} crates"
            kept = await client.call_tool("remember", {"text": text, "tags": [name.replace(" ", "-")]})
            begun = time.perf_counter()
            found = await client.call_tool("recall", {"query": text, "k": 3, "tag": name.replace(" ", "-")})
            self.seconds.append(time.perf_counter() - begun)
            if kept.is_error or found.is_error:
                self.faults.append(f"{name}: {kept.content} {found.content}")
            elif text not in str(found.content):
                self.faults.append(f"{name} did not find {text!r} again")


async def lived(server: HttpServer, store: Path, home: Path, sessions: int, servers: int, rounds: int) -> Crowd:
    crowd = Crowd()
    async with anyio.create_task_group() as together:
        for number in range(sessions):
            together.start_soon(crowd.over_http, server, number, rounds)
        for number in range(servers):
            together.start_soon(crowd.over_stdio, store, home, number, rounds)
    return crowd


def resident_mebibytes(pid: int) -> float | None:
    """None where the system does not tell."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return None
    line = next(each for each in status.read_text().splitlines() if each.startswith("VmRSS"))
    return int(line.split()[1]) / 1024
