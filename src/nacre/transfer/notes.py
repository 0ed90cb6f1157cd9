"""A memory as a Markdown note: front matter with its fields, its text, and links to other notes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from hashlib import blake2b

from nacre.model import Memory
from nacre.model.instants import day, iso, seconds
from nacre.model.memory import DEFAULTS, NAMES, Json
from nacre.transfer.cells import TIMES
from nacre.transfer.ingest.markdown import check_yaml_events, unread_front_matter

FRONT = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?\r?\n)---[ \t]*(?:\r?\n|$)", re.DOTALL)
# Fields that every note has; the others only where they are not the default.
ALWAYS = (
    "id",
    "space",
    "type",
    "status",
    "importance",
    "confidence",
    "trust",
    "created_at",
    "updated_at",
    "last_accessed",
)
# What a note says about itself and not about the memory.
VERSION, DIGEST, REDACTED, DAY, MEMORIES = "version", "digest", "redacted", "day", "memories"
OWN = frozenset((VERSION, DIGEST, REDACTED))
MARK = "<!-- nacre:"
LINKS = f"{MARK}links, from the front matter -->"
MARKED = re.compile(r"^(\\*)(?=<!-- nacre:)", re.MULTILINE)
SECTION = re.compile(r"^<!-- nacre:memory ([0-9a-f]+) -->\r?\n## [^\n]*\n", re.MULTILINE)
TOKEN_BYTES = 6  # enough that no two notes of a folder get one name
LONGEST_SLUG = 50  # characters; file names have at most 255 bytes
SLUG_WORDS = 8
WORD = re.compile(r"\w+")
USES = ("last_accessed", "access_count")  # they change with every use, which is no edit
Names = Callable[[str], str]  # the name of the note of an id, empty when there is none


@dataclass(frozen=True, slots=True)
class Note:
    """A memory as a note has it: `fields` are unchecked, without the text."""

    fields: Mapping[str, object]
    text: str
    version: int
    edited: bool
    redacted: bool

    @property
    def id(self) -> str:
        return str(self.fields.get("id") or "")


def name_of(memory: Memory) -> str:
    """A readable file name, without its ending."""
    words = WORD.findall((memory.title or memory.text[:400]).lower())[:SLUG_WORDS]
    slug = "-".join(words)[:LONGEST_SLUG].strip("-_")
    return f"{slug}-{token(memory.id)}" if slug else token(memory.id)


def token(id: str) -> str:
    return blake2b(id.encode(), digest_size=TOKEN_BYTES).hexdigest()


def fields_of(memory: Memory) -> dict[str, Json]:
    known = memory.to_dict()
    fields = {name: known.get(name, DEFAULTS.get(name)) for name in NAMES if name in known or name in ALWAYS}
    del fields["text"]
    return {name: iso(value) if name in TIMES else value for name, value in fields.items()}  # type: ignore[arg-type, misc]


def digest_of(fields: Mapping[str, object], text: str) -> str:
    """The same however the note is written, and without its uses."""
    facts = {name: plain(value) for name, value in fields.items() if name not in OWN and name not in USES}
    packed = json.dumps([facts, text], sort_keys=True, default=str)
    return blake2b(packed.encode(), digest_size=8).hexdigest()


def plain(value: object) -> object:
    """Editors of notes may take the quotes from a time, which YAML then reads as a date."""
    if isinstance(value, datetime):
        return iso(seconds(value))
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value


def entry_of(memory: Memory, version: int, *, redacted: bool) -> dict[str, Json]:
    fields = fields_of(memory)
    own: dict[str, Json] = {VERSION: version, DIGEST: digest_of(fields, memory.text)}
    return {"id": fields["id"], **own, **fields, **({REDACTED: True} if redacted else {})}


def note_text(memory: Memory, version: int, names: Names, *, redacted: bool = False) -> str:
    """The note of one memory."""
    front = dump(entry_of(memory, version, redacted=redacted))
    return f"---\n{front}---\n\n{escaped(memory.text)}\n{link_list(memory, names)}"


def day_text(on: str, memories: Sequence[tuple[Memory, int, bool]], names: Names) -> str:
    """The note of a day: each memory with its version, and whether a secret was left out."""
    entries: list[Json] = [entry_of(memory, version, redacted=redacted) for memory, version, redacted in memories]
    parts = [f"---\n{dump({DAY: on, MEMORIES: entries})}---\n"]
    for memory, _, _ in memories:
        clock = iso(memory.created_at)[11:16]
        title = " ".join((memory.title or " ".join(WORD.findall(memory.text[:400])[:SLUG_WORDS])).split())
        heading = f"{MARK}memory {token(memory.id)} -->\n## {clock} {title}\n"
        parts.append(f"{heading}\n{escaped(memory.text)}\n{link_list(memory, names)}")
    return "\n".join(parts)


def link_list(memory: Memory, names: Names) -> str:
    if not memory.links:
        return ""
    listed = "".join(f"- {link.rel}: {target(link.to, names)}\n" for link in memory.links)
    return f"\n{LINKS}\n{listed}"


def target(id: str, names: Names) -> str:
    name = names(id)
    return f"[[{name}]]" if name else id


def escaped(text: str) -> str:
    return MARKED.sub(r"\\\1", text)


def unescaped(text: str) -> str:
    return re.sub(r"^\\(?=\\*<!-- nacre:)", "", text, flags=re.MULTILINE)


def dump(fields: Mapping[str, Json]) -> str:
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    written: str = yaml.dump(dict(fields), Dumper=dumper, allow_unicode=True, sort_keys=False, width=1_000_000)
    return written


def parse(content: str) -> list[Note]:
    """The memories of a note, none where it is not one that was exported. Raises `InvalidInput`."""
    match = FRONT.match(content)
    front = load(match.group(1)) if match else None
    if match is None or not isinstance(front, dict):
        return []
    body = content[match.end() :]
    if "\r\n" in content[: match.end()]:
        body = body.replace("\r\n", "\n")  # an editor has changed all line ends
    entries = front.get(MEMORIES)
    if isinstance(entries, list) and DAY in front:
        return list(sections(entries, body))
    return [note_of(front, body)] if "id" in front and VERSION in front else []


def sections(entries: Sequence[object], body: str) -> Iterator[Note]:
    marks = list(SECTION.finditer(body))
    ends = [mark.start() for mark in marks[1:]] + [len(body)]
    texts = {mark.group(1): body[mark.end() : end] for mark, end in zip(marks, ends, strict=True)}
    for entry in entries:
        if isinstance(entry, dict) and (text := texts.get(token(str(entry.get("id"))))) is not None:
            yield note_of(entry, text)


def note_of(entry: Mapping[str, object], body: str) -> Note:
    text = unescaped(body.partition(f"\n{LINKS}")[0].strip())
    fields = {str(name): plain(value) for name, value in entry.items() if name not in OWN}
    version = entry.get(VERSION)
    edited = digest_of(fields, text) != entry.get(DIGEST)
    number = version if isinstance(version, int) and not isinstance(version, bool) else 0
    return Note(fields, text, number, edited, redacted=bool(entry.get(REDACTED)))


def load(front: str) -> object:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        check_yaml_events(yaml.parse(front, Loader=loader), unread_front_matter)
        return yaml.load(front, Loader=loader)
    # A tag such as !!bool with a wrong value raises whatever its reader raises.
    except (yaml.YAMLError, ValueError, KeyError, AttributeError, TypeError, OverflowError, RecursionError) as error:
        raise unread_front_matter(f"it is not YAML ({str(error).splitlines()[0]})") from None


def day_of(memory: Memory) -> str:
    return day(memory.created_at)
