"""`RemoteStore`: the methods of `MemoryStore`, carried out by a server (`nacre serve`)."""

from __future__ import annotations

import copy
import http.client
import json
import logging
import socket
import ssl
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from inspect import BoundArguments, Parameter, signature
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self, Unpack, cast
from urllib.parse import quote, urlencode, urlsplit

from nacre.access.unlimited import Unlimited
from nacre.engine.engine import UNDO
from nacre.errors import (
    ConfigError,
    InvalidInput,
    MemoryNotFound,
    StorageError,
    StoreUnreachable,
    UnknownName,
    VersionMismatch,
)
from nacre.factory import service_key
from nacre.memory_store import MemoryStore
from nacre.model import Hit, JournalEntry, Listing, Memory
from nacre.model.instants import Instant
from nacre.model.journal import renamed_to
from nacre.model.review import ReviewItem
from nacre.model.validate import (
    CHECKS,
    TIME_FIELDS,
    check_arguments,
    checks_arguments,
    hints_of,
    json_object,
    label,
    refuse_single,
    required_label,
    space_name,
)
from nacre.project_store import Choose, ProjectStore
from nacre.protocols import Order, Progress, Vectors
from nacre.recall_options import RecallOptions, Scope, between, make_filter, split_options
from nacre.rest.endpoints import (
    ARGUMENTS,
    ELSEWHERE,
    EXPECT,
    LOCAL_ONLY,
    MOST_LISTED,
    VERSION,
    Endpoint,
    endpoints,
    fits_path,
    plain_method,
)
from nacre.rest.problems import error_of
from nacre.rest.wire import Reading, is_object, to_json
from nacre.settings import DEFAULT, PERSONAL, Settings, SpaceChoice, personal_space, without_password
from nacre.settings import settings as read_settings
from nacre.storage.pages import check_page

if TYPE_CHECKING:
    from nacre.protocols import Embedder

log = logging.getLogger("nacre.waiting")

SECONDS = 120.0  # that an answer may take: a server's model may still be loading
IDLE_SECONDS = 4.0  # a server closes a connection that was not used for five
ATTEMPTS = 5
PAUSES = (0.1, 0.5, 2.0, 5.0)  # seconds between them, where the server names none
LONGEST_PAUSE = 30.0
LONGEST_QUERY = 4_000  # characters, of which proxies take about 8,000; more goes into the body
LOOK_SECONDS = 0.5  # between two looks at a job
NEWEST = 50  # operations read at a time, to find the last ones that were not undone
UNAUTHORIZED = "Unauthorized"  # the problem of a request without a token that the server knows
HOW_TO_SET_TOKEN = "set NACRE_TOKEN, or name its file with `nacre config set token file:PATH`"
NOT_SENT = (ConnectionRefusedError, socket.gaierror)  # errors before anything was sent
MAY_BE_DONE = (
    "The request was sent and may have been carried out, a long one in part; look at the journal before you repeat it."
)
READING = Reading(strict=False)

# Methods of `MemoryStore` that a server cannot carry out, with the reason.
LOCAL_METHODS: Mapping[str, str] = {
    "write": "it takes functions of your program",
    "editing": "it returns a function for `write`",
    "reading": "it reads from a backend",
    "acting_as": "it returns the engine of the store",
    "as_user": "the token says who you are",
    "backup": "it writes a file of yours; `nacre store backup create` without a path makes a copy there",
}


class Reply(NamedTuple):
    status: int
    body: bytes
    wait: float | None  # seconds after which the request should be sent again; None: it should not
    leads_to: str  # the address that the server names instead


