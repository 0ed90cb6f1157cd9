"""The pieces of a file: an item to remember, one skipped, one that cannot be read, a remark; and the JSON readers."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from json import JSONDecodeError
from pathlib import Path
from typing import BinaryIO, TypeAlias
from uuid import UUID

from nacre.errors import InvalidInput
from nacre.files import open_regular
from nacre.model.memory import Json
from nacre.model.validate import UNWRITABLE
from nacre.remember.guard import Guard
from nacre.transfer.cells import moment

NAME_DIGITS = 4  # of a name that lost a secret: too few to guess it by them


@dataclass(frozen=True, slots=True)
class Item:
    """`key` identifies it within its session: the message's own id, else its position. `unique` says that
    the key is the message's own id, which is the same in every session, as in a conversation that was continued in
    another file. `at` counts the bytes read so far."""

    text: str
    session: str
    key: str
    role: str = ""
    title: str = ""
    occurred_at: float | None = None
    tags: tuple[str, ...] = ()
    at: int = 0
    unique: bool = False
    fields: Mapping[str, object] = field(default_factory=dict)  # further fields of the memory, by their names


@dataclass(frozen=True, slots=True)
class Skipped:
    reason: str
    at: int = 0


@dataclass(frozen=True, slots=True)
class Broken:
    """`where` is a line's number, or the number of a conversation."""

    where: str
    reason: str
    at: int = 0


@dataclass(frozen=True, slots=True)
class Remark:
    """About a part of a file that was read all the same."""

    where: str
    reason: str
    at: int = 0


Piece: TypeAlias = Item | Skipped | Broken | Remark


ID_BYTES = 16


def identity(*parts: str) -> str:
    """An id that is always the same for the same parts."""
    return str(UUID(bytes=blake2b(json.dumps(parts).encode(), digest_size=ID_BYTES).digest()))


def clean_text(text: str) -> str:
    """Some clients write halves of surrogate pairs and NUL, which a memory cannot hold."""
    return UNWRITABLE.sub("\ufffd", text).strip()


def text_of(entry: Mapping[str, Json], *names: str) -> str:
    """The first of these that holds a string or an integer, as text."""
    for name in names:
        value = entry.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return clean_text(str(value))
    return ""


def parse_time(value: Json) -> float | None:
    """None for what is not a time: a turn without one is still useful."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return moment("time", value)
    except InvalidInput:
        return None


def object_in(entry: Json, name: str) -> Mapping[str, Json]:
    """The object under `name`; empty when there is none."""
    value = entry.get(name) if isinstance(entry, dict) else None
    return value if isinstance(value, dict) else {}


LONGEST_LINE = 16_000_000  # bytes: a longer line holds a picture, not text
LINE_END = b"\n"


@dataclass(frozen=True, slots=True)
class Line:
    """`entry` is None when the line cannot be read, and `fault` says why; `end` is the byte after the line."""

    number: int
    end: int
    entry: Json = None
    fault: str = ""


def lines(path: Path, start: int = 0, *, complete_only: bool = False) -> Iterator[Line]:
    """With `complete_only`, a last line without a line end is left for the next time. Empty lines are skipped."""
    with open_regular(path) as file:
        file.seek(start)
        at, number = start, 0
        while raw := file.readline(LONGEST_LINE):
            number += 1
            last, at = raw, at + len(raw)
            long = len(raw) == LONGEST_LINE and not raw.endswith(LINE_END)
            while long and not last.endswith(LINE_END) and (more := file.readline(LONGEST_LINE)):
                last, at = more, at + len(more)
            if complete_only and not last.endswith(LINE_END):
                return
            if long:
                yield Line(number, at, None, f"longer than {LONGEST_LINE // 1_000_000} MB")
            elif raw.strip():
                yield parsed(raw, number, at)


def parsed(raw: bytes, number: int, end: int) -> Line:
    try:
        return Line(number, end, json.loads(raw.decode("utf-8-sig" if number == 1 else "utf-8")))
    except UnicodeDecodeError:
        return Line(number, end, None, "not UTF-8 text")
    except (ValueError, RecursionError):
        return Line(number, end, None, "not JSON")


STEP = 1_000_000  # bytes read at once; doubled while an element is incomplete, so that none is parsed many times
SPACE = " \t\r\n\ufeff"


@dataclass(slots=True)
class Stream:
    file: BinaryIO
    text: str = ""
    read: int = 0
    decoder: codecs.IncrementalDecoder = field(default_factory=lambda: codecs.getincrementaldecoder("utf-8")())

    def more(self) -> bool:
        raw = self.file.read(max(STEP, len(self.text)))
        self.read += len(raw)
        self.text += self.decoder.decode(raw, final=not raw)
        return bool(raw)

    def skip(self, characters: str) -> str:
        """Skips these and returns the first other character; empty at the end of the file."""
        while True:
            self.text = self.text.lstrip(characters)
            if self.text or not self.more():
                return self.text[:1]

    def element(self) -> Json:
        """Raises `ValueError` when the rest is not JSON."""
        decoder = json.JSONDecoder()
        while True:
            try:
                value, end = decoder.raw_decode(self.text)
            except JSONDecodeError:
                if not self.more():
                    raise
                continue
            except RecursionError as error:
                raise ValueError("it is nested too deeply") from error
            if end == len(self.text) and self.more():
                continue  # a number may continue
            self.text = self.text[end:]
            element: Json = value
            return element


def session_of_file(name: str, path: Path, guard: Guard) -> str:
    """A session that is named after its file: a secret in the name is redacted, and a few digits tell it from other
    files whose names lost one."""
    full_name = path.name if name == path.stem else name  # without its ending it looks more like a token
    clean = guard.words(full_name)
    return name if clean == full_name else f"{clean} {identity(full_name)[:NAME_DIGITS]}"


def elements(path: Path) -> Iterator[tuple[Json, int]]:
    """Each element of an array, or each value that is no array, with the bytes read so far. Values may follow each
    other, as on lines. Raises `ValueError`."""
    with open_regular(path) as file:
        stream = Stream(file)
        first = stream.skip(SPACE)
        if not first:
            raise ValueError("there is nothing in it")
        while first:
            if first == "[":
                yield from array_elements(stream)
            else:
                yield stream.element(), stream.read
            first = stream.skip(SPACE)


def array_elements(stream: Stream) -> Iterator[tuple[Json, int]]:
    stream.text = stream.text[1:]
    while (first := stream.skip(SPACE + ",")) and first != "]":
        yield stream.element(), stream.read
    if not first:
        raise ValueError("the array does not end")
    stream.text = stream.text[1:]
