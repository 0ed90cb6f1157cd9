"""Exports of Claude: conversations as lists of messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from nacre.model.memory import Json
from nacre.transfer.ingest.claude_code import parted
from nacre.transfer.ingest.items import Broken, Item, Piece, Skipped, elements, legible, moment, words

NAME = "claude"
ROLES = {"human": "user"}


def read(path: Path, *, tools: bool = False) -> Iterator[Piece]:
    number = 0
    try:
        for number, (conversation, at) in enumerate(elements(path), 1):
            messages = conversation.get("chat_messages") if isinstance(conversation, dict) else None
            if isinstance(conversation, dict) and isinstance(messages, list):
                yield from turns(conversation, messages, at, tools=tools)
            else:
                yield Broken(f"conversation {number}", "no list of messages", at)
    except ValueError as error:
        yield Broken(f"conversation {number + 1}", f"not JSON ({error})")


def turns(conversation: Mapping[str, Json], messages: list[Json], at: int, *, tools: bool) -> Iterator[Piece]:
    session = words(conversation, "uuid", "id") or words(conversation, "name")
    for place, message in enumerate(messages):
        if not isinstance(message, dict):
            yield Broken(f"message {place + 1} of {session}", "no JSON object", at)
            continue
        said, done = parted(message.get("content"))
        text = legible(said) or words(message, "text")
        if not text and not (tools and done):
            yield Skipped("tools and thinking" if done else "empty", at)
            continue
        role, key = words(message, "sender", "role"), words(message, "uuid", "id") or str(place)
        when, title = moment(message.get("created_at")), words(conversation, "name")
        about = (title, when, (), at)
        if text:
            yield Item(text, session, key, ROLES.get(role, role), *about)
        if tools and done:
            yield Item("\n".join(done), session, f"{key}/tools", "tool", *about)