class Connection:
    """Sends requests, from any number of threads. A write has a key of its own, so that it can be sent again when an
    answer is lost, and is carried out once."""

    def __init__(self, url: str, token: str, seconds: float) -> None:
        place = urlsplit(url)
        if place.scheme not in ("http", "https") or not place.hostname:
            public = without_password(url)
            raise ConfigError(
                f"{public!r} is not the address of a server; write https://memory.example.org, for example."
            )
        self.url, self.place, self.seconds = url.rstrip("/"), place, seconds
        self._headers = {"Accept": "application/json", "User-Agent": "nacre"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._idle: deque[tuple[http.client.HTTPConnection, float]] = deque()
        self._tls = ssl.create_default_context() if place.scheme == "https" else None
        self._closed = False

    def send(self, verb: str, path: str, body: object, *, writes: bool, headers: Mapping[str, str]) -> Any:
        """The JSON of the answer. Raises the error that the server met, and `StoreUnreachable`."""
        answer = self.send_raw(verb, path, body, writes=writes, headers=headers)
        try:
            return json.loads(answer)
        except ValueError as error:
            raise self.not_ours("its answer is not JSON") from error

    def send_raw(self, verb: str, path: str, body: object, *, writes: bool, headers: Mapping[str, str]) -> bytes:
        if self._closed:
            raise StorageError(f"The store {without_password(self.url)} is closed; open it again.")
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        sent = {**self._headers, **headers, **({"Content-Type": kind} if data is not None else {})}
        if writes:
            sent["Idempotency-Key"] = str(uuid.uuid4())
        reason, begun = "", False
        for attempt in range(ATTEMPTS):
            try:
                reply = self._exchange(verb, path, data, sent)
            except ssl.SSLCertVerificationError as error:
                raise self._unreachable(f"its certificate is not trusted: {error.verify_message}") from error
            except (OSError, http.client.HTTPException) as error:
                reason, begun = str(error) or type(error).__name__, begun or not isinstance(error, NOT_SENT)
                time.sleep(PAUSES[min(attempt, len(PAUSES) - 1)])
                continue
            if reply.status < 300:
                return reply.body
            if reply.status < 400:
                leads_to = f" and leads to {reply.leads_to}" if reply.leads_to else ""
                raise self.not_ours(f"it answers {reply.status}{leads_to}")
            if reply.wait is None or attempt == ATTEMPTS - 1:
                raise error_of(self._problem(reply))
            self._wait(reply, min(reply.wait, LONGEST_PAUSE))
        raise self._unreachable(f"the server does not answer: {reason}", MAY_BE_DONE if writes and begun else "")

    def _wait(self, reply: Reply, seconds: float) -> None:
        detail = problem_in(reply.body, reply.status).get("detail")
        reason = detail if isinstance(detail, str) and detail else f"The server answered {reply.status}"
        log.warning("%s. The request is sent again in %g s.", reason.removesuffix("."), seconds)
        time.sleep(seconds)

    def _problem(self, reply: Reply) -> dict[str, Any]:
        """With how to set a token, where the server wants another one: it speaks of the header, which this class
        sends."""
        about = problem_in(reply.body, reply.status)
        if str(about["type"]).rpartition(":")[2] != UNAUTHORIZED:
            return about
        sentence = f"This server needs a token; {HOW_TO_SET_TOKEN}."
        if "Authorization" in self._headers:
            sentence = f"{about.get('message') or 'This token is refused.'} To use another token, {HOW_TO_SET_TOKEN}."
        return {"type": "urn:nacre:error:AccessDenied", "message": sentence}

    def not_ours(self, reason: str) -> StoreUnreachable:
        """Something else answers there: a proxy, a page, another service."""
        remedy = "Check the address: it must be that of `nacre serve` itself, often with https://."
        return StoreUnreachable(without_password(self.url), f"what answers there is no Nacre server: {reason}", remedy)

    def _unreachable(self, reason: str, note: str = "") -> StoreUnreachable:
        remedy = "Check the address, and that `nacre serve` runs there, or choose another store with --store."
        return StoreUnreachable(without_password(self.url), reason, f"{note} {remedy}".strip())

    def _exchange(self, verb: str, path: str, data: bytes | None, headers: Mapping[str, str]) -> Reply:
        connection = self._connection()
        try:
            connection.request(verb, self.place.path.rstrip("/") + path, data, dict(headers))
            response = connection.getresponse()
            answer, wait = response.read(), response.headers.get("Retry-After", "")
        except BaseException:
            connection.close()
            raise
        self._idle.append((connection, time.monotonic()))
        leads_to = without_password(response.headers.get("Location", ""))
        return Reply(response.status, answer, float(wait) if wait.isdecimal() else None, leads_to)

    def _connection(self) -> http.client.HTTPConnection:
        """One that nobody uses just now, else a new one."""
        while self._idle:
            try:
                known, used = self._idle.pop()
            except IndexError:  # another thread took it
                break
            if time.monotonic() - used < IDLE_SECONDS:
                return known
            known.close()
        host, port = self.place.hostname or "", self.place.port
        if self._tls is None:
            return http.client.HTTPConnection(host, port, timeout=self.seconds)
        return http.client.HTTPSConnection(host, port, timeout=self.seconds, context=self._tls)

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop()[0].close()


def problem_in(answer: bytes, status: int) -> dict[str, Any]:
    """Something in front of the server may answer with a page."""
    try:
        about = json.loads(answer)
    except ValueError:
        about = None
    if isinstance(about, dict) and "type" in about:
        return about
    return {"type": "urn:nacre:error:StorageError", "message": f"The server answered {status}; check its address."}


class NotHere:
    """Stands for the parts of a store that only the server has."""

    access = None

    def __getattr__(self, name: str) -> NoReturn:
        raise InvalidInput(
            "This works on the store itself, and not through a server. Run it where the server runs, or name a file "
            "with --store."
        )


@checks_arguments
class RemoteStore(MemoryStore):
    """A space of a store behind a server. Safe to use from any number of threads.

    `url` is the server's address, such as https://memory.example.org; without a `token`, the setting `token` names it
    (the variable NACRE_TOKEN, for example); without a `space`, it is that of a token for exactly one, else `default`.
    Errors of the server are raised as the same classes as locally. The server's settings decide about secrets,
    conflicts and models, and the token's user is the actor.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        space: str | None = None,
        token: str | None = None,
        settings: Settings | None = None,
        seconds: float = SECONDS,
        actor: str = "",  # noqa: ARG002 (the token says who acts)
        embedder: object = None,  # noqa: ARG002 (the server has it)
    ) -> None:
        common = settings or read_settings()
        self._connected = Connection(
            common.store if url is None else url, service_key(common, "token") if token is None else token, seconds
        )
        self._space = label("space", common.space if space is None else space)
        self.agent = self.session = ""
        self._settings, self._clock, self._access = common, time.time, Unlimited()
        self._parts = self._engine = self._backend = self._guard = NotHere()  # type: ignore[assignment]
        self._versions: Mapping[str, int] = {}

    @property
    def space(self) -> str:
        """Where none was named, the server is asked once: the one space of a token for one, else `default`."""
        if not self._space:
            opened = self.me()["spaces"]
            self._space = str(opened[0]) if len(opened) == 1 else DEFAULT
        return self._space

    @space.setter
    def space(self, name: str) -> None:
        self._space = name

    def in_space(self, name: str) -> Self:
        view = copy.copy(self)
        view.space, view.beside, view._versions = required_label("space", name), None, {}
        return view

    def as_actor(self, name: str) -> Self:  # noqa: ARG002 (the token says who acts)
        return copy.copy(self)

    def expecting(self, versions: Mapping[str, int], *, check: bool = True) -> Self:
        for id, version in versions.items() if check else ():
            memory = self.get(id)
            if memory is None:
                raise MemoryNotFound(id, self.space)
            if memory.version != version:
                raise VersionMismatch(id, version, memory.version)
        view = copy.copy(self)
        view._versions = dict(versions)
        return view

    def close(self) -> None:
        self._connected.close()

    @property
    def embedder(self) -> Embedder:
        return self._engine.embedder.inner

    @property
    def can_edit_vocabulary(self) -> bool:
        return False

    @property
    def user_rights(self) -> tuple[str, tuple[str, ...]]:
        """Asks the server."""
        me = self.me()
        return str(me["role"]), tuple(map(str, me["spaces"]))

    def _count_uses(self, hits: Iterable[Hit]) -> None:
        """Of hits of several spaces; the server counts links where it looks into one alone."""
        self.touch(*(hit.memory.id for hit in hits))

    def clean(self, memory: Memory) -> Memory:
        """As it is: the server has removed secrets."""
        return memory

    def me(self) -> dict[str, Any]:
        """The user, the role and the spaces of the token."""
        about = self._connected.send("GET", f"{VERSION}/me", None, writes=False, headers={})
        if not isinstance(about, dict) or not {"user", "role", "spaces"} <= about.keys():
            raise self._connected.not_ours("its answer does not say who you are")
        return about

    # What is not one request

    def remember(self, text: str, **options: Any) -> Memory:
        return self.remember_result(text, **options).memory

    def get(self, id: str, *, as_of: Instant | None = None, valid_at: Instant | None = None) -> Memory | None:
        try:
            memory: Memory | None = self._call("get", {"id": id, "as_of": as_of, "valid_at": valid_at})
        except MemoryNotFound:
            return None
        if memory is None:
            raise self._connected.not_ours("it answers with nothing")
        return memory

    def list_recent(
        self, limit: int = 20, *, order: Order = "newest", offset: int = 0, cursor: str = "", **scope: Unpack[Scope]
    ) -> Listing:
        check_page(limit, offset)
        listing, options = Listing([], cursor), checked_scope(scope)
        while True:
            wanted = min(limit - len(listing), MOST_LISTED)
            values = {"limit": wanted, "order": order, "offset": offset, "cursor": listing.cursor, **options}
            page: Listing = self._call("list_recent", values)
            listing = Listing([*listing, *page], page.cursor)
            if not page.cursor or len(listing) >= limit:
                return listing
            offset = 0

    def iterate(self, **scope: Unpack[Scope]) -> Iterator[Memory]:
        return self._iterate(checked_scope(scope))

    def _iterate(self, scope: Scope) -> Iterator[Memory]:
        cursor = ""
        while True:
            page = self.list_recent(MOST_LISTED, order="oldest", cursor=cursor, **scope)
            yield from page
            cursor = page.cursor
            if not cursor:
                return

    def iterate_journal(
        self,
        id: str | None = None,
        *,
        operation: str | None = None,
        actor: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
    ) -> Iterator[JournalEntry]:
        start, end = between(since, until, self._clock())
        for entry in self._entries():
            done = entry.operation
            named = (id in (None, entry.memory_id), operation in (None, done.name), actor in (None, done.actor))
            if all(named) and (start is None or done.at >= start) and (end is None or done.at <= end):
                yield entry

    def journal(
        self,
        id: str | None = None,
        *,
        operation: str | None = None,
        actor: str | None = None,
        batch: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        limit: int | None = 20,
        newest_first: bool = True,
    ) -> list[JournalEntry]:
        """One request for as many as a server lists at once; where there are more, the journal is read to its end."""
        check_page(limit, 0)
        options = {"id": id, "operation": operation, "actor": actor, "batch": batch, "since": since, "until": until}
        known = {name: value for name, value in options.items() if value is not None}
        first = MOST_LISTED if limit is None else min(limit, MOST_LISTED)
        entries: list[JournalEntry] = self._call("journal", {**known, "limit": first, "newest_first": newest_first})
        if first == limit or len(entries) < MOST_LISTED:
            return entries
        read = self.iterate_journal(id, operation=operation, actor=actor, since=since, until=until)
        entries = [entry for entry in read if batch is None or entry.operation.batch.startswith(batch)]
        return (entries[::-1] if newest_first else entries)[:limit]

    def _entries(self) -> Iterator[JournalEntry]:
        """All of them, oldest first; what is written meanwhile is left out."""
        newest = self.journal(limit=1)
        last, seq = (newest[0].seq if newest else 0), self._begins()
        while seq < last:
            entries = self.changes(seq, limit=MOST_LISTED)
            yield from (entry for entry in entries if entry.seq <= last)
            seq = entries[-1].seq if entries else last

    def _begins(self) -> int:
        """The number after which the journal begins, where some of it was dropped."""
        first = self.journal(limit=1, newest_first=False)
        return first[0].seq - 1 if first else 0

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        import numpy as np

        rows: dict[str, list[list[float]]] = {}
        for part in parts(ids):
            rows |= self._raw("vectors", {"ids": part})
        return {id: np.array(each, np.float32) for id, each in rows.items()}

    def get_many(self, ids: Sequence[str]) -> list[Memory]:
        return [memory for part in parts(list(dict.fromkeys(ids))) for memory in self._call("get_many", {"ids": part})]

    def undo(
        self, batch: str | JournalEntry | None = None, *, last: int | None = None, any_actor: bool = False,
        cascade: bool = False, why: str = "",
    ) -> list[JournalEntry]:  # fmt: skip
        if batch is not None and last is not None:
            raise InvalidInput("Name an operation, or say how many to undo; not both.")
        options: dict[str, object] = {"cascade": cascade, "why": why}
        if batch is None:
            options |= {"last": last, "any_actor": any_actor}
        else:
            options["batch"] = batch.operation.batch if isinstance(batch, JournalEntry) else batch
        entries: list[JournalEntry] = self._call("undo", options)
        self.space = renamed_to(entries) or self.space
        return entries

    def rename_space(self, new: str, *, why: str = "") -> None:
        name = space_name(new)
        self._call("rename_space", {"new": name, "why": why})
        self.space = name

    def reindex(self, *, restart: bool = False, progress: Progress | None = None) -> int:
        """As a job of the server, which goes on when this program ends."""
        return int(self.run_job("jobs/reindex", {"restart": restart}, progress)["memories"])

    def check_records(self) -> None:
        """Nothing: whoever runs the server examines its store, with `nacre doctor`."""

    # What a server does besides the methods of a store

    def ask_server(self, verb: str, path: str, body: object = None) -> Any:
        """The answer of an address below /v1, without `result` around it. An admin asks for most of them."""
        answer = self._connected.send(verb, f"{VERSION}/{path}", body, writes=verb != "GET", headers={})
        return answer["result"] if isinstance(answer, dict) and list(answer) == ["result"] else answer

    def download(self, path: str) -> bytes:
        """A file from an address below /v1."""
        return self._connected.send_raw("GET", f"{VERSION}/{path}", None, writes=False, headers={})

    def run_job(self, path: str, body: object, progress: Progress | None = None) -> dict[str, Any]:
        """Starts a job, which goes on when this program ends, and waits for its result. Raises the error it met."""
        job = self.ask_server("POST", path, body)
        while job["state"] == "running":
            time.sleep(LOOK_SECONDS)
            job = self.ask_server("GET", f"jobs/{job['id']}")
            if progress is not None and job["total"]:
                progress(job["done"], job["total"], job["what"])
        if job["state"] != "done":
            raise error_of(job["error"] or {"message": "The server ended before the job did; start it again."})
        result: dict[str, Any] = job["result"]
        return result

    @property
    def address(self) -> str:
        """That of the space, below /v1."""
        return f"spaces/{quote(self.space, safe='')}"

    # One request

    def _call(self, method: str, values: Mapping[str, Any]) -> Any:
        endpoint = self._endpoint(method, values)
        data = self._raw(method, values)
        try:
            return READING.read("the answer", endpoint.returns, data)
        except (InvalidInput, KeyError, TypeError) as error:
            raise self._connected.not_ours("its answer cannot be read") from error

    def _raw(self, method: str, values: Mapping[str, Any]) -> Any:
        endpoint, values = self._endpoint(method, values), dict(values)
        expected = self._versions and not endpoint.reads
        headers = {EXPECT: json.dumps(dict(self._versions))} if expected else {}
        target, body = request_of(endpoint, self.space, values)
        data = self._connected.send(endpoint.verb, target, body, writes=not endpoint.reads, headers=headers)
        if is_object(endpoint.returns):
            return data
        if not isinstance(data, dict) or "result" not in data:
            raise self._connected.not_ours("its answer has no result")
        return data["result"]

    def _endpoint(self, method: str, values: Mapping[str, Any]) -> Endpoint:
        """The first whose path can be filled. One memory alone is named like several."""
        for endpoint in (each for each in endpoints() if each.method == method):
            of_several = not (endpoint.of_one and endpoint.path_names == ("id",))
            if of_several and all(values.get(name) is not None for name in endpoint.path_names):
                return endpoint
        raise InvalidInput(f"{method} lacks an argument; name what it is about.")


def parts(ids: Sequence[str]) -> Iterator[list[str]]:
    """As many as a server answers for at once."""
    yield from (list(ids[first : first + MOST_LISTED]) for first in range(0, len(ids), MOST_LISTED))


def request_of(endpoint: Endpoint, space: str, values: Mapping[str, Any]) -> tuple[str, Any]:
    """The path with its query, and the body. Values go as JSON, also in a query: whatever the server reads is then what
    was given, as in a local call."""
    known = {each.name: each for each in endpoint.parameters}
    path = endpoint.path.replace("{space}", quote(space, safe=""))
    sent: dict[str, Any] = {}
    for name, value in values.items():
        parameter = known.get(name)
        if parameter is not None and parameter.place == "path":
            fits = fits_path(str(value))
            path = path.replace(f"{{{name}}}", quote(str(value), safe="") if fits else ELSEWHERE)
            if fits:
                continue
        none_is_default = endpoint.reads or endpoint.verb == "DELETE"  # elsewhere it may delete what a field has
        if value is not None or not none_is_default or (parameter is not None and parameter.default is not None):
            sent[name] = value if isinstance(value, float) else to_json(value)  # also one that is not finite
    if endpoint.verb not in ("GET", "DELETE"):
        return path, sent
    query = f"?{urlencode({ARGUMENTS: json.dumps(sent)})}" if sent else ""
    return (path + query, None) if len(query) <= LONGEST_QUERY else (path, sent)


def remote(name: str) -> Callable[..., Any]:
    """The method of this name, as one request."""
    method = plain_method(name)
    shape = signature(method)
    paged = {"limit", "offset"} <= shape.parameters.keys()  # more may be asked for than a server gives at once

    @wraps(method)
    def call(self: RemoteStore, /, *arguments: Any, **options: Any) -> Any:
        bound = shape.bind(self, *arguments, **options)
        check_arguments(bound, hints_of(method))
        values = values_to_send(name, bound)
        if paged and ("limit" in values or shape.parameters["limit"].default is None):
            return in_pages(self, name, values)
        return self._call(name, values)

    return call


def values_to_send(name: str, bound: BoundArguments) -> dict[str, Any]:
    """The arguments of a method by the names of the API, checked as far as a local store would check them before it
    looks at what is stored."""
    values: dict[str, Any] = {}
    for each in list(bound.signature.parameters.values())[1:]:
        if each.kind is Parameter.VAR_POSITIONAL:
            values[each.name] = []
        if each.name not in bound.arguments:
            continue
        value = bound.arguments[each.name]
        if each.kind is Parameter.VAR_KEYWORD:
            values |= CHECKED_OPTIONS[each.name](value)
        elif each.name in LOCAL_ONLY:
            refuse_function(each.name, value)
        else:
            values[each.name] = list(value) if isinstance(value, Iterator | tuple) else value
    if name == "decide" and not isinstance(values["item"], str):
        values = named_item(values.pop("item")) | values
    if name == "remember_many":
        refuse_single(values["items"])
        values["items"] = [each if isinstance(each, str) else checked_fields(each) for each in values["items"]]
    if values.get("data"):
        values["data"] = json_object("data", values["data"])
    if "limit" in values:
        check_page(values["limit"], values.get("offset", 0))
    return values


def named_item(item: ReviewItem) -> dict[str, Any]:
    """The item by its id; a stale one as stale as any, since the review that listed it may have asked for fewer days
    than the server looks for."""
    return {"item": item.id, **({"stale_days": 0.0} if item.kind == "stale" else {})}


def checked_fields(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields of a memory, checked as a local store does it: JSON would turn some of what it refuses into something
    else. Times stay as they are, because words such as `friday` are about the server's clock."""
    checked = dict(fields)
    for name, value in fields.items():
        if name not in (*CHECKS, "id_prefix"):
            raise UnknownName("field", name, CHECKS)
        if name in CHECKS and name not in TIME_FIELDS:
            checked[name] = CHECKS[name](name, value)
    return checked


def checked_scope(scope: Scope) -> Scope:
    """The options of a filter, checked as a local store does it, with lists in the place of iterators, which can be
    read only once. Types stay unchecked: the server has them."""
    known = {name: list(each) if isinstance(each, Iterator) else each for name, each in scope.items()}
    make_filter(
        cast("Scope", {name: each for name, each in known.items() if name != "type"}), now=time.time(), types=()
    )
    return cast("Scope", known)


def checked_options(options: RecallOptions) -> dict[str, Any]:
    ranking, scope = split_options(options)
    return {**ranking, **checked_scope(scope)}


# How the keyword options of a method are checked, by the name of its ** parameter.
CHECKED_OPTIONS: Mapping[str, Callable[[Any], Mapping[str, Any]]] = {
    "fields": checked_fields, "scope": checked_scope, "options": checked_options,
}  # fmt: skip


def in_pages(store: RemoteStore, name: str, values: Mapping[str, Any]) -> list[Any]:
    """One request for as many as a server lists at once, until there are no more."""
    limit, offset, items = values.get("limit"), values.get("offset", 0), list[Any]()
    while True:
        wanted = MOST_LISTED if limit is None else min(MOST_LISTED, limit - len(items))
        page = store._call(name, {**values, "limit": wanted, "offset": offset + len(items)})
        items += page
        if len(page) < wanted or wanted < MOST_LISTED or len(items) == limit:
            return items


def refuse_function(name: str, value: object) -> None:
    """Progress is not reported; a function that decides something is refused."""
    if value is not None and name != "progress":
        raise InvalidInput(f"{name} is a function of your program, which a server cannot call; leave it out.")


def refused(name: str, reason: str) -> Callable[..., Any]:
    @wraps(plain_method(name))
    def call(self: RemoteStore, /, *_: Any, **__: Any) -> NoReturn:  # noqa: ARG001
        raise InvalidInput(
            f"This does not work through a server ({name}: {reason}). Run it where the server runs, or name a file "
            "with --store."
        )

    return call


for _name in dict.fromkeys(each.method for each in endpoints()):
    if _name not in vars(RemoteStore):
        setattr(RemoteStore, _name, remote(_name))
for _name, _reason in LOCAL_METHODS.items():
    setattr(RemoteStore, _name, refused(_name, _reason))


class RemoteProjectStore(ProjectStore, RemoteStore):
    """What the interfaces work with: a project's space of a server, and the user's own personal space beside it."""

    _count_uses = RemoteStore._count_uses  # `touch` finds the space of each hit

    def _in_chosen_space(self, first: SpaceChoice, choose: Choose, *, alone: bool) -> Self:
        """In the space that the rule chooses; where nobody names one and the token is for exactly one, in that. Its
        `personal` is the user's own on this server."""
        me = self.me()
        opened = [str(space) for space in me["spaces"]]
        self.personal_space = personal_space(str(me["user"]))
        if len(opened) == 1 and not first.named:
            return self.in_space(opened[0])
        allowed = opened[0] if opened else self.personal_space  # the list of spaces is asked for in one of them too
        choice = choose(list(self.in_space(allowed).spaces()))
        own = choice.space == PERSONAL and not choice.named
        store = self.in_space(self.personal_space if own else choice.space)
        beside = self.personal_space if choice.beside == PERSONAL else choice.beside
        return store if alone or (opened and beside not in opened) else store.looking_into(beside)

    def _last_done(self, store: MemoryStore, count: int, any_actor: bool) -> list[float]:
        actor = None if any_actor else str(self.me()["user"])
        done: list[float] = []
        before: int | None = None
        while len(done) < count:
            notes = store.operations(actor=actor, before=before, limit=NEWEST)
            done += [each.operation.at for each in notes if not each.undone and each.operation.name != UNDO]
            if len(notes) < NEWEST:
                break
            before = notes[-1].seq
        return done[:count]
