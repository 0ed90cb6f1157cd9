"""Answers HTTP requests: checks where they come from, who asks and how much, and calls one method of a store."""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
import json
import logging
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import parse_qsl

import anyio
import anyio.to_thread
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse

from nacre import __version__
from nacre.access.capabilities import Role
from nacre.access.view import marker, performed
from nacre.errors import (
    AccessDenied,
    HistoryLost,
    InvalidInput,
    IssuerUnreachable,
    MemoryNotFound,
    NacreError,
    StorageError,
    StoreBusy,
)
from nacre.factory import make_guard
from nacre.lifecycle.backups import restore
from nacre.mcp.http import LOOPBACK
from nacre.memory_store import MemoryStore
from nacre.model import JournalEntry, Memory, RememberResult
from nacre.model.validate import label, required_label
from nacre.rest.endpoints import EXPECT, arguments_of
from nacre.rest.problems import CONTENT_TYPE, problem_of, status_of
from nacre.rest.wire import is_object
from nacre.server.answers import Answer, Answers, KeyReused, Reservation
from nacre.server.api import ServerApi
from nacre.server.cleaning import CleanWriting
from nacre.server.files import Download, temporary_prefix
from nacre.server.jobs import Jobs
from nacre.server.limits import Limits, RateLimiter, tool_writes
from nacre.server.metrics import Metrics, log_request
from nacre.server.oauth import METADATA, RESOURCES, OAuth
from nacre.server.openapi import docs_page, openapi
from nacre.server.provider import Asker, UserStores, asker
from nacre.server.requests import Route, find_route, parsed_body, parsed_object, read_values
from nacre.server.sessions import Sessions, is_own_request, session_cookie, set_cookie
from nacre.server.users import TOKEN, Admitted, Identity, Registry
from nacre.web.page import page_file

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger("nacre")
T = TypeVar("T")

MCP, HEALTH, METRICS, OPENAPI, DOCS = "/mcp", "/health", "/metrics", "/v1/openapi.json", "/v1/docs"
SESSION, PAGE = "/session", "the page"
LONGEST_LOGIN = 10_000  # bytes
LONGEST_NUMBER = 18  # characters of a version or of an event: what fits into 64 bits
WORKERS = 16  # requests that use the store at once; others wait for their turn
ASKERS = 8  # requests that wait for the issuer of their token at once
UNKNOWN_TOKENS_A_MINUTE = 60  # of one address that the issuer is asked about: many clients may have one that ended
LONGEST_WAIT = 60.0  # seconds that a request for changes may wait
RESTORE_SECONDS = 15.0  # that a restore waits for running requests; new ones wait as long
LOOK_SECONDS = 0.5  # between two looks for what other instances wrote
ALIVE_SECONDS = 15.0  # between two comments in a stream: proxies cut silent connections
MOST_DROPPED = 100_000_000  # bytes of a body that is too long
VERSIONS_EXAMPLE = '{"ID": 3}'  # of what `EXPECT` takes
OPERATION = "nacre-operation"  # the header that names the operation which a request wrote, so that it can be undone
MEMORY_IDS = ("id", "old", "keep")  # names in a path of the memory that `If-Match` is about
SCHEME = "bearer "
ONLY_POST = "MCP takes only POST here: this server keeps no sessions and sends nothing on its own."


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """`hosts` are the names by which this machine may be called; `local` says that only this machine reaches it;
    `writing_tools` are those of MCP whose calls count as writes."""

    hosts: Sequence[str] = ()
    local: bool = True
    limits: Limits = field(default_factory=Limits)
    writing_tools: frozenset[str] = frozenset()
    longest_body: int = 10_000_000
    longest_upload: int = 2_000_000_000


class Refusal(Exception):
    """Ends a request with an answer."""

    def __init__(self, response: Response) -> None:
        self.response = response


def refusal(name: str, status: int, title: str, sentence: str, **headers: str) -> Refusal:
    about = problem_of(name, status, title, sentence)
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return Refusal(JSONResponse(about, status, named, CONTENT_TYPE))


