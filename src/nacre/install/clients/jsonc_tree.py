"""Reads JSON that may have comments and trailing commas, and remembers where in the text each part stands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

GAP = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
CLOSING = {"{": "}", "[": "]"}
BYTE_ORDER_MARK = "\ufeff"
NOTHING = -1
_decoder = json.JSONDecoder()


class Malformed(ValueError):
    def __init__(self, text: str, at: int, wanted: str) -> None:
        line = text.count("\n", 0, at) + 1
        super().__init__(f"line {line}: {wanted} is missing")


@dataclass(frozen=True, slots=True)
class Entry:
    """`start` is where its name begins, or itself in a list; `comma` is where the one after it is, or `NOTHING`."""

    name: str | int
    start: int
    node: Node
    comma: int


@dataclass(frozen=True)
class Node:
    """`value` is what it means. Its parts are looked for when they are asked for: most of a large file never is."""

    start: int
    end: int
    value: object
    text: str = field(repr=False)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Of an object or a list, in their order."""
        return tuple(entries_at(self.text, self.start)) if self.text[self.start] in CLOSING else ()

    def entry(self, name: str | int) -> Entry | None:
        """Of a name that comes twice the last one counts, as it does for everybody who reads JSON."""
        return next((each for each in reversed(self.entries) if each.name == name), None)


def parse(text: str) -> Node:
    """Raises `ValueError` that tells the line where the text is no JSON."""
    try:
        root = node_at(text, first_place(text))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    end = after_gap(text, root.end)
    if end != len(text):
        raise Malformed(text, end, "the end")
    return root


def is_blank(text: str) -> bool:
    """Nothing but blanks and comments."""
    return first_place(text) == len(text)


def first_place(text: str) -> int:
    return after_gap(text, len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0)


def after_gap(text: str, at: int) -> int:
    found = GAP.match(text, at)
    return found.end() if found else at


def node_at(text: str, at: int) -> Node:
    """What has no comments in it is read by the decoder of Python itself, ten times as fast."""
    try:
        value, end = _decoder.raw_decode(text, at)
        return Node(at, end, value, text)
    except ValueError as error:
        if text[at : at + 1] not in CLOSING:
            raise Malformed(text, at, "a value") from error
    return container_at(text, at)


def container_at(text: str, at: int) -> Node:
    entries = tuple(entries_at(text, at))
    end = after_gap(text, max(entries[-1].node.end, entries[-1].comma + 1) if entries else at + 1) + 1
    values = [entry.node.value for entry in entries]
    node = Node(at, end, {entry.name: entry.node.value for entry in entries} if text[at] == "{" else values, text)
    node.__dict__["entries"] = entries  # they are known: no need to look for them again
    return node


def entries_at(text: str, at: int) -> Iterator[Entry]:
    named, closing = text[at] == "{", CLOSING[text[at]]
    here, index, comma = after_gap(text, at + 1), 0, 0
    while text[here : here + 1] != closing:
        if comma == NOTHING:
            raise Malformed(text, here, f"a comma or {closing!r}")
        entry = entry_at(text, here, index, named=named)
        yield entry
        here, index, comma = after_gap(text, max(entry.node.end, entry.comma + 1)), index + 1, entry.comma


def entry_at(text: str, start: int, index: int, *, named: bool) -> Entry:
    name: str | int = index
    at = start
    if named:
        if text[at : at + 1] != '"':
            raise Malformed(text, at, "a name in double quotes, or '}',")
        word = node_at(text, at)
        name, at = str(word.value), after_gap(text, word.end)
        if text[at : at + 1] != ":":
            raise Malformed(text, at, "a colon")
        at = after_gap(text, at + 1)
    node = node_at(text, at)
    comma = after_gap(text, node.end)
    return Entry(name, start, node, comma if text[comma : comma + 1] == "," else NOTHING)
