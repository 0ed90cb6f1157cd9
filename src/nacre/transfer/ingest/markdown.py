"""Reads notes in Markdown: each list item, task and paragraph becomes a memory, titled by its note and headings."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nacre.errors import InvalidInput
from nacre.files import open_regular
from nacre.transfer.ingest.items import Broken, Item, Piece, Remark, clean_text, parse_time

NAME = "markdown"
SUFFIXES = (".md", ".markdown")
LARGEST = 5_000_000  # bytes: a note is read at once, and a note written by hand is smaller
TAB = 4  # columns
DEEPEST_BULLET = 3  # columns before the first bullet of a list; what is deeper is code
LONGEST_PROSE = 2_000  # characters of paragraphs that belong together; what is longer is split between them
OPEN_TASK, DONE_TASK = "todo", "done"  # the tags of `- [ ]` and `- [x]`
TAG = re.compile(r"(?<![\w/#&?=.-])#([^\W\d_][\w/-]*)")
NOT_TEXT = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|<[^>\s]+>|\]\([^)\s]*\)|\b[a-z][a-z0-9+.-]*://\S+", re.DOTALL | re.I)
NOT_A_WORD = re.compile(r"[\W_]+")
MOST_TAGS = 20  # of one memory; a text with more is a list of them
HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
BETWEEN = " › "  # the name of a note and its headings, in a title
LONGEST_TITLE = 120  # characters of them; a longer one keeps the name and the last heading
BULLET = re.compile(r"([ \t]*)([-*+]|\d{1,3}[.)])\s+(\[[ xX]\]\s+)?(.*)")
CODE = re.compile(r" {0,3}(```|~~~)")
RULE = re.compile(r" {0,3}([-*_])(\s*\1){2,}\s*$")
# A comment, or code, in which a comment is text.
COMMENT_OR_CODE = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|^[ \t]*(?P<fence>```+(?=[^`\n]*$)|~~~+).*?(?:^[ \t]*(?P=fence)|\Z)"
    r"|(?<!`)(?P<ticks>`{1,4})(?!`)[^\n]*?(?<!`)(?P=ticks)(?!`)",
    re.DOTALL | re.MULTILINE,
)
DATE = re.compile(r"(?<!\d)(\d{4})-?(\d{2})-?(\d{2})(?!\d)")
DATES = ("date", "created", "created_at")  # fields of the front matter; the first counts
SLASHED_DATE = re.compile(r"\s*(\d{1,2})/(\d{1,2})/(\d{4})\s*", re.ASCII)
MONTHS = 12
ENTRY = re.compile(r"([A-Za-z_][\w-]*)[ ]*:(?:[ ]+(.*)|$)")
LONGEST_FRONT = 16_000  # bytes that are looked at for how dates are written
LONGEST_SHOWN = 40  # characters of a value in a message
FRONT = re.compile(r"---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Front:
    """The front matter."""

    title: str = ""
    date: float | None = None
    tags: tuple[str, ...] = ()
    unread: str = ""  # what could not be understood


NOT_UTF_8 = "not UTF-8 text; save it as UTF-8"
HAS_NUL = "it has NUL characters, as UTF-16 does; save it as UTF-8, without them"


@dataclass(slots=True)
class Part:
    """Lines that belong together: a list item with what is indented below it, or paragraphs."""

    title: str
    heading: str  # the last one above it, or the name of the note
    date: float | None
    item: bool = False
    indent: int = 0  # columns before its bullet
    tags: tuple[str, ...] = ()
    lines: list[str] = field(default_factory=list)


def read(path: Path, *, tools: bool = False, day_first: bool = False) -> Iterator[Piece]:  # noqa: ARG001 (a note has no tools)
    """With `day_first` a date such as 04/05/2020 in the front matter is in May."""
    with open_regular(path) as file:
        content = file.read(LARGEST + 1)
    size = len(content)
    if size > LARGEST:
        yield Broken("the file", f"larger than {LARGEST // 1_000_000} MB", size)
        return
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
        front, body = front_of(text, day_first=day_first)
    except UnicodeDecodeError:
        yield Broken("the file", NOT_UTF_8, size)
        return
    except InvalidInput as error:
        yield Broken("the file", str(error), size)
        return
    if "\0" in text:  # UTF-16 without its mark can be read as UTF-8
        yield Broken("the file", HAS_NUL, size)
        return
    if front.unread:
        yield Remark("the front matter", f"not understood: {front.unread}; the rest of the note is taken", size)
    begun = replace(front, title=front.title or path.stem, date=front.date or dated(path.stem))
    for part in parts(without_comments(body), begun):
        for piece in pieces(part):
            # The key has no line number: a line added above must not make it another memory.
            tags = tuple(dict.fromkeys((*front.tags, *part.tags, *tags_in(piece))))
            yield Item(piece, home_relative(path), part.heading, "", part.title, part.date, tags, size)


def without_comments(text: str) -> str:
    """What begins like a comment and does not end is text."""

    def kept(match: re.Match[str]) -> str:
        matched = match.group()
        return "" if matched.startswith("<!--") and matched.endswith("-->") else matched

    return COMMENT_OR_CODE.sub(kept, text)


def tags_in(text: str) -> list[str]:
    """`#tag` as Obsidian and others write it; not in code, addresses or numbers such as #12."""
    lines, code = [], False
    for line in text.split("\n"):
        fence = bool(CODE.match(line))
        lines += [] if code or fence else [line]
        code ^= fence
    tags = TAG.findall(NOT_TEXT.sub(" ", "\n".join(lines)))
    return list(dict.fromkeys(tag.rstrip("/-") for tag in tags))[:MOST_TAGS]


