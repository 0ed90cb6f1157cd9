"""Reads notes in Markdown: each list item and each run of paragraphs becomes a memory, titled by its heading."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nacre.errors import InvalidInput
from nacre.files import open_regular
from nacre.transfer.ingest.items import Broken, Item, Piece, clean_text, parse_time

NAME = "markdown"
SUFFIXES = (".md", ".markdown")
LARGEST = 5_000_000  # bytes: a note is read whole, and more than this was not written by hand
LONGEST_PROSE = 2_000  # characters; longer stretches are parted between paragraphs
HEADING = re.compile(r" {0,3}#{1,6}\s+(.*?)\s*#*\s*$")
BULLET = re.compile(r"( {0,3})([-*+]|\d{1,3}[.)])\s+(\[[ xX]\]\s+)?(.*)")
CODE = re.compile(r" {0,3}(```|~~~)")
RULE = re.compile(r" {0,3}([-*_])(\s*\1){2,}\s*$")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
DATE = re.compile(r"(?<!\d)(\d{4})-?(\d{2})-?(\d{2})(?!\d)")
FRONT = re.compile(r"---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Front:
    """What stands before the text."""

    title: str = ""
    date: float | None = None
    tags: tuple[str, ...] = ()


@dataclass(slots=True)
class Part:
    """Lines that belong together: an item of a list with what is indented below it, or paragraphs."""

    title: str
    date: float | None
    item: bool = False
    lines: list[str] = field(default_factory=list)


def read(path: Path, *, tools: bool = False) -> Iterator[Piece]:  # noqa: ARG001 (a note has no tools)
    with open_regular(path) as file:
        content = file.read(LARGEST + 1)
    size = len(content)
    if size > LARGEST:
        yield Broken("the whole file", f"larger than {LARGEST // 1_000_000} MB", size)
        return
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
        front, body = front_of(text)
    except UnicodeDecodeError:
        yield Broken("the whole file", "not UTF-8 text", size)
        return
    except InvalidInput as error:
        yield Broken("the whole file", str(error), size)
        return
    begun = replace(front, title=front.title or path.stem, date=front.date or dated(path.stem))
    for part in parts(COMMENT.sub("", body), begun):
        for piece in pieces(part):
            # Its place says nothing of what it is: a line added above it must not make it another memory.
            yield Item(piece, home_relative(path), part.title, "", part.title, part.date, front.tags, size)


def home_relative(path: Path) -> str:
    """The same for one file wherever it is named from, and without the name of its owner."""
    whole = path.absolute()
    try:
        return f"~/{whole.relative_to(Path.home()).as_posix()}"
    except (ValueError, RuntimeError):
        return whole.as_posix()


def front_of(text: str) -> tuple[Front, str]:
    found = FRONT.match(text)
    if found is None:
        return Front(), text
    import yaml

    try:
        check_yaml_events(yaml.parse(found.group(1), Loader=yaml.SafeLoader), front_matter_refused)
        told = yaml.safe_load(found.group(1))
    except InvalidInput:
        raise
    except (yaml.YAMLError, ValueError, RecursionError):
        return Front(), text[found.end() :]
    if not isinstance(told, dict):
        return Front(), text
    date = next((str(told[name]) for name in ("date", "created", "created_at") if told.get(name)), "")
    tags = told.get("tags") or ()
    listed = tags.replace(",", " ").split() if isinstance(tags, str) else tags if isinstance(tags, list) else ()
    title = clean_text(str(told.get("title") or ""))
    return Front(title, parse_time(date) or dated(date), tuple(clean_text(str(tag)) for tag in listed)), text[
        found.end() :
    ]


def front_matter_refused(what: str) -> InvalidInput:
    return InvalidInput(f"its front matter was not read: {what}")


def dated(name: str) -> float | None:
    found = DATE.search(name)
    return parse_time("-".join(found.groups())) if found else None


def parts(text: str, front: Front) -> Iterator[Part]:
    part, code = Part(front.title, front.date), False
    for line in text.split("\n"):
        fence = CODE.match(line)
        heading = None if code else HEADING.match(line)
        bullet = None if code else BULLET.match(line)
        if heading and heading.group(1):
            yield part
            part = Part(clean_text(heading.group(1)), dated(heading.group(1)) or front.date)
        elif not code and RULE.match(line):
            yield part
            part = Part(part.title, part.date)
        elif bullet and bullet.group(4):
            yield part
            part = Part(part.title, part.date, item=True, lines=[bullet.group(4)])
        elif part.item and not code and line.strip() and not line[:1].isspace() and not part.lines[-1].strip():
            yield part
            part = Part(part.title, part.date, lines=[line])
        else:
            part.lines.append(line)
        code ^= bool(fence)
    yield part


def pieces(part: Part) -> list[str]:
    if part.item:
        return [clean_text("\n".join(part.lines))]
    return grouped([each for each in paragraphs(part.lines) if each])


def paragraphs(lines: Sequence[str]) -> Iterator[str]:
    """Parted by empty lines, but not inside of code."""
    held: list[str] = []
    code = False
    for line in lines:
        if not line.strip() and not code:
            yield clean_text("\n".join(held))
            held = []
            continue
        code ^= bool(CODE.match(line))
        held.append(line)
    yield clean_text("\n".join(held))


def grouped(paragraphs: Sequence[str]) -> list[str]:
    whole: list[str] = []
    for each in paragraphs:
        if whole and len(whole[-1]) + len(each) <= LONGEST_PROSE:
            whole[-1] = f"{whole[-1]}\n\n{each}"
        else:
            whole.append(each)
    return whole


DEEPEST = 150  # more than the metadata of any memory may be nested


def check_yaml_events(events: Iterable[object], refused: Callable[[str], InvalidInput]) -> None:
    """A few lines of aliases may stand for more than any memory holds, or for themselves."""
    from yaml import events as kinds

    depth = 0
    for event in events:
        if isinstance(event, kinds.AliasEvent):
            raise refused(f"it uses the YAML alias *{event.anchor:.40}; write its value out where it stands")
        depth += isinstance(event, kinds.CollectionStartEvent) - isinstance(event, kinds.CollectionEndEvent)
        if depth > DEEPEST:
            raise refused(f"it is nested more than {DEEPEST} deep; make it flatter")
