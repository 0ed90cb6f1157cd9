"""Reads an archive of either format as rows: memories, terms, and lines that are neither."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, NoReturn, Protocol, TypeAlias, cast

from nacre.errors import ArchiveRefused, InvalidInput
from nacre.protocols import Progress
from nacre.transfer import ahkai
from nacre.transfer.archive import AGAIN, AHKAI, NACRE, VERSIONS, ArchiveInfo, Header, Lines, check_size

OTHER = "Take a file that `nacre export` wrote."
MOST_BAD = 10_000  # unreadable lines, where they are the majority
MEMORY_LINE = b'{"memory":{'  # how a line of a memory begins in our own format
LONGEST_NAME = 80  # characters of a name in a message or a list


class MemoryRow(NamedTuple):
    """`fields` have the names of a memory's fields and are unchecked; `vectors` are as the format writes them, or None.
    `name` identifies the row in a fault where the line number is not enough. `exported_version` is set for a note: the
    version of the memory that was written to it. `edited` says that somebody edited it since, and `redacted` that it
    was written without a secret. `complete`: a field that it lacks has its default, as in archives; of other rows
    nothing is known of it."""

    line: int
    fields: Mapping[str, object]
    vectors: object = None
    name: str = ""
    exported_version: int | None = None
    edited: bool = False
    redacted: bool = False
    complete: bool = False


class SkimmedRow(NamedTuple):
    """A memory that is not read yet, as its line has it."""

    line: int
    written: bytes

    @property
    def has_vectors(self) -> bool:
        """They come last, as text; without them the line ends with two braces."""
        return self.written.rstrip().endswith(b'"}') and b'"vectors":"' in self.written


class TermRow(NamedTuple):
    line: int
    kind: object
    name: object
    data: object


class BadRow(NamedTuple):
    line: int
    why: str


Row: TypeAlias = MemoryRow | TermRow | BadRow


class Source(Protocol):
    """What an import reads. `rows` can be read again with the same result; `notes` are remarks for the user."""

    path: Path
    header: Header

    @property
    def notes(self) -> tuple[str, ...]: ...

    def rows(self, progress: Progress | None = None) -> Iterator[Row]: ...


class Archive:
    """Opening reads the header; each call of `rows` verifies the complete file.

    Raises `ArchiveRefused` for a file that is not an archive, of a later version, damaged or beyond the limits.
    """

    notes: tuple[str, ...] = ()

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path).expanduser()
        self.unpacked = 0
        check_size(self.path)
        first = next(iter(Lines(self.path)), (0, b""))[1]
        self.header = self._header(first)

    def rows(self, progress: Progress | None = None) -> Iterator[Row]:
        return cast("Iterator[Row]", self._rows(progress, skim=False))

    def skimmed(self, progress: Progress | None = None) -> Iterator[Row | SkimmedRow]:
        """As `rows`, without parsing the lines that our own export writes of memories: enough to verify the file."""
        return self._rows(progress, skim=True)

    def _rows(self, progress: Progress | None, *, skim: bool) -> Iterator[Row | SkimmedRow]:
        lines = Lines(self.path, progress)
        counted = bad = 0
        ended = False
        for number, line in lines:
            self.unpacked = lines.unpacked
            if number == 1:
                if self._header(line) != self.header:
                    self._refuse("it changed while it was read")
                continue
            if ended:
                self._refuse("there is more after its closing line")
            if skim and line.startswith(MEMORY_LINE):
                counted += 1
                yield SkimmedRow(number, line)
                continue
            row = parse_line(line)
            if self.header.form == NACRE and isinstance(row, dict) and "end" in row:
                self._check_end(row["end"], counted, lines.digest)
                ended = True
                continue
            counted += 1
            entry = self._row(number, row)
            bad += isinstance(entry, BadRow)
            if bad > MOST_BAD and bad * 2 > counted:
                self._refuse(f"{bad:,} of its first {counted:,} lines cannot be read")
            yield entry
        if not ended and self.header.form == NACRE:
            self._refuse("it is cut short: its closing line is missing")

    def _row(self, number: int, row: object) -> Row:
        if isinstance(row, str):
            return BadRow(number, row)
        if not isinstance(row, dict):
            return BadRow(number, "it is not a JSON object")
        if self.header.form == AHKAI:
            try:
                return MemoryRow(number, ahkai.fields(row), row.get("vector"), complete=True)
            except InvalidInput as error:
                return BadRow(number, str(error))
        memory, word = row.get("memory"), row.get("word")
        if isinstance(memory, dict):
            return MemoryRow(number, memory, row.get("vectors"), complete=True)
        if isinstance(word, dict):
            return TermRow(number, word.get("kind"), word.get("name"), word.get("data", {}))
        return BadRow(number, "it holds neither a memory nor a term")

    def _check_end(self, end: object, counted: int, digest: str) -> None:
        closing = end if isinstance(end, dict) else {}
        if closing.get("sha256") != digest:
            self._refuse("it is damaged: its checksum differs from its closing line")
        if closing.get("count") != counted:
            self._refuse(f"it is damaged: it has {counted:,} rows, but its closing line has another number")

    def _header(self, line: bytes) -> Header:
        fields = parse_line(line)
        form = fields.get("format") if isinstance(fields, dict) else None
        if not isinstance(fields, dict) or not isinstance(form, str) or form not in VERSIONS:
            raise ArchiveRefused(self.path, "it is not an archive", OTHER)
        version = fields.get("version")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise ArchiveRefused(self.path, "its header names no version", OTHER)
        if version > VERSIONS[form]:
            reason = f"it has version {version}, and this program reads up to version {VERSIONS[form]}"
            raise ArchiveRefused(self.path, reason, "Upgrade nacre to read it.")
        source = fields.get("source")
        source = source if isinstance(source, dict) else {}
        names = ahkai.SOURCE if form == AHKAI else ("space", "embedder", "dimensions", "count")
        space, embedder, dimensions, count = (source.get(name) for name in names)
        options = fields.get("options")
        at = fields.get("exported_at", "")
        return Header(
            form, version, short_text(at) if isinstance(at, str) else ahkai.header_time(at), short_text(space),
            short_text(embedder), number(dimensions), number(count), options if isinstance(options, dict) else {},
        )  # fmt: skip

    def _refuse(self, reason: str) -> NoReturn:
        raise ArchiveRefused(self.path, reason, AGAIN)


def parse_line(line: bytes) -> object:
    """The value, or a sentence that says why the line cannot be read; no row is a bare string."""
    try:
        value: object = decode(line.decode("utf-8"))
    except RecursionError:
        return "it is nested too deep"
    except ValueError as error:
        return f"it is not JSON ({short(str(error))})"
    return "it is not a JSON object" if isinstance(value, str) else value


def no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


decode = json.JSONDecoder(parse_constant=no_number).decode  # made once: there is a line for each memory


def short_text(value: object) -> str:
    return short(value) if isinstance(value, str) else ""


def number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else 0


def short(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}…"


MOST_TYPES = 200  # types that are counted by name; a hostile file could have millions
USUAL, OTHERS = "semantic", "(others)"


def info(path: Path | str, *, progress: Progress | None = None) -> ArchiveInfo:
    """Reads the complete file in bounded memory; a damaged file as far as possible.

    Raises `ArchiveRefused` when the header cannot be read.
    """
    archive = Archive(path)
    types: Counter[str] = Counter()
    vectors = terms = errors = 0
    problem = ""
    try:
        for row in archive.rows(progress):
            if isinstance(row, MemoryRow):
                name = short_text(row.fields.get("type", USUAL)) or OTHERS
                types[name if name in types or len(types) < MOST_TYPES else OTHERS] += 1
                vectors += row.vectors is not None
            elif isinstance(row, TermRow):
                terms += 1
            else:
                errors += 1
    except ArchiveRefused as error:
        problem = error.reason
    return ArchiveInfo(
        archive.path, archive.header, types.total(), dict(types.most_common()), vectors, terms, errors,
        bytes=archive.path.stat().st_size, unpacked=archive.unpacked, problem=problem,
    )  # fmt: skip
