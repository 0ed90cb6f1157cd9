"""Reads and changes JSON with comments and trailing commas; keeps the layout of everything else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from nacre.clients.files import CannotEdit

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
    """`start` is where its name begins, or its value in a list; `comma` is the place of the next comma or `NOTHING`."""

    name: str | int
    start: int
    node: Node
    comma: int


@dataclass(frozen=True)
class Node:
    """A value and its place. `entries` are parsed on demand: most of a large file is never needed."""

    start: int
    end: int
    value: object
    text: str = field(repr=False)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Those of an object or a list, in order."""
        return tuple(entries_at(self.text, self.start)) if self.text[self.start] in CLOSING else ()

    def entry(self, name: str | int) -> Entry | None:
        """The last one of equal names, as in every JSON parser."""
        return next((each for each in reversed(self.entries) if each.name == name), None)


def parse(text: str) -> Node:
    """Raises `ValueError`, with the line number, for a text that is not JSON."""
    try:
        root = node_at(text, first_place(text))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    end = after_gap(text, root.end)
    if end != len(text):
        raise Malformed(text, end, "the end")
    return root


def is_blank(text: str) -> bool:
    """Whether it holds only blanks and comments."""
    return first_place(text) == len(text)


def first_place(text: str) -> int:
    return after_gap(text, len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0)


def after_gap(text: str, at: int) -> int:
    gap = GAP.match(text, at)
    return gap.end() if gap else at


def node_at(text: str, at: int) -> Node:
    """A part without comments is read by Python's own decoder, ten times as fast."""
    try:
        value, end = _decoder.raw_decode(text, at)
        return Node(at, end, value, text)
    except ValueError as error:
        if text[at : at + 1] not in CLOSING:
            raise Malformed(text, at, "a value") from error
    entries = tuple(entries_at(text, at))
    end = after_gap(text, max(entries[-1].node.end, entries[-1].comma + 1) if entries else at + 1) + 1
    values = [entry.node.value for entry in entries]
    node = Node(at, end, {entry.name: entry.node.value for entry in entries} if text[at] == "{" else values, text)
    node.__dict__["entries"] = entries  # known already
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


INDENT = "  "  # where the text has no indentation
Step = str | int
Splice = tuple[int, int, str]


def read(text: str) -> dict[str, object]:
    """An empty text is an empty object. Raises `ValueError` for anything that is not an object."""
    _, root = opened(text)
    return cast(dict[str, object], root.value)


def put(text: str, path: Sequence[Step], value: object) -> str:
    """Sets the value at the path, and makes the objects on the way; a text that has it already comes back as it is.

    Raises `ValueError` for a text that is no JSON object, `CannotEdit` where something else is on the way.
    """
    text, root = opened(text)
    holder, depth = deepest(root, path)
    rest = path[depth:]
    if not rest:
        return text if holder.value == value else replaced(text, holder, value)
    for step in reversed(rest[1:]):
        value = {step: value}
    if holder.value is None:
        return replaced(text, holder, {rest[0]: value})
    if not isinstance(holder.value, dict):
        raise CannotEdit(f"{'.'.join(map(str, path[:depth]))} is not an object; write it as one")
    return added(text, holder, rest[0], value)


def append(text: str, path: Sequence[Step], value: object) -> str:
    """Appends to the list at the path, which is created where there is none."""
    text, root = opened(text)
    holder, depth = deepest(root, path)
    if depth < len(path) or holder.value is None:
        return put(text, path, [value])
    if not isinstance(holder.value, list):
        raise CannotEdit(f"{'.'.join(map(str, path))} is not a list; write it as one")
    return added(text, holder, len(holder.entries), value)


def take(text: str, path: Sequence[Step]) -> str:
    """Removes the value at the path, and objects that held nothing else; comments stay."""
    if is_blank(text) or (location := located(text, path)) is None:
        return text
    text = spliced(text, removal(text, *location))
    if isinstance(path[-1], str) and located(text, path) is not None:
        return take(text, path)  # a name may be there twice
    holder, _ = deepest(parse(text), path[:-1])
    if text[holder.start + 1 : holder.end - 1].strip():
        return text
    return take(text, path[:-1]) if len(path) > 1 else spliced(text, [(holder.start + 1, holder.end - 1, "")])


def located(text: str, path: Sequence[Step]) -> tuple[Node, Entry] | None:
    holder, depth = deepest(parse(text), path[:-1])
    entry = holder.entry(path[-1]) if depth == len(path) - 1 else None
    return None if entry is None else (holder, entry)