class ChangeSignal:
    """Wakes the requests that wait for changes, when this instance has written."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def notify(self) -> None:
        event, self._event = self._event, asyncio.Event()
        event.set()

    async def wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), seconds)


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
        admitted = self._admitted()
        self.stores.close()
        try:
            restore(settings, copy, time.time())
        finally:
            backend = self.stores.backend()
            for each in (self.registry, self.answers, self.jobs, self.sessions):
                each.use(backend)
        if admitted is not None:
            self.registry.admit_only(admitted)

    def _admitted(self) -> Admitted | None:
        """None where the store is so damaged that they cannot be read: then those of the copy count."""
        try:
            return self.registry.admitted()
        except StorageError as error:
            log.warning("The users and tokens are those of the restored copy, since others cannot be read: %s", error)
            return None


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
        self._check_origin()
        public = self._public()
        if public is not None:
            return public
        if self.path == SESSION:
            return await self._session()
        identity = await self._identity()
        self.user, self.token = identity.user, identity.token
        if self.path == METRICS:
            return await self._metrics(identity)
        if self.path == MCP:
            await self._mcp(identity)
            return None
        return await self._rest(identity)

    # Where it comes from, and who asks

    def _check_origin(self) -> None:
        """Against pages that let their name lead here (DNS rebinding), and against those of other sites."""
        names = {name.lower() for name in (*LOOPBACK, *self.app.options.hosts)}
        host = self.headers.get("host", "").lower()
        if without_port(host) not in names:
            raise refusal(
                "WrongHost", 421, "This is another machine",
                "The request names a machine that this server does not answer for; add it with --allow-host.",
            )  # fmt: skip
        origin = self.headers.get("origin", "").lower()
        if origin and without_port(origin.partition("://")[2]) not in names:
            raise refusal(
                "WrongOrigin", 403, "The request comes from another site",
                "Pages of other sites may not use this server; open its own page.",
            )  # fmt: skip

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

    async def _session(self) -> Response:
        """Lets the page in, says who uses it, and lets it out."""
        self.route_name = SESSION
        if self.verb not in ("GET", "HEAD", "POST", "DELETE"):
            raise no_route({"GET", "POST", "DELETE"})
        if not is_own_request(self.verb, self.headers):
            raise not_own_page()
        secure = self.scope.get("scheme") == "https"
        if self.verb == "DELETE":
            await self.app.in_thread(partial(self.app.sessions.log_out, session_cookie(self.headers)))
            return JSONResponse({"user": None}, headers={"set-cookie": set_cookie(self.headers, "", secure=secure)})
        headers = {"cache-control": "no-store"}
        if self.verb == "POST":
            value, identity = await self._logged_in()
            headers["set-cookie"] = set_cookie(self.headers, value, secure=secure)
        else:
            value = session_cookie(self.headers)
            try:
                identity = await self.app.in_thread(partial(self.app.sessions.identity, value))
            except AccessDenied:
                return JSONResponse({"user": None}, headers=headers)
        self.user, self.token = identity.user, identity.token
        about = {
            "user": identity.user, "role": str(identity.role), "spaces": list(identity.spaces),
            "space": self.app.stores.usual_space(identity), "version": __version__,
        }  # fmt: skip
        return JSONResponse(about, headers=headers)

    async def _logged_in(self) -> tuple[str, Identity]:
        client = self.scope.get("client")
        wait = self.app.sessions.attempts.take(client[0] if client else "")
        if wait:
            raise too_many("There were too many attempts to sign in; try again", wait)
        sent = parsed_body(await self._body(LONGEST_LOGIN))
        code, token = (str(sent.get(name, "")) for name in ("code", "token"))
        try:
            return await self.app.in_thread(partial(self.app.sessions.log_in, code.strip(), token.strip()))
        except AccessDenied as error:
            raise self._unauthorized(str(error)) from error

    async def _identity(self) -> Identity:
        header = self.headers.get("authorization", "")
        if not header and (value := session_cookie(self.headers)):
            return await self._identity_of_page(value)
        if header[: len(SCHEME)].lower() != SCHEME:
            local = self.path == METRICS and self.app.options.local
            if local and not await self.app.in_thread(self.app.registry.has_tokens):
                return Identity("", Role.ADMIN, (), "")
            raise self._unauthorized("This server needs a token; send it as Authorization: Bearer TOKEN.")
        token = header[len(SCHEME) :].strip()
        try:
            if self.app.must_ask(token):
                return await self._identity_by_asking(token)
            return await self.app.in_thread(partial(self.app.identify, token))
        except AccessDenied as error:
            raise self._unauthorized(str(error)) from error

    async def _identity_by_asking(self, token: str) -> Identity:
        """By a request to the issuer: only tokens that it does not know are counted, by the address they come from."""
        client = self.scope.get("client")
        address = client[0] if client else ""
        wait = self.app.unknown_tokens.take(address)
        if wait:
            raise too_many("There were too many tokens that are not known; try again", wait)
        try:
            identity = await self.app.in_issuer_thread(partial(self.app.identify, token))
        except IssuerUnreachable:
            self.app.unknown_tokens.give_back(address)
            raise
        self.app.unknown_tokens.give_back(address)
        return identity

    async def _identity_of_page(self, value: str) -> Identity:
        if not is_own_request(self.verb, self.headers):
            raise not_own_page()
        try:
            return await self.app.in_thread(partial(self.app.sessions.identity, value))
        except AccessDenied as error:
            raise self._unauthorized(str(error)) from error

    def _unauthorized(self, sentence: str) -> Refusal:
        challenge = "Bearer"
        if self.app.oauth is not None:
            challenge = self.app.oauth.challenge(f"/{self.path.split('/')[1]}")
            challenge += ', error="invalid_token"' if "authorization" in self.headers else ""
        return refusal("Unauthorized", 401, "A token is needed", sentence, www_authenticate=challenge)

    def _take(self, identity: Identity, *, writes: int, size: int) -> None:
        wait = self.app.limiter.take(identity.token or identity.user, writes=writes, size=size)
        if wait:
            raise too_many("This token has used up its share of this minute; repeat it", wait)

    async def _body(self, longest: int) -> bytes:
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
        if identity.role is not Role.ADMIN:
            raise AccessDenied("The metrics need a token with the role admin; ask an admin of the server.")
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
        body = await self._body(self.app.options.longest_body)
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
        self.space = required_label("space", route.names["space"]) if endpoint.in_space else self._usual(identity)
        if not identity.role.includes(endpoint.role):
            raise AccessDenied(
                f"This needs the role {endpoint.role}, and the token has the role {identity.role}; ask an admin of the "
                "server for another token."
            )
        upload = await self._uploaded() if endpoint.upload else None
        body = b"" if endpoint.upload else await self._body(self.app.options.longest_body)
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
            return await self._changes(who, values)
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

    def _usual(self, identity: Identity) -> str:
        return self.app.stores.usual_space(identity)

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
            async for part in self._parts(self.app.options.longest_upload):
                await self.app.in_thread(partial(os.write, number, part))
        except BaseException:
            Path(name).unlink()
            raise
        finally:
            os.close(number)
        return Path(name)

    # Changes

    async def _changes(self, who: Asker, values: Mapping[str, Any]) -> Response:
        since, limit = values.get("since", 0), values.get("limit", 100)
        await self.app.in_thread(partial(self.app.stores.view, who))  # a space that is not open ends here
        if "text/event-stream" in self.headers.get("accept", ""):
            last = self.headers.get("last-event-id", "")
            stream = self._stream(who, int(last) if last.isdecimal() and len(last) <= LONGEST_NUMBER else since, limit)
            return StreamingResponse(stream, media_type="text/event-stream", headers={"cache-control": "no-store"})
        until = time.monotonic() + min(float(values.get("wait", 0)), LONGEST_WAIT)
        while True:
            entries = await self.app.in_thread(partial(self._changes_since, who, since, limit))
            left = until - time.monotonic()
            if entries or left <= 0 or self.app.draining:
                return JSONResponse({"result": self.app.writing(who.space).write(entries)})
            await self.app.written.wait(min(LOOK_SECONDS, left))
            await self._identity()  # refuses what was revoked or has expired meanwhile

    def _changes_since(self, who: Asker, since: int, limit: int) -> list[JournalEntry]:
        """The store is looked up each time: a restored backup may have taken its place."""
        return self.app.stores.view(who).changes(since, limit=limit)

    async def _stream(self, who: Asker, since: int, limit: int) -> AsyncIterator[str]:
        sent_at, writing = time.monotonic(), self.app.writing(who.space)
        yield ": changes\n\n"
        while not self.app.draining and await self._still_known():
            try:
                entries = await self.app.in_thread(partial(self._changes_since, who, since, limit))
            except HistoryLost as error:  # a client that connects again would meet it at once
                about = json.dumps(writing.problem(error))
                yield f"event: lost\ndata: {about}\n\n"
                return
            for entry in entries:
                since, sent_at = entry.seq, time.monotonic()
                data = json.dumps(writing.write(entry))
                yield f"id: {entry.seq}\nevent: change\ndata: {data}\n\n"
            if not entries:
                if time.monotonic() - sent_at > ALIVE_SECONDS:
                    sent_at = time.monotonic()
                    yield ": alive\n\n"
                await self.app.written.wait(LOOK_SECONDS)

    async def _still_known(self) -> bool:
        """False ends a stream: its token was revoked or has expired, or whoever signed in has signed out."""
        try:
            await self._identity()
        except (NacreError, Refusal):
            return False
        return True


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


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a method, in a thread of its own."""

    app: Application
    who: Asker
    route: Route
    values: Mapping[str, Any]
    versions: tuple[str, tuple[int, ...]] | None  # a memory, and those of which it must have one
    expected: Mapping[str, int] = field(default_factory=dict)
    upload: Path | None = None

    def answer(self, key: str, request: bytes) -> Answer:
        if not key:
            return self._run()
        identity = self.who.identity
        if self.route.endpoint.method == "rename_space":  # it changes the spaces of its own token
            owner = json.dumps([identity.user, identity.token])
        else:
            self.app.stores.view(self.who)  # a space that is not open ends here
            owner = identity.rights
        reserved = self.app.answers.begin(owner, key, request)
        if isinstance(reserved, Answer):
            return reserved
        return contextvars.copy_context().run(self._run_once, reserved)

    def _run_once(self, reservation: Reservation) -> Answer:
        marker.set(reservation.marker)
        try:
            answer = self._run()
        except BaseException:
            self.app.answers.abandon(reservation)
            raise
        self.app.answers.finish(reservation, answer)
        return answer

    def run(self) -> Any:
        """Calls the method, and returns what it does."""
        return self._result(self._store())

    def _store(self) -> MemoryStore:
        store = self.app.stores.view(self.who)
        if self.expected:
            store = store.expecting(self.expected, check=False)
        if self.versions is None:
            return store
        id, wanted = self.versions
        present = store.get(id) if len(wanted) > 1 else None
        expected = present.version if present is not None and present.version in wanted else wanted[-1]
        return store.expecting({**self.expected, id: expected})

    def _result(self, store: MemoryStore) -> Any:
        endpoint, owner = self.route.endpoint, cast("object", store)
        if endpoint.owner is ServerApi:
            owner = ServerApi(self.who.identity, store, self.app.registry, self.app.jobs, self.upload)
        arguments, options = arguments_of(endpoint, self.values)
        return getattr(owner, endpoint.method)(*arguments, **options)

    def _run(self) -> Answer:
        endpoint, store, operations = self.route.endpoint, self._store(), list[str]()
        performed.set(operations)
        result = self._result(store)
        if result is None and endpoint.method == "get":
            raise MemoryNotFound(str(self.values["id"]), self.who.space)
        body = self.app.writing(self.who.space).result(endpoint.method, result, self.values)
        sent = body if is_object(endpoint.returns) else {"result": body}
        written = operations[-1] if operations else ""
        return Answer(endpoint.status, json.dumps(sent, separators=(",", ":")).encode(), etag_of(result), written)


def etag_of(result: object) -> str:
    memory = result.memory if isinstance(result, RememberResult) else result
    return f'"{memory.version}"' if isinstance(memory, Memory) else ""


def too_many(sentence: str, wait: float) -> Refusal:
    """The sentence is ended with the time to wait."""
    seconds = max(1, round(wait + 0.5))
    return refusal("TooMany", 429, "Too many requests", f"{sentence} in {seconds} s.", retry_after=str(seconds))


def not_own_page() -> Refusal:
    sentence = "A request with a cookie must come from this server's own page; use a token instead."
    return refusal("WrongOrigin", 403, "The request comes from elsewhere", sentence)


def no_route(allowed: set[str]) -> Refusal:
    if allowed:
        named = ", ".join(sorted(allowed))
        sentence = f"This address takes only {named}; {OPENAPI} describes all of them."
        return refusal("WrongMethod", 405, "The HTTP method is not known here", sentence, allow=named)
    sentence = f"There is nothing at this address; {OPENAPI} describes all of them."
    return refusal("NoSuchAddress", 404, "There is nothing here", sentence)


def without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host


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