def home_relative(path: Path) -> str:
    """The same for one file from wherever it is named, and without the user's name."""
    absolute = Path(os.path.normpath(path.absolute()))  # not resolved: a symlink is known by its own name
    try:
        return f"~/{absolute.relative_to(Path.home()).as_posix()}"
    except (ValueError, RuntimeError):
        return absolute.as_posix()


def slashed_date(path: Path) -> tuple[int, int] | None:
    """The first two numbers of the date in the front matter, where it is written as 04/05/2020."""
    with open_regular(path) as file:
        text = file.read(LONGEST_FRONT).decode("utf-8-sig", "replace").replace("\r\n", "\n")
    match = FRONT.match(text)
    fields = fields_by_line(match.group(1)) if match is not None else {}
    date = SLASHED_DATE.fullmatch(written_date(fields))
    return (int(date[1]), int(date[2])) if date else None


def written_date(fields: Mapping[str, object]) -> str:
    return next((str(fields[name]) for name in DATES if fields.get(name)), "")


def front_of(text: str, *, day_first: bool = False) -> tuple[Front, str]:
    match = FRONT.match(text)
    if match is None:
        return Front(), text
    body = text[match.end() :]
    import yaml

    fields: object
    try:
        check_yaml_events(yaml.parse(match.group(1), Loader=yaml.SafeLoader), unread_front_matter)
        fields = yaml.safe_load(match.group(1))
    except InvalidInput:
        raise
    except (yaml.YAMLError, ValueError, KeyError, AttributeError, TypeError, OverflowError, RecursionError):
        fields = fields_by_line(match.group(1))
    if not isinstance(fields, dict):
        return Front(), text
    return front_from(fields, day_first=day_first), body


def front_from(fields: Mapping[str, object], *, day_first: bool = False) -> Front:
    date = written_date(fields)
    slashed = SLASHED_DATE.fullmatch(date) if day_first else None
    if slashed and int(slashed[2]) <= MONTHS:
        date = f"{slashed[3]}-{slashed[2]:0>2}-{slashed[1]:0>2}"
    at = parse_time(date) or dated(date)
    tags = fields.get("tags") or ()
    listed = tags.replace(",", " ").split() if isinstance(tags, str) else tags if isinstance(tags, list) else ()
    values = {"date": date if at is None else "", "tags": "" if isinstance(tags, str | list | tuple) else str(tags)}
    unread = ", ".join(f"{name} ({value[:LONGEST_SHOWN]})" for name, value in values.items() if value)
    plain = (clean_text(str(tag)).lstrip("#") for tag in listed)
    return Front(clean_text(str(fields.get("title") or "")), at, tuple(filter(None, plain)), unread)


def fields_by_line(front: str) -> dict[str, object]:
    """Of front matter that is not quite YAML, as people write it: `title: Meeting: Q3 plan`."""
    fields: dict[str, object] = {}
    last = ""
    for line in front.expandtabs(TAB).split("\n"):
        if entry := ENTRY.match(line):
            last, value = entry.group(1).lower(), (entry.group(2) or "").strip()
            if value.startswith("{"):  # a template that nobody filled in
                fields[last] = {value: None} if last == "tags" else value
            elif last == "tags" and value.startswith("["):
                fields[last] = [each.strip().strip("\"'") for each in value.strip("[]").split(",")]
            else:
                fields[last] = value.strip("\"'")
        elif last == "tags" and (item := BULLET.match(line)):
            before = fields.get(last)
            fields[last] = [*(before if isinstance(before, list) else ()), item.group(4).strip().strip("\"'")]
    return fields


