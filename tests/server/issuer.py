"""A small OAuth issuer on this machine: it signs tokens, publishes its keys, and answers questions about tokens."""

from __future__ import annotations

import base64
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa


class Issuer:
    """`asked` counts the requests by their path; `login` is what introspection demands, as ID:SECRET."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {}
        self.opaque: dict[str, dict[str, Any]] = {}
        self.asked: dict[str, int] = {}
        self.broken = False
        self.held = threading.Event()  # while it is not set, no question is answered
        self.held.set()
        self.login = f"nacre:{secrets.token_hex(8)}"
        self.url = ""
        self.add_key("first")

    def add_key(self, name: str, kind: str = "RS256") -> None:
        made = rsa.generate_private_key(65537, 2048) if kind == "RS256" else ec.generate_private_key(ec.SECP256R1())
        self.keys[name] = (kind, made)

    def claims(self, resource: str | list[str], **changes: Any) -> dict[str, Any]:
        usual = {"iss": self.url, "aud": resource, "sub": "ada", "exp": time.time() + 600, "scope": "nacre:writer"}
        return {name: value for name, value in {**usual, **changes}.items() if value is not None}

    def token(self, resource: str | list[str], *, key: str = "first", **changes: Any) -> str:
        """A claim that is None is left out."""
        kind, private = self.keys[key]
        return jwt.encode(self.claims(resource, **changes), private, kind, headers={"kid": key})

    def opaque_token(self, resource: str, **changes: Any) -> str:
        token = secrets.token_urlsafe(24)
        self.opaque[token] = {"active": True, **self.claims(resource, **changes)}
        return token

    def jwks(self) -> dict[str, Any]:
        kinds: dict[str, Any] = {"RS256": jwt.algorithms.RSAAlgorithm, "ES256": jwt.algorithms.ECAlgorithm}
        return {
            "keys": [
                {**kinds[kind].to_jwk(private.public_key(), as_dict=True), "kid": name, "alg": kind, "use": "sig"}
                for name, (kind, private) in self.keys.items()
            ]
        }

    def answer(self, path: str, body: bytes, authorization: str) -> tuple[int, object]:
        self.asked[path] = self.asked.get(path, 0) + 1
        self.held.wait(60)
        if self.broken:
            return 500, {}
        if path == "/nonsense":
            return 200, {"keys": "none"}
        if path == "/keys":
            return 200, self.jwks()
        if path != "/ask":
            return 404, {}
        if authorization != "Basic " + base64.b64encode(self.login.encode()).decode():
            return 401, {}
        return 200, self.opaque.get(parse_qs(body.decode())["token"][0], {"active": False})


@contextmanager
def issuing() -> Iterator[Issuer]:
    issuer = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            status, answer = issuer.answer(self.path, self.rfile.read(length), self.headers.get("authorization", ""))
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        issuer.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield issuer
        finally:
            server.shutdown()
            thread.join()
