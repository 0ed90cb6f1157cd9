"""What an agent waits for: a cold server's list of tools, its first recall, and recalls among many others."""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client

from mcp import Client
from nacre import MemoryStore
from nacre.clients.profiles import PROFILES
from nacre.mcp.profiles import profile_named
from nacre.mcp.server import costs
from texts import memories

MEMORIES = 10_000
SEED = 1
REPEATS = 7
ASKED = 200
SESSIONS = 50
PATIENCE = 120  # seconds
ASKED_EACH = 10
QUESTIONS = ("why was the invoice export moved", "what does Greta like", "when may the backup job run")
FROM_WORDS = "words alone"  # in the note of an answer, while the model is loading
BARE = "from mcp.server import MCPServer\ns = MCPServer('bare')\n@s.tool()\ndef f(a: int) -> int: return a\ns.run()\n"
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Pipe:
    """Speaks the protocol byte by byte, so that the SDK's client costs nothing."""

    def __init__(self, command: list[str]) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.asked = 0
        self.ask("initialize", HELLO)
        self._send({"method": "notifications/initialized"})

    def ask(self, method: str, params: object = None) -> Any:
        self.asked += 1
        self._send({"id": self.asked, "method": method, **({"params": params} if params else {})})
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())["result"]

    def call(self, tool: str, **arguments: object) -> tuple[float, Any]:
        begun = time.perf_counter()
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        return time.perf_counter() - begun, answer["content"][0]["text"]

    def resident(self) -> float:
        return resident(self.process.pid)

    def end(self) -> float:
        begun = time.perf_counter()
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        return time.perf_counter() - begun

    def _send(self, message: dict[str, object]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=MEMORIES)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.db"
        with MemoryStore(store) as kept:
            kept.remember_many(memories(given.memories, SEED))
        print("| what | figure |\n|---|---|")
        print_figures(cold, store, given.repeats)
        print_figures(asked, store)
        print_figures(crowd, store, given.sessions)
        print_figures(tokens)


def print_figures(measure: Callable[..., dict[str, str]], *given: object) -> None:
    for what, figure in measure(*given).items():
        print(f"| {what} | {figure} |", flush=True)


def served(store: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "nacre", "--store", str(store), "mcp", *words]


def cold(store: Path, repeats: int) -> dict[str, str]:
    """From the start of the process to the list of tools, in turn with a server of the bare SDK."""
    ways = {"nacre": served(store), "bare": [sys.executable, "-c", BARE]}
    lists: dict[str, list[float]] = {way: [] for way in ways}
    firsts, ends = [], []
    for _ in range(repeats):
        for way, command in ways.items():
            pipe = Pipe(command)
            pipe.ask("tools/list")
            lists[way].append(time.perf_counter() - pipe.started)
            if way == "nacre":
                took, answer = pipe.call("recall", query=QUESTIONS[0])
                firsts.append((took, FROM_WORDS in answer))
            ended = pipe.end()
            ends += [ended] if way == "nacre" else []
    from_words = sum(noted for _, noted in firsts)
    return {
        "cold start to tools/list, minimum (median)": spread(lists["nacre"]),
        "the same of the bare SDK with one tool": spread(lists["bare"]),
        "first recall right after it, minimum (median)": spread([took for took, _ in firsts]),
        "of these answered from words, the model still loading": f"{from_words} of {len(firsts)}",
        "end of the process after its stdin, longest": f"{max(ends):.2f} s",
    }


def asked(store: Path) -> dict[str, str]:
    pipe = Pipe(served(store))
    pipe.ask("tools/list")
    begun = time.perf_counter()
    while FROM_WORDS in pipe.call("recall", query=QUESTIONS[0])[1]:
        time.sleep(0.05)
    loaded = time.perf_counter() - begun
    took = [pipe.call("recall", query=QUESTIONS[turn % 3])[0] for turn in range(ASKED)]
    figures = {
        "until recalls answer from meaning": f"{loaded:.2f} s",
        "recall over stdio, one client, median / p95": f"{middle(took)} / {late(took)}",
        "resident, with model and vectors": f"{pipe.resident():.0f} MiB",
    }
    pipe.end()
    return figures


def crowd(store: Path, sessions: int) -> dict[str, str]:
    process = subprocess.Popen(served(store, "--http", "127.0.0.1:0"), stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = ""
    while "Serving" not in said:
        said += process.stderr.readline()
    token, url = re.findall(r"Token: (\S+)", said)[0], re.findall(r"at (\S+)", said)[0]
    while anyio.run(noted, url, token):
        time.sleep(0.05)
    alone = anyio.run(together, url, token, 1)
    before, begun = resident(process.pid), processor(process.pid)
    took = anyio.run(together, url, token, sessions)
    after, worked = resident(process.pid), processor(process.pid) - begun
    process.terminate()
    process.wait()
    process.stderr.close()
    return {
        "recall over HTTP, one session, median / p95": f"{middle(alone)} / {late(alone)}",
        f"recall over HTTP, {sessions} sessions at once, median / p95": f"{middle(took)} / {late(took)}",
        "processor time of the server a recall, embedding included": f"{worked / len(took) * 1000:.1f} ms",
        f"resident before and after the {sessions}": f"{before:.0f} and {after:.0f} MiB",
    }


@asynccontextmanager
async def connected(url: str, token: str) -> AsyncIterator[Client]:
    bearer = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=bearer, timeout=PATIENCE) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


async def noted(url: str, token: str) -> bool:
    """Whether the model is still loading."""
    async with connected(url, token) as client:
        answer = await client.call_tool("recall", {"query": QUESTIONS[0]})
        return FROM_WORDS in str(answer.content)


async def together(url: str, token: str, sessions: int) -> list[float]:
    took: list[float] = []

    async def session() -> None:
        async with connected(url, token) as client:
            for turn in range(ASKED_EACH):
                begun = time.perf_counter()
                answer = await client.call_tool("recall", {"query": QUESTIONS[turn % 3]})
                took.append(time.perf_counter() - begun)
                assert not answer.is_error

    async with anyio.create_task_group() as group:
        for _ in range(sessions):
            group.start_soon(session)
    return took


def tokens() -> dict[str, str]:
    figures = {}
    for name in PROFILES:
        found = costs(profile_named(name))
        total, shapes = sum(each.tokens for each in found), sum(each.schema for each in found)
        figures[f"profile {name}: tools, tokens (of these for results)"] = f"{len(found)}, {total:,} ({shapes:,})"
    return figures


def resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), float("nan"))


def processor(pid: int) -> float:
    """Seconds of processor time that a process has had."""
    status = Path(f"/proc/{pid}/stat")
    if not status.exists():
        return float("nan")
    fields = status.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def spread(seconds: list[float]) -> str:
    return f"{min(seconds):.2f} s ({statistics.median(seconds):.2f} s)"


def middle(seconds: list[float]) -> str:
    return f"{statistics.median(seconds) * 1000:.1f} ms"


def late(seconds: list[float]) -> str:
    return f"{sorted(seconds)[int(0.95 * (len(seconds) - 1))] * 1000:.1f} ms"


if __name__ == "__main__":
    os.environ.setdefault("NACRE_EMBEDDER", "multilingual")
    main()