def dated(name: str) -> float | None:
    match = DATE.search(name)
    return parse_time("-".join(match.groups())) if match else None


def title_of(note: str, headings: Iterable[str]) -> str:
    """A heading such as "Observations" is that of many notes. One that only repeats what is above it is said once."""
    chain = [note]
    for heading in headings:
        if NOT_A_WORD.sub(" ", heading.casefold()) == NOT_A_WORD.sub(" ", chain[-1].casefold()):
            chain.pop()
        chain.append(heading)
    while len(chain) > 2 and len(BETWEEN.join(chain)) > LONGEST_TITLE:
        del chain[1]
    return BETWEEN.join(chain)


def heading_in(title: str) -> str:
    """The last heading of a title, or the name of the note: by it a piece is known again."""
    return title.rpartition(BETWEEN)[2]


def parts(text: str, front: Front) -> Iterator[Part]:
    part, code = Part(front.title, front.title, front.date), False
    headings: dict[int, str] = {}  # those above the present line, by their level
    for line in text.split("\n"):
        fence = CODE.match(line)
        heading = None if code else HEADING.match(line)
        bullet = None if code else BULLET.match(line)
        indent = len(bullet.group(1).expandtabs(TAB)) if bullet else 0
        if bullet and (indent > part.indent if part.item else indent > DEEPEST_BULLET):
            bullet = None  # it belongs to the item above, however deep it is, or it is code
        if heading and heading.group(2):
            yield part
            level, name = len(heading.group(1)), clean_text(heading.group(2))
            headings = {above: each for above, each in headings.items() if above < level} | {level: name}
            part = Part(title_of(front.title, headings.values()), name, dated(name) or front.date)
        elif not code and RULE.match(line):
            yield part
            part = Part(part.title, part.heading, part.date)
        elif bullet and bullet.group(4):
            yield part
            box = (bullet.group(3) or "").strip()
            state = () if not box else (OPEN_TASK,) if box == "[ ]" else (DONE_TASK,)
            lines = [bullet.group(4)]
            part = Part(part.title, part.heading, part.date, item=True, indent=indent, lines=lines, tags=state)
        elif part.item and not code and line.strip() and not line[:1].isspace() and not part.lines[-1].strip():
            yield part
            part = Part(part.title, part.heading, part.date, lines=[line])
        else:
            part.lines.append(line)
        code ^= bool(fence)
    yield part


def pieces(part: Part) -> list[str]:
    if part.item:
        return [clean_text("\n".join(part.lines))]
    return joined([each for each in paragraphs(part.lines) if each])


def paragraphs(lines: Sequence[str]) -> Iterator[str]:
    """Split at empty lines, but not inside code blocks."""
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


def joined(paragraphs: Sequence[str]) -> list[str]:
    """Each paragraph alone, but code, a quotation or a table stays with the words before it, and what follows a colon
    with those that announce it."""
    groups: list[str] = []
    for each in paragraphs:
        belongs = groups and (groups[-1].endswith(":") or each.startswith(("```", "~~~", ">", "|")))
        if belongs and len(groups[-1]) + len(each) <= LONGEST_PROSE:
            groups[-1] = f"{groups[-1]}\n\n{each}"
        else:
            groups.append(each)
    return groups


DEEPEST = 150  # more than the metadata of any memory may be nested


def unread_front_matter(reason: str) -> InvalidInput:
    return InvalidInput(f"its front matter was not read: {reason}")


def check_yaml_events(events: Iterable[object], refused: Callable[[str], InvalidInput]) -> None:
    """Refuses YAML whose aliases could expand to more than any memory holds, before anything is built from it."""
    from yaml import events as kinds

    depth = 0
    for event in events:
        if isinstance(event, kinds.AliasEvent):
            raise refused(f"it uses the YAML alias *{event.anchor:.40}; write the value itself there")
        depth += isinstance(event, kinds.CollectionStartEvent) - isinstance(event, kinds.CollectionEndEvent)
        if depth > DEEPEST:
            raise refused(f"it is nested more than {DEEPEST} deep; make it flatter")
