"""A real server process on a free port, and a client that speaks plain HTTP."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from nacre import MemoryStore
from nacre.server.users import Registry
from tests import forked
from tests.mcp.agents import environment
from tests.waiting import wait_for

PATIENCE = 60  # seconds for what takes one on an idle machine


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def result(self) -> Any:
        assert self.status < 300, (self.status, self.body)
        return self.json["result"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Sends requests with one token."""

    url: str
    token: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, verb: str, path: str, body: object = None, query: object = None, **headers: str) -> Reply:
        place = urlsplit(self.url)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=PATIENCE)
        sent = {**self.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        if self.token:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        target = path + (f"?{urlencode(query, doseq=True)}" if query else "")  # type: ignore[arg-type]
        try:
            connection.request(verb, target, data, sent)
            answer = connection.getresponse()
            return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def tool(self, name: str, path: str = "/mcp", **arguments: object) -> Any:
        """What an MCP tool answers, over HTTP."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        accept = "application/json, text/event-stream"
        reply = self("POST", path, message, Content_Type="application/json", Accept=accept)
        assert reply.status == 200, reply.body
        (answer,) = [line[len(b"data: ") :] for line in reply.body.splitlines() if line.startswith(b"data: {")]
        return json.loads(answer)["result"]

    def remember(self, text: str, space: str = "team", **fields: object) -> Any:
        reply = self("POST", f"/v1/spaces/{quote(space, safe='')}/memories", {"text": text, **fields})
        assert reply.status == 201, reply.body
        return reply.json["memory"]


class Served:
    """A server over a store in a file. Its log is in `log`. With `new_interpreter` it is `process` itself, started as a
    shell starts it."""

    def __init__(
        self,
        store: Path,
        home: Path,
        *words: str,
        settings: Mapping[str, str] | None = None,
        new_interpreter: bool = False,
    ) -> None:
        self.store, self.log = store, home / f"server-{time.monotonic_ns()}.log"
        quick = {"NACRE_CONFLICT_JUDGE": "rules", "NACRE_RERANK_MS": "0"}  # without loading a model
        env = {**os.environ, **quick, **environment(home, **(settings or {}))}
        wanted = ["--store", str(store), "serve", "--http", "127.0.0.1:0", *words]
        command = [sys.executable, "-m", "nacre", *wanted] if new_interpreter else forked.launcher(wanted)
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, stderr=log, env=env, cwd=home)
        try:
            self.url = self._first_line().rpartition(" ")[2].strip()
        except BaseException:
            self.stop()
            raise

    def _first_line(self) -> str:
        def look() -> str:
            ended = self.process.poll() is not None
            lines = self.log.read_text().splitlines(keepends=True)
            if lines and lines[0].endswith("\n"):
                assert lines[0].startswith("Serving at http"), self.log.read_text()
                return lines[0]
            assert not ended, self.log.read_text()
            return ""

        return wait_for(look, "the start of the server")

    def caller(self, token: str = "") -> Caller:
        return Caller(self.url, token)

    def session(self, token: str) -> str:
        """What the cookie of a page that signed in with the token holds."""
        reply = self.caller()("POST", "/session", {"token": token}, x_nacre_page="1")
        assert reply.status == 200, reply.body
        return reply.headers["set-cookie"].partition(";")[0].partition("=")[2]

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(PATIENCE)


@contextmanager
def serving(store: Path, home: Path, *words: str, new_interpreter: bool = False, **settings: str) -> Iterator[Served]:
    served = Served(store, home, *words, settings=settings, new_interpreter=new_interpreter)
    try:
        yield served
    finally:
        served.stop()


@contextmanager
def registry(store: Path) -> Iterator[Registry]:
    with MemoryStore(store, embedder="hashing") as opened:
        yield Registry(opened.acting_as("server").store, time.time)


def tokens(store: Path, *wanted: tuple[str, str, tuple[str, ...]]) -> list[str]:
    """A token for each user, role and spaces."""
    made = []
    with registry(store) as users:
        for user, role, spaces in wanted:
            if user not in {each.name for each in users.users()}:
                users.add_user(user)
            made.append(users.create_token(user, role, spaces or None)[1])
    return made
