"""Exports of ChatGPT: conversations as trees of messages, of which the branch that was last seen is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from nacre.model.memory import Json
from nacre.transfer.ingest.items import Broken, Item, Piece, Skipped, elements, legible, member, moment, words

NAME = "chatgpt"
SAID = ("text", "multimodal_text")


def read(path: Path, *, tools: bool = False) -> Iterator[Piece]:
    number = 0
    try:
        for number, (conversation, at) in enumerate(elements(path), 1):
            if isinstance(conversation, dict) and isinstance(conversation.get("mapping"), dict):
                yield from turns(conversation, at, tools=tools)
            else:
                yield Broken(f"conversation {number}", "no tree of messages", at)
    except ValueError as error:
        yield Broken(f"conversation {number + 1}", f"not JSON ({error})")


def turns(conversation: Mapping[str, Json], at: int, *, tools: bool) -> Iterator[Piece]:
    session = words(conversation, "conversation_id", "id") or words(conversation, "title")
    title = words(conversation, "title")
    for node in branch(member(dict(conversation), "mapping"), words(conversation, "current_node")):
        message = member(dict(node), "message")
        if not message:
            continue
        role = words(member(dict(message), "author"), "role")
        text, spoken = content_of(member(dict(message), "content"))
        about = member(dict(message), "metadata")
        if role == "system" or about.get("is_visually_hidden_from_conversation"):
            yield Skipped("written by the client", at)
        elif not tools and (role == "tool" or not spoken):
            yield Skipped("tools and thinking", at)
        elif not text:
            yield Skipped("empty", at)
        else:
            when = moment(message.get("create_time"))
            yield Item(text, session, words(message, "id") or words(node, "id"), role, title, when, at=at)


def branch(mapping: Mapping[str, Json], last: str) -> list[Mapping[str, Json]]:
    """From the first message to the last one; without a last one, along the newest children."""
    if last not in mapping:
        last = newest_leaf(mapping)
    found: dict[str, Mapping[str, Json]] = {}
    while last and last not in found:
        node = member(dict(mapping), last)
        if not node:
            break
        found[last] = node
        last = words(node, "parent")
    return list(reversed(found.values()))


def newest_leaf(mapping: Mapping[str, Json]) -> str:
    leaves = [id for id, node in mapping.items() if isinstance(node, dict) and not node.get("children")]
    return max(leaves, key=lambda id: told_at(mapping, id), default="")


def told_at(mapping: Mapping[str, Json], id: str) -> float:
    return moment(member(dict(member(dict(mapping), id)), "message").get("create_time")) or 0.0


def content_of(content: Mapping[str, Json]) -> tuple[str, bool]:
    """The words, and whether they were said rather than computed."""
    parts = content.get("parts")
    told = [part for part in parts if isinstance(part, str)] if isinstance(parts, list) else []
    text = "\n\n".join(told) or words(content, "text", "result")
    return legible(text), content.get("content_type", "text") in SAID
