"""A real web service on a free port of this machine, for what talks to services."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "sk-very-secret"


@dataclass(frozen=True, slots=True)
class Asked:
    path: str
    headers: dict[str, str]  # by their names in lower case
    body: dict[str, object]


@dataclass
class Loopback:
    """Answers with what `reply` makes of a question, or with `answer` if set; first come the `failures`."""

    reply: Callable[[dict[str, object]], object] = lambda body: body
    url: str = ""
    failures: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    answer: bytes | None = None
    asked: list[Asked] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)


@contextmanager
def running(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server that answers with this handler."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True  # a client may keep a connection open
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def serving(service: Loopback) -> Iterator[Loopback]:
    with running(_handler(service)) as service.url:
        yield service


def _handler(service: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            service.asked.append(Asked(self.path, headers, body))
            if service.failures:
                status, told = service.failures.pop(0)
                self.send(status, f"refused the key\n{KEY}".encode(), told)
            else:
                answer = json.dumps(service.reply(body)).encode() if service.answer is None else service.answer
                self.send(200, answer, {})

        def send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    return Handler
