"""Reads an agent file of Letta (.af): its memory blocks, and what was said."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from nacre.errors import ArchiveRefused
from nacre.files import open_regular
from nacre.model.memory import Json
from nacre.protocols import Progress
from nacre.remember.guard import Guard
from nacre.transfer.foreign import source as foreign
from nacre.transfer.foreign.look import Look
from nacre.transfer.foreign.source import ForeignSource, printable, times
from nacre.transfer.ingest.items import clean_text, identity, object_in, parse_time, text_of
from nacre.transfer.read_archive import MemoryRow, Row

NAME = "letta"
SUFFIX = ".af"
LARGEST = 256_000_000  # bytes: it is one JSON object, read at once
SPEAKERS = ("user", "assistant")
COUNTED_ID = re.compile(r"(?:[a-z]+-)?\d{0,6}")  # agent-0, or none: another file has the same ones
CLEANING = Guard(personal="redact")  # whatever the settings allow to be stored
SAYS = "send_message"  # the tool by which some agents speak; what they write beside it are thoughts


def matches(look: Look) -> bool:
    if look.is_folder or not look.text.startswith("{"):
        return False
    return look.path.suffix.lower() == SUFFIX or look.has_key("memory_blocks", "core_memory", "block_ids")


@contextmanager
def opened(path: Path) -> Iterator[Letta]:
    """Raises `ArchiveRefused`."""
    try:
        with open_regular(path) as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        reason = f"it cannot be read ({error.strerror or error})"
        raise ArchiveRefused(path, reason, "Check the path and its permissions.") from error
    if len(content) > LARGEST:
        raise ArchiveRefused(path, f"it is larger than {LARGEST // 1_000_000} MB", "Export a smaller agent.")
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        raise ArchiveRefused(path, "it is not JSON", "Export the agent again.") from None
    agents = agents_of(value)
    if not agents:
        raise ArchiveRefused(path, "it holds no agent of Letta", "Name an agent file (.af).")
    blocks = {text_of(block, "id"): block for block in objects(value, "blocks")}
    at = path.stat().st_mtime
    yield Letta(path, foreign.header(NAME), agents=agents, blocks=blocks, at=at)


def agents_of(value: Json) -> list[Mapping[str, Json]]:
    """Older files are one agent."""
    if isinstance(value, dict) and isinstance(value.get("core_memory"), list):
        return [value]
    return objects(value, "agents")


def objects(value: Json | Mapping[str, Json], name: str) -> list[Mapping[str, Json]]:
    listed = value.get(name) if isinstance(value, dict) else None
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


@dataclass(slots=True, kw_only=True)
class Letta(ForeignSource):
    """Blocks have no times of their own; `at` is when the file was written. What has an id that is only counted within
    its file is known by its words instead, and by how often they were said."""

    agents: list[Mapping[str, Json]]
    blocks: Mapping[str, Mapping[str, Json]]
    at: float
    left_out: int = 0
    said: Counter[str] = field(default_factory=Counter)

    def further_notes(self) -> Iterator[str]:
        if self.left_out:
            yield f"{self.left_out:,} messages of the system and of tools, and empty blocks, were left out."

    def rows(self, progress: Progress | None = None) -> Iterator[Row]:  # noqa: ARG002 - it is read already
        self.left_out = 0
        self.said.clear()
        number = 0
        for agent in self.agents:
            for row in self._agent(agent):
                number += 1
                yield MemoryRow(number, row, name=printable(row["title"] or row["role"]))

    def _agent(self, agent: Mapping[str, Json]) -> Iterator[dict[str, object]]:
        name = text_of(agent, "name") or "agent"
        listed = agent.get("block_ids")
        ids = [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
        chosen = [self.blocks[each] for each in ids if each in self.blocks]
        for block in [*chosen, *objects(agent, "memory_blocks"), *objects(agent, "core_memory")]:
            text = text_of(block, "value")
            if text:
                yield self._block(name, block, text)
            else:
                self.left_out += 1
        id, messages = text_of(agent, "id"), objects(agent, "messages")
        session, position = self.path.stem if COUNTED_ID.fullmatch(id) else id, 0
        by_tool = any(sent_by_tool(message) for message in messages)
        for message in messages:
            role, said = text_of(message, "role"), text_said(message, by_tool)
            if role not in SPEAKERS or not said:
                self.left_out += 1
                continue
            when = parse_time(message.get("created_at"))
            yield {
                "id": self._id(text_of(message, "id"), (name, id or name), role, (name, role, str(when), said)),
                "text": said, "title": "", "role": role, "type": "episodic", "session": f"{name} {session}",
                "position": position, "agent": name, "source": NAME, "occurred_at": when or self.at, **times(when),
            }  # fmt: skip
            position += 1

    def _block(self, agent: str, block: Mapping[str, Json], text: str) -> dict[str, object]:
        label = text_of(block, "label")
        return {
            "id": self._id(text_of(block, "id"), (agent, "block"), label, (agent, "block", label, text)),
            "text": text, "title": label, "role": "", "type": "semantic", "status": "long_term", "tags": ["block"],
            "agent": agent, "source": NAME,
            "source_notes": text_of(block, "description"),
        }  # fmt: skip

    def _id(self, own: str, place: tuple[str, str], kind: str, words: tuple[str, ...]) -> str:
        """Of its own id and its place, or of its words without secrets: a hash of a short secret would reveal it."""
        if not COUNTED_ID.fullmatch(own):
            return identity(NAME, *place, own, kind)
        *about, text = words
        id = identity(NAME, *about, str(CLEANING.fields({"text": text})[0]["text"]))
        self.said[id] += 1
        return identity(id, str(self.said[id])) if self.said[id] > 1 else id


def sent_by_tool(message: Mapping[str, Json]) -> str:
    """What the agent said by its tool."""
    said = []
    for call in objects(message, "tool_calls"):
        function = object_in(dict(call), "function")
        if function.get("name") == SAYS:
            said.append(text_of(json_object(function.get("arguments")), "message"))
    return clean_text("\n\n".join(filter(None, said)))


def json_object(value: Json) -> Mapping[str, Json]:
    """An object, or the text of one; empty where it is neither."""
    parsed = foreign.from_json(value, dict)
    return parsed if isinstance(parsed, dict) else {}


def without_envelope(text: str) -> str:
    """The words of a person in an event, as some agents get them; empty for other events, such as a heartbeat."""
    event = json_object(text) if text.startswith("{") else {}
    if event.get("type") == "user_message":
        return text_of(event, "message")
    return "" if "type" in event and "time" in event else text


def text_said(message: Mapping[str, Json], by_tool: bool) -> str:
    """What a person or the agent said; not a call of a tool, nor an event of the system. `by_tool`: the agent speaks by
    a tool only."""
    if by_tool and message.get("role") == "assistant":
        return sent_by_tool(message)
    content = message.get("content")
    if content is None:
        content = message.get("text")
    if isinstance(content, str):
        return without_envelope(clean_text(content))
    parts = content if isinstance(content, list) else []
    said = [text_of(part, "text") for part in parts if isinstance(part, dict) and part.get("type", "text") == "text"]
    return without_envelope(clean_text("\n\n".join(filter(None, said))))
