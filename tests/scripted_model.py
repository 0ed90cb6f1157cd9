"""A model on a port of this machine that answers by a script and keeps every request.

It speaks as Anthropic Messages, OpenAI Chat and Responses, and Gemini do, whole or streamed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from itertools import chain, count
from typing import Any

from tests.loopback import running

Body = dict[str, Any]
Event = tuple[str, Body]

FINISHED = "I have nothing to add."  # when the script has ended, and to requests without tools: titles, summaries


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool. Clients put the server's name before a tool's: `remember` is also `mcp__nacre__remember`."""

    tool: str
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    text: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a client offers; `group` is the group that must be named with it, if any, `kind` that of a call."""

    name: str
    group: str = ""
    kind: str = "function"

    def is_called(self, name: str) -> bool:
        return self.name == name or self.name.endswith(f"_{name}")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came; `text` is its body, `body` that of a JSON object, else empty."""

    method: str
    path: str
    headers: Mapping[str, str]
    text: str
    body: Body
    tools: tuple[Tool, ...] = ()

    @property
    def is_turn(self) -> bool:
        """Whether it belongs to the conversation itself: it offers tools, or goes on with a thread that has them."""
        return bool(self.tools) or "previous_message_id" in self.body.get("thread", ())

    def strings(self) -> list[str]:
        """Every text in the body, in the order in which a model reads them."""
        return list(strings_of(self.body))


