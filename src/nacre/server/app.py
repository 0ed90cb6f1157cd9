"""Receives HTTP requests, checks limits and roles, and passes each to the code that answers it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl

import anyio
import anyio.to_thread
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response

from nacre import __version__
from nacre.access.capabilities import Role
from nacre.errors import InvalidInput, NacreError, StoreBusy
from nacre.factory import make_guard
from nacre.memory_store import MemoryStore
from nacre.model.validate import label, required_label
from nacre.rest.endpoints import EXPECT
from nacre.rest.problems import CONTENT_TYPE, problem_of, status_of
from nacre.server.answers import Answers, KeyReused
from nacre.server.authentication import SESSION, answer_session, check_origin, identity_of
from nacre.server.call import Call
from nacre.server.changes import ChangeSignal, answer_changes
from nacre.server.cleaning import CleanWriting
from nacre.server.files import Download, temporary_prefix
from nacre.server.jobs import Jobs
from nacre.server.limits import Limits, RateLimiter, tool_writes
from nacre.server.metrics import METRICS, Metrics, log_request
from nacre.server.oauth import METADATA, RESOURCES, OAuth
from nacre.server.openapi import OPENAPI, docs_page, openapi
from nacre.server.provider import Asker, UserStores, asker
from nacre.server.refusals import Refusal, no_route, refusal, too_many
from nacre.server.requests import LONGEST_NUMBER, Route, find_route, parsed_object, read_values
from nacre.server.sessions import Sessions
from nacre.server.users import TOKEN, Identity, Registry, restore_keeping_users
from nacre.web.page import page_file

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger("nacre")
T = TypeVar("T")

MCP, HEALTH, DOCS, PAGE = "/mcp", "/health", "/v1/docs", "the page"
WORKERS = 16  # requests that use the store at once; others wait for their turn
ASKERS = 8  # requests that wait for the issuer of their token at once
UNKNOWN_TOKENS_A_MINUTE = 60  # of one address that the issuer is asked about: many clients may have one that ended
RESTORE_SECONDS = 15.0  # that a restore waits for running requests; new ones wait as long
LONGEST_BODY, LONGEST_UPLOAD = 10_000_000, 2_000_000_000  # bytes
MOST_DROPPED = 100_000_000  # bytes of a body that is too long
VERSIONS_EXAMPLE = '{"ID": 3}'  # of what `EXPECT` takes
OPERATION = "nacre-operation"  # the header that names the operation which a request wrote, so that it can be undone
MEMORY_IDS = ("id", "old", "keep")  # names in a path of the memory that `If-Match` is about
ONLY_POST = "MCP takes only POST here: this server keeps no sessions and sends nothing on its own."


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """`hosts` are the names by which this machine may be called; `local` says that only this machine reaches it;
    `writing_tools` are those of MCP whose calls count as writes."""

    hosts: Sequence[str] = ()
    local: bool = True
    limits: Limits = field(default_factory=Limits)
    writing_tools: frozenset[str] = frozenset()


class Application:
    """An ASGI application; `mcp` is that of the MCP server, or None where it is not installed; `oauth` checks tokens
    that this server has not made."""

    def __init__(
        self, stores: UserStores, options: ServerOptions, mcp: ASGIApp | None = None, oauth: OAuth | None = None
    ) -> None:
        self.stores, self.options, self.mcp, self.oauth = stores, options, mcp, oauth
        self.metrics = Metrics()
        self.limiter = RateLimiter(options.limits)
        backend, clock = stores.backend(), time.time
        self.registry, self.answers, self.jobs = Registry(backend, clock), Answers(backend, clock), Jobs(backend, clock)
        self.sessions = Sessions(self.identify, backend, clock)
        self.draining = False
        self.written = ChangeSignal()
        self.unknown_tokens = RateLimiter(Limits(requests=UNKNOWN_TOKENS_A_MINUTE, writes=0, bytes=0))
        self._workers: anyio.CapacityLimiter | None = None
        self._askers: anyio.CapacityLimiter | None = None
        self._using = 0  # requests that use the store now
        self._free, self._open = asyncio.Event(), asyncio.Event()
        self._open.set()
        self._restoring = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await Request(self, scope, receive, send).answer()
        elif self.mcp is not None:
            await self.mcp(scope, receive, send)  # its sessions need the server's life
        elif scope["type"] == "lifespan":
            await answer_lifespan(receive, send)

    def identify(self, token: str) -> Identity:
        """Raises `AccessDenied`."""
        if self.oauth is None or TOKEN.match(token):
            return self.registry.identify(token)
        return self.oauth.identify(token)

    def must_ask(self, token: str) -> bool:
        """Whether `identify` would send a request to the issuer."""
        return self.oauth is not None and not TOKEN.match(token) and self.oauth.must_ask(token)

    def writing(self, space: str) -> CleanWriting:
        """What writes every answer about this space."""
        return CleanWriting(make_guard(self.stores.settings.for_space(space)))

    def drain(self) -> None:
        """Refuses new requests, and ends those that only wait."""
        self.draining = True
        self.written.notify()

    async def in_thread(self, work: Callable[[], T]) -> T:
        if self._workers is None:
            self._workers = anyio.CapacityLimiter(WORKERS)
        async with self.using():
            return await anyio.to_thread.run_sync(work, limiter=self._workers)

    async def in_issuer_thread(self, work: Callable[[], T]) -> T:
        """In a thread that may wait for the issuer, without the store and beside those that use it."""
        if self._askers is None:
            self._askers = anyio.CapacityLimiter(ASKERS)
        return await anyio.to_thread.run_sync(work, limiter=self._askers)

    @asynccontextmanager
    async def using(self) -> AsyncIterator[None]:
        """While it lasts the store stays open."""
        await self._open.wait()
        self._using += 1
        try:
            yield
        finally:
            self._using -= 1
            if not self._using:
                self._free.set()

    async def restore(self, copy: str) -> None:
        """Puts a copy of the store in its place while nobody uses it; later requests wait for that. Raises
        `InvalidInput` while a job runs, and `StoreBusy` when another process has the store open or a request does not
        end; then nothing is changed."""
        async with self._restoring:
            self._open.clear()
            try:
                await self._wait_until_free()
                await anyio.to_thread.run_sync(self._restore, copy)
            finally:
                self._open.set()

    async def _wait_until_free(self) -> None:
        """Raises `StoreBusy`."""
        try:
            async with asyncio.timeout(RESTORE_SECONDS):
                while self._using:
                    self._free.clear()
                    await self._free.wait()
        except TimeoutError as error:
            raise StoreBusy(self.stores.settings.store, RESTORE_SECONDS, "request") from error

    def _restore(self, copy: str) -> None:
        settings = self.stores.settings
        self.jobs.demand_none("restore a backup")  # one may have begun before the store was closed to requests
        self.stores.close()
        try:
            restored = restore_keeping_users(settings, copy, time.time())
            if restored.users == "of the copy":
                log.warning("The users and tokens are those of the restored copy; revoke again what was revoked since.")
        finally:
            backend = self.stores.backend()
            for each in (self.registry, self.answers, self.jobs, self.sessions):
                each.use(backend)


class Request:
    def __init__(self, app: Application, scope: Scope, receive: Receive, send: Send) -> None:
        self.app, self.scope, self.receive, self.send = app, scope, receive, send
        self.verb, self.path = scope["method"], str(scope["path"])
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        self.route_name = "other"
        self.user = self.token = self.space = ""
        self.status = 0
        self.size = 0

    async def answer(self) -> None:
        began = time.perf_counter()
        self.app.metrics.running += 1
        try:
            response = await self._response()
            if response is not None:
                await response(self.scope, self.receive, self._send)
        finally:
            self.app.metrics.running -= 1
            seconds = time.perf_counter() - began
            self.app.metrics.count(self.verb, self.route_name, self.status, seconds)
            log_request(
                method=self.verb, route=self.route_name, status=self.status, ms=round(seconds * 1000, 1),
                user=self.user, token=self.token, space=self.space, bytes=self.size,
            )  # fmt: skip

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self.send(message)

    async def _response(self) -> Response | None:
        """None where it was sent already."""
        try:
            return await self._handled()
        except Refusal as refused:
            return refused.response
        except KeyReused as error:
            about = problem_of("KeyReused", 409, "The Idempotency-Key was used before", str(error))
            return JSONResponse(about, 409, {"retry-after": "1"} if error.waiting else None, CONTENT_TYPE)
        except NacreError as error:
            if status_of(error)[0] >= 500:
                log.warning("%s failed: %s", self.route_name, type(error).__name__)
            about = self.app.writing(self.space).problem(error)
            return JSONResponse(about, status_of(error)[0], media_type=CONTENT_TYPE)
        except Exception:  # one request must not end the server
            log.exception("The request %s failed.", self.route_name)
            sentence = "The server failed unexpectedly; its log says more."
            about = problem_of("Unexpected", 500, "The server failed", sentence)
            return JSONResponse(about, 500, media_type=CONTENT_TYPE)

    async def _handled(self) -> Response | None:
        if self.app.draining:
            raise refusal(
                "Stopping", 503, "The server is stopping", "The server is stopping; repeat the request in a moment.",
                retry_after="1", connection="close",
            )  # fmt: skip
        check_origin(self)
        public = self._public()
        if public is not None:
            return public
        if self.path == SESSION:
            return await answer_session(self)
        identity = await identity_of(self)
        self.user, self.token = identity.user, identity.token
        if self.path == METRICS:
            return await self._metrics(identity)
        if self.path == MCP:
            await self._mcp(identity)
            return None
        return await self._rest(identity)

    def _public(self) -> Response | None:
        """What needs no token."""
        if self.verb not in ("GET", "HEAD"):
            return None
        if self.path == HEALTH:
            self.route_name = HEALTH
            return JSONResponse({"status": "ok", "version": __version__})
        if self.path == OPENAPI:
            self.route_name = OPENAPI
            return JSONResponse(openapi())
        if self.path == DOCS:
            self.route_name = DOCS
            return Response(docs_page(), media_type="text/html")
        resource = self.path.removeprefix(METADATA) if self.path.startswith(METADATA) else None
        if self.app.oauth is not None and resource in RESOURCES:
            self.route_name = METADATA
            return JSONResponse(self.app.oauth.metadata(resource))
        file = page_file(self.path)
        if file is not None:
            self.route_name = PAGE
            body, headers = file.body(self.headers.get("accept-encoding", ""))
            return Response(body, headers=headers)
        return None

    def _take(self, identity: Identity, *, writes: int, size: int) -> None:
        wait = self.app.limiter.take(identity.token or identity.user, writes=writes, size=size)
        if wait:
            raise too_many("This token has used up its share of this minute; repeat it", wait)

    async def body(self, longest: int) -> bytes:
        parts = [part async for part in self._parts(longest)]
        return b"".join(parts)

    async def _parts(self, longest: int) -> AsyncIterator[bytes]:
        """The body as it comes; of one that is too long the rest is dropped."""
        if int(self.headers.get("content-length") or 0) > longest:
            raise await self._too_long(longest)
        more = True
        while more:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise refusal("Gone", 400, "The request was cut off", "The connection ended; repeat the request.")
            part, more = message.get("body", b""), message.get("more_body", False)
            self.size += len(part)
            if self.size > longest:
                raise await self._too_long(longest)
            if part:
                yield part

    async def _too_long(self, longest: int) -> Refusal:
        """A client that still sends would not read the answer: some of the rest is read and dropped first."""
        dropped, more = 0, True
        while more and dropped < MOST_DROPPED:
            message = await self.receive()
            dropped += len(message.get("body", b""))
            more = message.get("more_body", False)
        sentence = f"The body has more than {longest:,} bytes; send less at once."
        return refusal("TooLong", 413, "The body is too long", sentence, connection="close")

    # What it asks for

    async def _metrics(self, identity: Identity) -> Response:
        self.route_name = METRICS
        identity.demand_role(Role.ADMIN, "read the metrics")
        return PlainTextResponse(self.app.metrics.text(), media_type="text/plain; version=0.0.4")

    async def _mcp(self, identity: Identity) -> None:
        self.route_name = MCP
        if self.app.mcp is None:
            sentence = (
                'There is no MCP here; run `pip install ".[server]"` in the checkout of Nacre, and start it again.'
            )
            raise refusal("NoMcp", 404, "There is no MCP here", sentence)
        if self.verb != "POST":  # without sessions, a stream of the server's own messages would stay empty and open
            raise refusal("WrongMethod", 405, "The HTTP method is not known here", ONLY_POST, allow="POST")
        body = await self.body(LONGEST_BODY)
        self._take(identity, writes=tool_writes(body, self.app.options.writing_tools), size=len(body))
        wanted = dict(parse_qsl(self.scope["query_string"].decode("latin-1"))).get("space", "")
        self.space = self.app.stores.agent_space(identity, label("space", wanted))
        asker.set(Asker(identity, self.space))
        async with self.app.using():
            await self.app.mcp(self.scope, replayed(body, self.receive), self._send)

    async def _rest(self, identity: Identity) -> Response:
        raw_path = self.scope.get("raw_path") or self.path.encode()
        route = find_route(self.verb, raw_path.partition(b"?")[0].decode("latin-1"))
        if isinstance(route, set):
            raise no_route(route)
        endpoint = route.endpoint
        self.route_name = f"{endpoint.verb} {endpoint.path}"
        if endpoint.in_space:
            self.space = required_label("space", route.names["space"])
        else:
            self.space = self.app.stores.usual_space(identity)
        identity.demand_role(endpoint.role, f"call {endpoint.verb} {endpoint.path}")
        upload = await self._uploaded() if endpoint.upload else None
        body = b"" if endpoint.upload else await self.body(LONGEST_BODY)
        try:
            return await self._called(identity, route, body, upload)
        finally:
            if upload is not None:  # a job that works with it has given it another name
                upload.unlink(missing_ok=True)

    async def _called(self, identity: Identity, route: Route, body: bytes, upload: Path | None) -> Response:
        endpoint = route.endpoint
        self._take(identity, writes=0 if endpoint.reads else 1, size=self.size)
        query = parse_qsl(self.scope["query_string"].decode("latin-1"), keep_blank_values=True)
        values = read_values(route, query, body)
        who = Asker(identity, self.space)
        if endpoint.method == "changes":
            return await answer_changes(self, who, values)
        call = Call(self.app, who, route, values, self._versions(route, values), self._expected(), upload)
        if endpoint.download:
            return await self._download(call)
        if endpoint.restores:
            await self.app.restore(await self.app.in_thread(call.run))
            return JSONResponse({"result": values["name"]})
        key = "" if endpoint.reads else self.headers.get("idempotency-key", "")
        asked = json.dumps([self.verb, endpoint.path, dict(route.names), query]).encode()
        fingerprint = hashlib.sha256(asked + b"\0" + body)
        if key and upload is not None:
            fingerprint.update(await self.app.in_thread(partial(digest_of, upload)))
        answer = await self.app.in_thread(partial(call.answer, key, fingerprint.digest()))
        copying = None
        if not endpoint.reads:
            self.app.written.notify()
            copying = BackgroundTask(self.app.in_thread, self.app.stores.written)  # after the answer
        named = {"etag": answer.etag, OPERATION: answer.operation}
        headers = {name: value for name, value in named.items() if value}
        return Response(answer.body, answer.status, headers, "application/json", copying)

    async def _download(self, call: Call) -> Response:
        made: Download = await self.app.in_thread(call.run)
        headers = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
        return TemporaryFile(
            made.file, 200, headers, "application/octet-stream", filename=made.name,
            content_disposition_type="attachment",
        )  # fmt: skip

    def _expected(self) -> Mapping[str, int]:
        """The versions that memories must have to be changed, wherever the request names them."""
        sent = self.headers.get(EXPECT, "")
        versions = parsed_object(EXPECT, sent, VERSIONS_EXAMPLE) if sent else {}
        if not all(type(version) is int for version in versions.values()):
            raise InvalidInput(f"{EXPECT} has the versions of memories by their ids; send {VERSIONS_EXAMPLE}.")
        return versions

    def _versions(self, route: Route, values: Mapping[str, Any]) -> tuple[str, tuple[int, ...]] | None:
        """What `If-Match` says about the memory in the path: its id, and the versions that it may have."""
        sent = [value.decode("latin-1") for name, value in self.scope["headers"] if name == b"if-match"]
        tags = [tag for tag in (part.strip() for part in ",".join(sent).split(",")) if tag]
        id = next((str(values[name]) for name in MEMORY_IDS if name in route.names), None)
        if not tags or tags == ["*"] or route.endpoint.reads:
            return None
        if id is None or route.endpoint.owner is not MemoryStore:
            raise InvalidInput(
                "If-Match is about the memory in the path, and here is none; "
                f"send {EXPECT}: {VERSIONS_EXAMPLE} instead."
            )
        numbers = [tag.removeprefix("W/").strip('"') for tag in tags]  # W/: as a proxy that compresses writes it
        if not all(number.isdecimal() and len(number) <= LONGEST_NUMBER for number in numbers):
            raise InvalidInput('If-Match is not a version; send what the ETag said, such as "3", or several of them.')
        return id, tuple(map(int, numbers))

    async def _uploaded(self) -> Path:
        """The body in a file of its own, which whoever works with it removes."""
        number, name = tempfile.mkstemp(prefix=temporary_prefix("upload"))
        try:
            async for part in self._parts(LONGEST_UPLOAD):
                await self.app.in_thread(partial(os.write, number, part))
        except BaseException:
            Path(name).unlink()
            raise
        finally:
            os.close(number)
        return Path(name)


class TemporaryFile(FileResponse):
    """Removed with its folder, also where the client went away before it had all of it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            rmtree(Path(self.path).parent, ignore_errors=True)


def digest_of(file: Path) -> bytes:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").digest()


def replayed(body: bytes, receive: Receive) -> Receive:
    """The body, which was read already, once more; then what comes after it."""
    sent = False

    async def next_message() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return next_message


async def answer_lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
