"""Reads and changes JSON with comments and trailing commas; keeps the layout of everything else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import cast

from nacre.clients.files import CannotEdit

STRING = r'"(?:[^"\\]|\\.)*+"'
COMMENT = re.compile(rf"{STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
TRAILING_COMMA = re.compile(rf"{STRING}|[{{\[]\s*,|(,)(?=\s*[}}\]])", re.DOTALL)
NO_LINE_END = re.compile(r"[^\n]")
BLANKS = re.compile(r"\s*")
BYTE_ORDER_MARK = "\ufeff"
NOTHING = -1
INDENT = "  "  # where the text has no indentation
Step = str | int
Splice = tuple[int, int, str]
_decoder = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Entry:
    """`start` is where its name begins, or its value in a list; `comma` is the place of the next comma or `NOTHING`."""

    name: Step
    start: int
    node: Node
    comma: int


@dataclass(frozen=True)
class Node:
    """A value and its place. `entries` are parsed on demand: most of a large file is never needed.

    `bare` is the text without comments, and `strict` also without trailing commas; all places are the same in them.
    """

    start: int
    end: int
    value: object
    bare: str
    strict: str

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Those of an object or a list, in order."""
        return tuple(self._scan()) if isinstance(self.value, dict | list) else ()

    def entry(self, name: Step) -> Entry | None:
        """The last one of equal names, as in every JSON parser."""
        return next((each for each in reversed(self.entries) if each.name == name), None)

    def _scan(self) -> Iterator[Entry]:
        at = after_blanks(self.strict, self.start + 1)
        for number in count():
            if self.strict[at] in "}]":
                return
            name: Step = number
            start = at
            if isinstance(self.value, dict):
                name, at = _decoder.raw_decode(self.strict, at)
                at = after_blanks(self.strict, after_blanks(self.strict, at) + 1)  # behind the colon
            node = node_at(self.bare, self.strict, at)
            at = after_blanks(self.bare, node.end)
            ended = self.bare[at] == ","
            yield Entry(name, start, node, at if ended else NOTHING)
            at = after_blanks(self.strict, at + ended)


def node_at(bare: str, strict: str, at: int) -> Node:
    value, end = _decoder.raw_decode(strict, at)
    return Node(at, end, value, bare, strict)


def after_blanks(text: str, at: int) -> int:
    blanks = BLANKS.match(text, at)
    return blanks.end() if blanks else at


def parse(text: str) -> Node:
    """Raises `ValueError`, with the line number, for a text that is not JSON."""
    bare = without_comments(text)
    strict = TRAILING_COMMA.sub(lambda match: " " if match[1] else match[0], bare)
    try:
        json.loads(strict)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return node_at(bare, strict, after_blanks(strict, 0))


def without_comments(text: str) -> str:
    """With blanks in their place."""
    bare = COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else NO_LINE_END.sub(" ", match[0]), text)
    return bare.replace(BYTE_ORDER_MARK, " ", 1) if bare.startswith(BYTE_ORDER_MARK) else bare


def is_blank(text: str) -> bool:
    """Whether it holds only blanks and comments."""
    return not without_comments(text).strip()


def read(text: str) -> dict[str, object]:
    """An empty text is an empty object. Raises `ValueError` for anything that is not an object."""
    _, root = opened(text)
    return cast(dict[str, object], root.value)


def put(text: str, path: Sequence[Step], value: object) -> str:
    """Sets the value at the path, and makes the objects on the way; a text that has it already comes back as it is.

    Raises `ValueError` for a text that is not a JSON object, `CannotEdit` where something else is on the way.
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
