"""Messages as lines of bytes: every request is answered, also one that cannot be read, and none is lost at the end.

The SDK's own transport drops a line that it cannot parse, so that the client waits for ever, and it ends at once when
the input does, with whatever was asked last.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

log = logging.getLogger("nacre")

Reading: TypeAlias = MemoryObjectReceiveStream["SessionMessage | Exception"]
Writing: TypeAlias = MemoryObjectSendStream[SessionMessage]

LONGEST_LINE = 32_000_000  # bytes: thirty times the longest memory
LONGEST_FAULT = 300  # characters of what is wrong with a message
# Requests that were read before the input ended may finish; this is how long a write waits for a lock, at the most.
DRAIN_SECONDS = 10.0
TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]|[^\s"\[\]{}:,]+')
COLON = re.compile(rb"\s*:")
ID = re.compile(rb'-?\d{1,18}|"[\x20-\x7e]{0,200}"')
HALF_PAIR = re.compile(rb"\\u[dD](?:[89abAB]..(?!\\u[dD][c-fC-F])|[c-fC-F]..(?<!\\u[dD][89abAB]..\\u....))")
CALL = b'"tools/call"'


class PendingRequests:
    """Which requests were read and not answered yet, and whether more can come; read by another thread as well."""

    def __init__(self) -> None:
        self.ended = False
        self._open: set[str] = set()
        self._done = anyio.Event()

    @property
    def settled(self) -> bool:
        return not self._open

    def read(self, message: object) -> None:
        if isinstance(message, JSONRPCRequest):
            self._open.add(repr(message.id))
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._close((message.params or {}).get("requestId"))  # nobody waits for it, and it may have no answer

    def written(self, message: object) -> None:
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._close(message.id)

    async def drain(self) -> None:
        """No more requests come; returns when all are answered."""
        self.ended = True
        with anyio.move_on_after(DRAIN_SECONDS):
            while not self.settled:
                self._done = anyio.Event()
                await self._done.wait()

    def _close(self, id: object) -> None:
        self._open.discard(repr(id))
        self._done.set()


class StdioPipes:
    """Two descriptors of our own, while whatever else prints or reads in this process reaches neither."""

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
        """Empty at the end; longer than `LONGEST_LINE` where the line is not read whole."""
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
        """A client that reads no more is no reason to leave what it asked for undone."""
        view = memoryview(text)
        while view and not self._broken:
            try:
                view = view[os.write(self._output, view) :]
            except OSError as error:
                log.debug("The client reads no more: %s", error)
                self._broken = True


@asynccontextmanager
async def stdio_streams(ledger: PendingRequests) -> AsyncIterator[tuple[Reading, Writing]]:
    """Both streams for a server; they end when the input has ended and every request is answered."""
    wire = StdioPipes()
    incoming, reading = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
    writing, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with incoming:
            while line := await wire.line():
                await take(line, wire, ledger, incoming)
            await ledger.drain()

    async def write() -> None:
        async with outgoing:
            async for sent in outgoing:
                await wire.send(encoded(sent.message))
                ledger.written(sent.message)

    try:
        async with anyio.create_task_group() as together:
            together.start_soon(read)
            together.start_soon(write)
            yield reading, writing
    finally:
        wire.restore()


async def take(line: bytes, wire: StdioPipes, ledger: PendingRequests, server: MemoryObjectSendStream[Any]) -> None:
    if not line.strip():
        return
    if len(line) > LONGEST_LINE:
        await answer_unreadable(line, f"it has more than {LONGEST_LINE:,} bytes", wire)
        return
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False, include_input=False)[0]["msg"]
        await answer_unreadable(line, fault, wire)
        return
    ledger.read(message)
    await server.send(SessionMessage(message))


async def answer_unreadable(line: bytes, fault: str, wire: StdioPipes) -> None:
    """An error under the id that stands in the line; without one nobody waits, and it is only logged."""
    id, method = outline(line)
    if id is None:
        log.warning("A line on stdin is not a message, and it is left out: %s", fault)
        return
    sentence = f"The message could not be read ({reason(line, fault)}); correct it and send it again."
    if method == CALL:  # as the tool's own error, which the model sees
        told: dict[str, object] = {"result": {"content": [{"type": "text", "text": sentence}], "isError": True}}
    else:
        told = {"error": {"code": INVALID_REQUEST, "message": sentence}}
    await wire.send(b'{"jsonrpc":"2.0","id":' + id + b"," + json.dumps(told).encode()[1:])


def outline(line: bytes) -> tuple[bytes | None, bytes]:
    """The id, as it is written there, and the method of a message that is no valid JSON, however deep it is."""
    depth, key, fields = 0, b"", {b'"id"': b"", b'"method"': b""}
    for found in TOKEN.finditer(line):
        token = found.group()
        if token in (b"{", b"["):
            depth += 1
            key = b""
        elif token in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and key in fields:
            fields[key], key = token, b""
        elif depth == 1:
            key = token if COLON.match(line, found.end()) else b""
    id = fields[b'"id"']
    return (id if ID.fullmatch(id) else None), fields[b'"method"']


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
        failed = {"code": INTERNAL_ERROR, "message": "The answer could not be written; the server's log tells more."}
        return json.dumps({"jsonrpc": "2.0", "id": getattr(message, "id", None), "error": failed}).encode()