def strings_of(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from strings_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings_of(each)


Step = str | Call | Answer | Callable[[], Call]  # something may have to happen between two turns


class ScriptedModel:
    """Gives the answers of its script one after another to the turns of a conversation."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.url = ""
        self._script: list[Step] = []
        self._lock = threading.Lock()

    def script(self, *answers: Step) -> None:
        """A new session begins: forgets the requests so far, and what was left of the script."""
        with self._lock:
            self._script, self.asked = list(answers), []

    @property
    def turns(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.is_turn]

    def keep(self, asked: Asked) -> Answer:
        """Keeps a request, and gives the answer to it."""
        with self._lock:
            self.asked.append(asked)
            if not asked.is_turn or not self._script:
                return Answer(FINISHED)
            step = self._script.pop(0)
        answer = step() if callable(step) else step
        if isinstance(answer, Call):
            return Answer(calls=(answer,))
        return Answer(answer) if isinstance(answer, str) else answer


@contextmanager
def serving(model: ScriptedModel) -> Iterator[ScriptedModel]:
    with running(_handler(model)) as model.url:
        yield model


def named(call: Call, asked: Asked) -> Tool:
    """The tool as the client calls it; one that it does not offer under its bare name."""
    return next((tool for tool in asked.tools if tool.is_called(call.tool)), Tool(call.tool))


def call_ids(asked: Asked) -> Iterator[str]:
    """Unlike those of the turns before: every turn is longer."""
    return (f"call_{len(asked.text)}_{place}" for place in count())


class Anthropic:
    """POST /v1/messages"""

    @staticmethod
    def tools(body: Body) -> Iterator[Tool]:
        yield from (Tool(tool["name"]) for tool in body.get("tools", ()))

    @staticmethod
    def blocks(answer: Answer, asked: Asked) -> list[Body]:
        said = [{"type": "text", "text": answer.text}] if answer.text else []
        called = [
            {"type": "tool_use", "id": id, "name": named(call, asked).name, "input": dict(call.arguments)}
            for id, call in zip(call_ids(asked), answer.calls, strict=False)
        ]
        return [*said, *called]

    @classmethod
    def whole(cls, answer: Answer, asked: Asked) -> Body:
        stop = "tool_use" if answer.calls else "end_turn"
        usage = {"input_tokens": 1, "output_tokens": 1}
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": asked.body["model"],
                "content": cls.blocks(answer, asked), "stop_reason": stop, "stop_sequence": None,
                "usage": usage}  # fmt: skip

    @classmethod
    def events(cls, answer: Answer, asked: Asked) -> Iterator[Event]:
        whole = cls.whole(answer, asked)
        yield "message_start", {"message": {**whole, "content": [], "stop_reason": None}}
        for index, block in enumerate(whole["content"]):
            if block["type"] == "text":
                empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                arguments = json.dumps(block["input"])
                empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": arguments}
            yield "content_block_start", {"index": index, "content_block": empty}
            yield "content_block_delta", {"index": index, "delta": delta}
            yield "content_block_stop", {"index": index}
        ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield "message_delta", {"delta": ended, "usage": whole["usage"]}
        yield "message_stop", {}


class Chat:
    """POST /v1/chat/completions"""

    @staticmethod
    def tools(body: Body) -> Iterator[Tool]:
        yield from (Tool(tool["function"]["name"]) for tool in body.get("tools", ()))

    @staticmethod
    def message(answer: Answer, asked: Asked) -> Body:
        calls = [
            {"index": place, "id": id, "type": "function",
             "function": {"name": named(call, asked).name, "arguments": json.dumps(call.arguments)}}
            for place, (id, call) in enumerate(zip(call_ids(asked), answer.calls, strict=False))
        ]  # fmt: skip
        return {"role": "assistant", "content": answer.text or None, **({"tool_calls": calls} if calls else {})}

    @classmethod
    def whole(cls, answer: Answer, asked: Asked) -> Body:
        choice = {"index": 0, "message": cls.message(answer, asked), "finish_reason": cls.reason(answer)}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return {"id": "chat_1", "object": "chat.completion", "created": 1, "model": asked.body["model"],
                "choices": [choice], "usage": usage}  # fmt: skip

    @classmethod
    def events(cls, answer: Answer, asked: Asked) -> Iterator[Event]:
        whole = {**cls.whole(answer, asked), "object": "chat.completion.chunk"}
        said = {"index": 0, "delta": cls.message(answer, asked), "finish_reason": None}
        yield "", {**whole, "choices": [said], "usage": None}
        yield "", {**whole, "choices": [{"index": 0, "delta": {}, "finish_reason": cls.reason(answer)}]}

    @staticmethod
    def reason(answer: Answer) -> str:
        return "tool_calls" if answer.calls else "stop"


class Responses:
    """POST /v1/responses"""

    @staticmethod
    def tools(body: Body) -> Iterator[Tool]:
        """Also those that a search of the client has found."""
        found = [item["tools"] for item in body["input"] if isinstance(item, dict) and item.get("tools")]
        for tool in (*body.get("tools", ()), *chain.from_iterable(found)):
            group = tool["name"] if tool["type"] == "namespace" else ""
            for each in tool["tools"] if group else (tool,):
                yield Tool(each.get("name", each["type"]), group, each["type"])

    @staticmethod
    def items(answer: Answer, asked: Asked) -> list[Body]:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
        called = []
        for id, call in zip(call_ids(asked), answer.calls, strict=False):
            tool, ids = named(call, asked), {"call_id": id, "status": "completed"}
            if tool.kind == "tool_search":
                called.append({"type": "tool_search_call", **ids, "execution": "client", "arguments": call.arguments})
                continue
            group = {"namespace": tool.group} if tool.group else {}
            arguments = json.dumps(call.arguments)
            called.append({"type": "function_call", **ids, "name": tool.name, **group, "arguments": arguments})
        return [*([said] if answer.text else []), *called]

    @classmethod
    def whole(cls, answer: Answer, asked: Asked) -> Body:
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": {"cached_tokens": 0},
                 "output_tokens_details": {"reasoning_tokens": 0}}  # fmt: skip
        return {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed",
                "model": asked.body["model"], "output": cls.items(answer, asked), "parallel_tool_calls": True,
                "tool_choice": "auto", "tools": [], "usage": usage}  # fmt: skip

    @classmethod
    def events(cls, answer: Answer, asked: Asked) -> Iterator[Event]:
        whole = cls.whole(answer, asked)
        yield "response.created", {"response": {**whole, "status": "in_progress", "output": [], "usage": None}}
        for index, item in enumerate(whole["output"]):
            yield "response.output_item.added", {"output_index": index, "item": item}
            yield "response.output_item.done", {"output_index": index, "item": item}
        yield "response.completed", {"response": whole}


class Gemini:
    """POST /v1beta/models/MODEL:generateContent and :streamGenerateContent"""

    @staticmethod
    def tools(body: Body) -> Iterator[Tool]:
        for tool in body.get("tools", ()):
            yield from (Tool(each["name"]) for each in tool.get("functionDeclarations", ()))

    @staticmethod
    def whole(answer: Answer, asked: Asked) -> Body:
        called = [{"functionCall": {"name": named(call, asked).name, "args": dict(call.arguments)}}
                  for call in answer.calls]  # fmt: skip
        parts = [*([{"text": answer.text}] if answer.text else []), *called]
        candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}

    @classmethod
    def events(cls, answer: Answer, asked: Asked) -> Iterator[Event]:
        yield "", cls.whole(answer, asked)


Protocol = type[Anthropic] | type[Chat] | type[Responses] | type[Gemini]
PROTOCOLS: Mapping[str, Protocol] = {
    "/messages": Anthropic, "/chat/completions": Chat, "/responses": Responses, ":generateContent": Gemini,
    ":streamGenerateContent": Gemini,
}  # fmt: skip


def protocol_of(path: str) -> Protocol | None:
    plain = path.partition("?")[0]
    return next((protocol for ending, protocol in PROTOCOLS.items() if plain.endswith(ending)), None)


def streamed(protocol: Protocol, events: Iterable[Event]) -> bytes:
    """Server-sent events: named where the protocol names them."""
    lines = []
    for name, data in events:
        kept = {"type": name, **data} if name else data
        lines.append((f"event: {name}\n" if name else "") + f"data: {json.dumps(kept)}\n\n")
    return "".join((*lines, "data: [DONE]\n\n" if protocol is Chat else "")).encode()


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle(self) -> None:
            with suppress(ConnectionError):  # a client that ends does not close its connections
                super().handle()

        def answer(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode("utf-8", "replace")
            protocol = protocol_of(self.path) if self.command == "POST" else None
            body = json.loads(text) if protocol else {}
            headers = {name.lower(): value for name, value in self.headers.items()}
            tools = tuple(protocol.tools(body)) if protocol else ()
            asked = Asked(self.command, self.path, headers, text, body, tools)
            said = model.keep(asked)
            if protocol is None:  # a list of models, a count of tokens, or a way to another machine
                self.send(404, "application/json", b'{"error": {"message": "only a model is here"}}')
            elif body.get("stream") or ":stream" in self.path:
                self.send(200, "text/event-stream", streamed(protocol, protocol.events(said, asked)))
            else:
                self.send(200, "application/json", json.dumps(protocol.whole(said, asked)).encode())

        do_GET = do_POST = do_HEAD = do_CONNECT = answer  # noqa: N815 (the base class calls them so)

        def send(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    return Handler
