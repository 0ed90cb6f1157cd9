"""Serves one client over stdin and stdout, and ends when the client ends, for whatever reason.

Messages are lines of bytes, and every request gets an answer, even an unreadable one. The transport of the SDK drops
lines that it cannot parse, so that the client waits forever. It also stops as soon as the input ends and loses the last
requests.
"""

from __future__ import annotations

import json
import logging
import os
import re
import select
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NoReturn, TypeAlias

import anyio
import anyio.to_thread
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server import Server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from nacre.mcp.store_provider import StoreProvider

log = logging.getLogger("nacre")

Reading: TypeAlias = MemoryObjectReceiveStream["SessionMessage | Exception"]
Writing: TypeAlias = MemoryObjectSendStream[SessionMessage]

LONGEST_LINE = 32_000_000  # bytes: thirty times the longest memory
LONGEST_FAULT = 300  # characters of an error's description
# Requests that were read before the input ended may finish. This is how long one may take after the last answer: a
# write waits for a lock for 10 s at most, and the rest is for a machine whose cores are busy with other work.
DRAIN_SECONDS = 60.0
NO_BATCHES = "batches, which only version 2025-03-26 of the protocol has, are not served; send one message a line"
# A string that is not terminated takes the rest of the line, so that no byte is scanned twice.
TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{}]|[^\s"\[\]{}:,]+', re.DOTALL)
COLON = re.compile(rb"\s*:")
HALF_PAIR = re.compile(rb"\\u[dD](?:[89abAB]..(?!\\u[dD][c-fC-F])|[c-fC-F]..(?<!\\u[dD][89abAB]..\\u....))")
CALL = b'"tools/call"'
NO_ID = b"null"


class PendingRequests:
    """The requests that were read and are not answered yet, and whether more can come. Other threads read it too."""

    def __init__(self) -> None:
        self.ended = False
        self._open: set[str] = set()
        self._done = anyio.Event()
        self._progressed_at = time.monotonic()

    @property
    def settled(self) -> bool:
        return not self._open

    @property
    def overdue(self) -> bool:
        """True when something waits, and nothing was read or answered for `DRAIN_SECONDS`."""
        return not self.settled and time.monotonic() > self._progressed_at + DRAIN_SECONDS

    def read(self, message: object) -> None:
        self._progressed_at = time.monotonic()
        if isinstance(message, types.JSONRPCRequest):
            self._open.add(repr(message.id))
        elif (cancelled := cancelled_id(message)) is not None:
            self._close(cancelled)  # the client does not wait for it, and it may get no answer

    def written(self, message: object) -> None:
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._close(message.id)

    async def drain(self) -> None:
        """No more requests come. Returns when all are answered, or one takes longer than `DRAIN_SECONDS`."""
        self.ended = True
        while not self.settled and not self.overdue:
            self._done = anyio.Event()
            with anyio.move_on_after(DRAIN_SECONDS):
                await self._done.wait()

    def _close(self, id: object) -> None:
        self._open.discard(repr(id))
        self._progressed_at = time.monotonic()
        self._done.set()


def cancelled_id(message: object) -> object:
    if isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
        return (message.params or {}).get("requestId")
    return None


class StdioPipes:
    """Private copies of stdin and stdout. Whatever else prints or reads in this process reaches neither."""

    def __init__(self) -> None:
        self._broken = False
        self._lock = anyio.Lock()
        self._input, self._output = os.dup(0), os.dup(1)
        self._lines = os.fdopen(self._input, "rb", closefd=False)
        if sys.platform != "win32":  # there a handle would have to move, too
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.close(nothing)
            os.dup2(2, 1)

    def restore(self) -> None:
        if sys.platform != "win32":
            os.dup2(self._input, 0)
            os.dup2(self._output, 1)

    async def line(self) -> bytes:
        """Empty at the end of the input. A line longer than `LONGEST_LINE` is cut one byte after that."""
        return await anyio.to_thread.run_sync(self._read, abandon_on_cancel=True)

    async def send(self, text: bytes) -> None:
        async with self._lock:
            await anyio.to_thread.run_sync(self._write, text + b"\n", abandon_on_cancel=True)

    def _read(self) -> bytes:
        try:
            line = self._lines.readline(LONGEST_LINE + 1)
            rest = line
            while len(line) > LONGEST_LINE and rest and not rest.endswith(b"\n"):
                rest = self._lines.readline(LONGEST_LINE)
            return line
        except OSError:
            return b""

    def _write(self, text: bytes) -> None:
        """When the client no longer reads, its requests are still carried out."""
        view = memoryview(text)
        while view and not self._broken:
            try:
                view = view[os.write(self._output, view) :]
            except OSError as error:
                log.debug("The client reads no more: %s", error)
                self._broken = True


@asynccontextmanager
async def stdio_streams(pending: PendingRequests) -> AsyncIterator[tuple[Reading, Writing]]:
    """Both streams for a server; they end when the input has ended and every request is answered."""
    pipes = StdioPipes()
    incoming, reading = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
    writing, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    receiver = Receiver(pipes, pending, incoming)

    async def read() -> None:
        async with incoming:
            while line := await pipes.line():
                await receiver.receive(line)
            await pending.drain()

    async def write() -> None:
        async with outgoing:
            async for sent in outgoing:
                await pipes.send(encoded(sent.message))
                pending.written(sent.message)

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            tasks.start_soon(write)
            yield reading, writing
    finally:
        pipes.restore()


class Receiver:
    """Hands each line from the client to the server, or answers it with an error."""

    def __init__(self, pipes: StdioPipes, pending: PendingRequests, server: MemoryObjectSendStream[Any]) -> None:
        self._pipes = pipes
        self._pending = pending
        self._server = server

    async def receive(self, line: bytes) -> None:
        if not line.strip():
            return
        if len(line) > LONGEST_LINE:
            await self._answer_unreadable(line, f"it has more than {LONGEST_LINE:,} bytes")
        elif line.lstrip().startswith(b"["):
            await self._pipes.send(error_line(NO_ID, b"", NO_BATCHES))
        else:
            message = parsed(line)
            if isinstance(message, str):
                await self._answer_unreadable(line, message)
            else:
                self._pending.read(message)
                await self._server.send(SessionMessage(message))

    async def _answer_unreadable(self, line: bytes, fault: str) -> None:
        """An error under the id of the line. Without an id nobody waits for an answer, and the fault is only logged."""
        outlined = outline(line)
        if outlined is None:
            log.warning("A line on stdin is not a message and is ignored: %s", fault)
        else:
            await self._pipes.send(error_line(*outlined, reason(line, fault)))


def parsed(line: bytes) -> Any:
    """The message, or a text that says what is wrong with it."""
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        return error.errors(include_url=False, include_context=False, include_input=False)[0]["msg"]
    # A request whose id is neither a text nor a whole number passes as a notification, and would get no answer.
    if isinstance(message, types.JSONRPCNotification) and b'"id"' in line and outline(line) is not None:
        return "its id is neither a string nor an integer"
    return message


def error_line(id: bytes, method: bytes, fault: str) -> bytes:
    sentence = f"The message could not be read ({fault}); correct it and send it again."
    if method == CALL:  # as the tool's own error, which the model sees
        answer: dict[str, object] = {"result": {"content": [{"type": "text", "text": sentence}], "isError": True}}
    else:
        answer = {"error": {"code": types.INVALID_REQUEST, "message": sentence}}
    return b'{"jsonrpc":"2.0","id":' + id + b"," + json.dumps(answer).encode()[1:]


def outline(line: bytes) -> tuple[bytes, bytes] | None:
    """The id as it is written, or `null` for one that no answer can carry, and the method. None without an id.

    The line need not be valid JSON and may be nested to any depth. Takes linear time.
    """
    depth, key, fields = 0, b"", {b'"id"': b"", b'"method"': b""}
    for match in TOKEN.finditer(line):
        token = match.group()
        if depth == 1 and key in fields:
            fields[key], key = token, b""
        elif depth == 1:
            key = token if COLON.match(line, match.end()) else b""
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
    id = fields[b'"id"']
    if id in (b"", NO_ID):
        return None
    return (id if is_id(id) else NO_ID), fields[b'"method"']


def is_id(token: bytes) -> bool:
    try:
        value = json.loads(token.decode())
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return False
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def reason(line: bytes, fault: str) -> str:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return f"it is not UTF-8 at byte {error.start}"
    if HALF_PAIR.search(line):
        return "it holds half of a surrogate pair, such as half an emoji"
    return fault[:LONGEST_FAULT].rstrip(".")


def encoded(message: Any) -> bytes:
    try:
        text: str = message.model_dump_json(by_alias=True, exclude_unset=True)
        return text.encode()
    except ValueError as error:  # half of a surrogate pair in an answer, for one
        log.error("An answer could not be written: %s", error)
        failed = {"code": types.INTERNAL_ERROR, "message": "The answer could not be written; see the server's log."}
        return json.dumps({"jsonrpc": "2.0", "id": getattr(message, "id", None), "error": failed}).encode()


POLL_SECONDS = 0.2  # between two checks whether the parent still lives
GRACE_SECONDS = 0.5  # for closing the store, once every request is answered


def serve_stdio(server: Server[Any], provider: StoreProvider, parent: int) -> NoReturn:
    """`parent` is the process that started this one, read early: it may be gone by now."""
    pending = PendingRequests()
    provider.batches = set()
    # In its own thread: it must see the end even while the loop is busy or a sibling process holds the pipe open.
    threading.Thread(target=wait_for_end, args=(private_copy(0), parent, pending), daemon=True).start()
    try:
        anyio.run(serve, server, pending)
    except* OSError as gone:
        log.debug("The client went away: %s", gone.exceptions)
    except* KeyboardInterrupt:
        log.debug("Interrupted.")
    threading.Timer(GRACE_SECONDS, end).start()
    provider.close()
    end()


async def serve(server: Server[Any], pending: PendingRequests | None = None) -> None:
    async with stdio_streams(pending or PendingRequests()) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def private_copy(descriptor: int) -> int | None:
    """The transport replaces stdin while it serves. None where nothing can be watched."""
    if not hasattr(select, "poll"):
        return None
    try:
        return os.dup(descriptor)
    except OSError:
        return None


def wait_for_end(descriptor: int | None, parent: int, pending: PendingRequests) -> NoReturn:
    while not (gone := os.getppid() != parent) and not hung_up(descriptor):
        pass
    deadline = time.monotonic() + DRAIN_SECONDS
    # A closed pipe may still hold requests; when the parent is gone and a sibling holds the pipe, none will come.
    while not pending.overdue and not (pending.settled and (pending.ended or gone or time.monotonic() > deadline)):
        time.sleep(POLL_SECONDS / 10)
    time.sleep(GRACE_SECONDS)
    end()


def hung_up(descriptor: int | None) -> bool:
    """Waits a moment. Reads nothing: every byte belongs to the transport."""
    if descriptor is None:
        time.sleep(POLL_SECONDS)
        return False
    watched = select.poll()
    watched.register(descriptor, 0)  # a hang-up is always reported
    return bool(watched.poll(POLL_SECONDS * 1000))


def end() -> NoReturn:
    """At once: threads that load a model or wait for a lock must not outlive the client."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    os._exit(0)