def render(value: object) -> str:
    return json.dumps(value, indent=INDENT, ensure_ascii=False)


def opened(text: str) -> tuple[str, Node]:
    if is_blank(text):
        ended = text if not text.strip("\ufeff") or text.endswith("\n") else text + newline_of(text)
        text = ended + "{}" + newline_of(text)
    root = parse(text)
    if not isinstance(root.value, dict):
        raise ValueError("it is not a JSON object")
    return text, root


def deepest(root: Node, path: Sequence[Step]) -> tuple[Node, int]:
    """The deepest existing node on the path, and its depth."""
    node = root
    for depth, step in enumerate(path):
        entry = node.entry(step)
        if entry is None:
            return node, depth
        node = entry.node
    return node, len(path)


def replaced(text: str, node: Node, value: object) -> str:
    return spliced(text, [(node.start, node.end, written(text, value, margin(text, node.start)))])


def added(text: str, holder: Node, name: Step, value: object) -> str:
    outer, end = margin(text, holder.start), holder.end - 1
    last = holder.entries[-1] if holder.entries else None
    at = max(last.node.end, last.comma + 1) if last else holder.start + 1
    tail = text[at:end]
    behind = at + len(tail.rstrip())
    if last and "\n" not in tail and "\n" not in text[holder.start : holder.entries[0].start]:
        return spliced(text, appended(last, behind, " " + label(name) + json.dumps(value, ensure_ascii=False)))
    inner = margin(text, last.start) if last and leads_line(text, last.start) else outer + habit(text)
    piece = newline_of(text) + inner + label(name) + written(text, value, inner)
    if last:
        return spliced(text, appended(last, behind, piece))
    return spliced(text, [(behind, end, piece + newline_of(text) + outer)])


def appended(last: Entry, behind: int, piece: str) -> list[Splice]:
    """Adds the comma that is missing after the last entry, and keeps a trailing one."""
    if last.comma == NOTHING:
        return [(last.node.end, last.node.end, ","), (behind, behind, piece)]
    return [(behind, behind, piece + ",")]


def label(name: Step) -> str:
    return "" if isinstance(name, int) else json.dumps(name, ensure_ascii=False) + ": "


def removal(text: str, holder: Node, gone: Entry) -> list[Splice]:
    index = next(at for at, entry in enumerate(holder.entries) if entry.start == gone.start)
    before = holder.entries[index - 1] if index else None
    if gone.comma != NOTHING and text[gone.node.end : gone.comma].strip():
        return [(gone.start, gone.node.end, ""), (gone.comma, gone.comma + 1, "")]
    if gone.comma != NOTHING:
        return whole_line(text, gone.start, gone.comma + 1, keep_left=True)
    if before is None:
        return whole_line(text, gone.start, gone.node.end, keep_left=True)
    if not text[before.comma + 1 : gone.start].strip():
        return [(before.comma, gone.node.end, "")]
    return [(before.comma, before.comma + 1, ""), *whole_line(text, gone.start, gone.node.end, keep_left=False)]


def whole_line(text: str, start: int, end: int, *, keep_left: bool) -> list[Splice]:
    """With the whole line where it holds nothing else; else with the blanks on one side."""
    left = len(text[:start].rstrip(" \t"))
    right = end + len(text[end:]) - len(text[end:].lstrip(" \t"))
    line_end = next((mark for mark in ("\r\n", "\n") if text.startswith(mark, right)), "")
    if leads_line(text, start) and line_end:
        return [(left, right + len(line_end), "")]
    return [(start, right, "")] if keep_left else [(left, end, "")]


def spliced(text: str, splices: Sequence[Splice]) -> str:
    """The splices are in the order of the text; they are applied from the end, so that earlier places stay valid."""
    for start, end, piece in reversed(splices):
        text = text[:start] + piece + text[end:]
    return text


def written(text: str, value: object, inner: str) -> str:
    lines = json.dumps(value, indent=habit(text), ensure_ascii=False).split("\n")
    return (newline_of(text) + inner).join(lines)


def habit(text: str) -> str:
    """The indentation of the text."""
    first = next(iter(parse(text).entries), None)
    return (margin(text, first.start) if first and leads_line(text, first.start) else "") or INDENT


def newline_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def margin(text: str, at: int) -> str:
    """The blanks at the start of the line."""
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def leads_line(text: str, at: int) -> bool:
    """Whether only blanks are before it on its line, which is not the first."""
    line = text.rfind("\n", 0, at)
    return line >= 0 and not text[line + 1 : at].strip(" \t")
