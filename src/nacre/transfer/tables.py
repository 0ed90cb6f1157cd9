"""Memories as JSON lines, a JSON array of objects, or CSV: one row for each, with all of its fields."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import cast

from nacre.errors import ArchiveRefused, InvalidInput, UnknownName
from nacre.files import open_regular
from nacre.model import TYPES
from nacre.model.memory import NAMES, Json
from nacre.protocols import Progress
from nacre.remember.guard import Guard
from nacre.transfer.cells import LONGEST_SHOWN, TIMES, convert, csv_line, is_relative
from nacre.transfer.foreign.look import Look
from nacre.transfer.foreign.source import ForeignSource, header, no_memories, printable
from nacre.transfer.import_plan import checked_fields
from nacre.transfer.ingest.conversations import text_and_tools
from nacre.transfer.ingest.items import elements, identity, lines
from nacre.transfer.ingest.markdown import MONTHS, SLASHED_DATE
from nacre.transfer.read_archive import BadRow, MemoryRow, Row, TermRow
from nacre.transfer.vocabulary import TYPE, checked_term

JSONL, CSV = "jsonl", "csv"
# Names that other programs give to our fields, where the file has none of our own name.
OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "text": ("content", "body", "memory", "note", "message"),
    "title": ("name", "subject", "heading"),
    "tags": ("labels", "keywords"),
    "created_at": ("created", "date_created"),
    "updated_at": ("updated", "modified"),
    "occurred_at": ("timestamp", "time", "date"),
    "session": ("session_id", "conversation_id", "thread_id"),
    "role": ("speaker", "author"),
    "agent": ("agent_id",),
    "source": ("url",),
}
FIELDS_BY_OTHER_NAME = {other: name for name, others in OTHER_NAMES.items() for other in others}
IN_METADATA = "metadata."  # of a column's target: metadata.page puts it under that key
DELIMITERS = ",;\t|"
LONGEST_CELL = 8_000_000  # characters: a memory with all of its links takes less
MOST_COLUMNS = 1_000  # whose names are kept, to say which there are
MOST_SHOWN = 20  # of them in a message
SAME_WORD = 0.88  # of difflib: one letter wrong or missing, but not "emotion" for "emotional"
MOST_SESSIONS = 1_000_000  # whose turns are counted
# Facts that an interface may add its own remedy to.
LEFT_OUT_COLUMNS = "Columns that are no field of a memory were left out"
NO_TEXT = "it has no text"
DISTINCT = ("title", "agent", "contexts")  # rows of one text that differ in these are several memories


def is_one_of_ours(record: Mapping[str, object]) -> bool:
    """A row that Nacre wrote: its types are what they are called."""
    return "id" in record and "last_accessed" in record


def is_complete(record: Mapping[str, object], form: str) -> bool:
    """Whether a field that it lacks has its default: a CSV of Nacre has every column, and its JSON lines have the times
    always."""
    return record.keys() >= (set(NAMES) if form == CSV else {"id", "created_at", "updated_at", "last_accessed"})


def has_valid_fields(fields: Mapping[str, object]) -> bool:
    try:
        checked_fields(fields, (str(fields["type"]),))
    except InvalidInput:
        return False
    return True


class NoTextColumn(ArchiveRefused):
    def __init__(self, path: Path, names: str) -> None:
        reason = f"no column of it holds the text of memories (it has: {names})"
        super().__init__(path, reason, "Say which one it is with --map COLUMN=text, or what the file is with --from.")


class MissingColumn(InvalidInput):
    def __init__(self, column: str, known: Iterable[str]) -> None:
        names = list(known)
        by_key = {name.lower(): name for name in names}
        near = get_close_matches(column.lower(), by_key, n=1, cutoff=0.5)
        listed = f"its columns are: {', '.join(map(printable, names[:MOST_SHOWN]))}."
        hint = f"did you mean {printable(by_key[near[0]])!r}?" if near else listed
        super().__init__(f"There is no column {printable(column)!r} in it; {hint}")


@contextmanager
def opened(path: Path, form: str, guard: Guard, columns: Mapping[str, str] | None = None) -> Iterator[Table]:
    """`columns` are the fields for columns of other names. Raises `ArchiveRefused` and `InvalidInput`."""
    for target in (columns or {}).values():
        if not target.startswith(IN_METADATA):
            UnknownName.check("field of a memory", target, NAMES)
    yield Table(path, header(form), form=form, guard=guard, columns=dict(columns or {}))


@dataclass(slots=True, kw_only=True)
class Table(ForeignSource):
    """Rows without an id get one from their text and where it comes from, so that a second import adds nothing."""

    form: str
    guard: Guard
    columns: dict[str, str]
    left_out: set[str] = field(default_factory=set)
    seen: set[bytes] = field(default_factory=set)
    repeated: int = 0
    columns_seen: dict[str, None] = field(default_factory=dict)
    has_text: bool = False
    positions: Counter[str] = field(default_factory=Counter)
    turns: Counter[str] = field(default_factory=Counter)  # how often each was said
    day_first: set[str] | None = None  # columns with dates such as 25/12/2024; None until they are looked for
    either_first: set[str] = field(default_factory=set)  # whose dates could all be read both ways

    def further_notes(self) -> Iterator[str]:
        if self.left_out:
            names = ", ".join(map(printable, sorted(self.left_out)))
            yield f"{LEFT_OUT_COLUMNS}: {names}."
        if self.either_first:
            names = ", ".join(map(printable, sorted(self.either_first)))
            yield f"Dates such as 03/04/2024 were read with the month first in {names}; write 2024-04-03 for April."

    def rows(self, progress: Progress | None = None) -> Iterator[Row]:
        self.look_at_dates()
        self.seen.clear()
        self.positions.clear()
        self.turns.clear()
        self.repeated = 0
        self.columns_seen.clear()
        self.has_text = False
        types = set(TYPES)
        number = 0
        size = max(1, self.path.stat().st_size)
        for number, at, record in self.records():
            if progress is not None and number % 500 == 0:
                progress(min(at, size), size, "checking the file")
            if isinstance(record, str):
                yield BadRow(number, record)
                continue
            try:
                fields = self.fields(record)
            except InvalidInput as error:
                yield BadRow(number, str(error))
                continue
            if fields is None:
                continue
            type_name = fields.get("type")
            if isinstance(type_name, str) and type_name not in types:
                try:
                    term = self.new_type(number, type_name, record)
                except InvalidInput as error:
                    yield BadRow(number, str(error))
                    continue
                if has_valid_fields(fields):  # what will be refused teaches nothing
                    types.add(type_name)
                    yield term
            name = printable(fields["id"]) if "id" in record else ""
            yield MemoryRow(number, fields, name=name, complete=is_complete(record, self.form))
        if not number:
            raise no_memories(self.path)
        self.check_columns()

    def new_type(self, number: int, name: str, record: Mapping[str, object]) -> TermRow:
        """Raises `InvalidInput` for one that looks like a mistake, or cannot be a type."""
        near = get_close_matches(name, TYPES, n=1, cutoff=SAME_WORD)
        if near and not is_one_of_ours(record):
            raise InvalidInput(f"there is no type {printable(name)!r}; did you mean {near[0]!r}?")
        term = TermRow(number, TYPE, name, {})
        checked_term(term, "", self.guard)
        return term

    def check_columns(self) -> None:
        """Raises `InvalidInput` for a column that is mapped and not there, and `ArchiveRefused` without a text."""
        for column in self.columns:
            if column not in self.columns_seen:
                raise MissingColumn(column, self.columns_seen)
        if not self.has_text:
            names = ", ".join(map(printable, islice(self.columns_seen, MOST_SHOWN))) or "none"
            raise NoTextColumn(self.path, names)

    def look_at_dates(self) -> None:
        """All dates of a column are read in one way: day first, where one of them cannot be read otherwise."""
        if self.day_first is not None:
            return
        days, months, either = set[str](), set[str](), set[str]()
        for record in (each for _, _, each in self.records() if not isinstance(each, str)):
            for column, value in record.items():
                date = SLASHED_DATE.fullmatch(value) if isinstance(value, str) else None
                if date is not None and self.target(column, record) in TIMES:
                    first, second = int(date[1]), int(date[2])
                    (days if first > MONTHS else months if second > MONTHS else either).add(column)
        self.day_first, self.either_first = days, either - days - months

    def dated(self, column: str, value: object) -> object:
        date = SLASHED_DATE.fullmatch(value) if isinstance(value, str) and column in (self.day_first or ()) else None
        return value if date is None or int(date[2]) > MONTHS else f"{date[3]}-{date[2]:0>2}-{date[1]:0>2}"

    def records(self) -> Iterator[tuple[int, int, Mapping[str, object] | str]]:
        return self.csv_records() if self.form == CSV else self.json_records()

    def json_records(self) -> Iterator[tuple[int, int, Mapping[str, object] | str]]:
        """Of JSON lines, or of one array."""
        if Look(self.path).is_array:
            yield from self.array_records()
            return
        for line in lines(self.path):
            entry = line.entry
            if isinstance(entry, dict) and isinstance(entry.get("memory"), dict) and "text" not in entry:
                entry = entry["memory"]
            yield line.number, line.end, entry if isinstance(entry, dict) else line.fault or "it is not a JSON object"

    def array_records(self) -> Iterator[tuple[int, int, Mapping[str, object] | str]]:
        number = read = 0
        try:
            for number, (entry, read) in enumerate(elements(self.path), 1):
                yield number, read, entry if isinstance(entry, dict) else "it is not a JSON object"
        except ValueError as error:
            yield number + 1, read, f"the rest is not JSON ({error})"

    def csv_records(self, *, keep: bool = False) -> Iterator[tuple[int, int, Mapping[str, object] | str]]:
        """`keep` gives a row that is too long as it is, instead of what is wrong with it."""
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
        with open_regular(self.path) as raw:
            file = io.TextIOWrapper(raw, "utf-8-sig", newline="")
            try:
                reader = csv.reader(file, delimiter=self.delimiter(), strict=True)
                names = [name.strip() for name in next(reader, [])]
                self.columns_seen |= dict.fromkeys(names)
                self.check_header(names)
                for row in reader:
                    if not any(row):
                        continue
                    if len(row) > len(names) and keep:
                        yield reader.line_num, raw.tell(), csv_line(row).rstrip()
                    elif len(row) > len(names):
                        yield reader.line_num, raw.tell(), f"it has {len(row)} values, and the header {len(names)}"
                    else:
                        yield reader.line_num, raw.tell(), dict(zip(names, row, strict=False))
            except UnicodeDecodeError:
                raise ArchiveRefused(self.path, "it is not UTF-8 text", "Save it as CSV in UTF-8.") from None
            except csv.Error as error:
                yield reader.line_num, raw.tell(), f"the rest cannot be read as CSV ({error})"

    def check_header(self, names: Sequence[str]) -> None:
        """Raises `ArchiveRefused`: of two columns with one name, one would be lost."""
        keys = [name if name in self.columns else key_of(name) for name in names if name]
        for key in dict.fromkeys(keys):
            if keys.count(key) > 1:
                remedy = "Give each column a name of its own."
                raise ArchiveRefused(self.path, f"two of its columns are called {printable(key)!r}", remedy)

    def delimiter(self) -> str:
        """The one that the header has most of."""
        with open_regular(self.path) as raw:
            first = raw.readline(LONGEST_CELL).decode("utf-8-sig", "replace")
        return max(DELIMITERS, key=first.count)

    def fields(self, record: Mapping[str, object]) -> dict[str, object] | None:
        """Under our names; None for a row that repeats an earlier one."""
        named = self.named(record)
        if isinstance(named.get("text"), list):
            named["text"] = text_and_tools(cast("Json", named["text"]))[0]
        if (text := named.get("text")) is not None and not isinstance(text, str | list):
            raise InvalidInput(
                f"its text is {json.dumps(text)[:LONGEST_SHOWN]}, which is not text; put it in quotation marks."
            )
        fields = {name: convert(name, value) for name, value in named.items() if value is not None and value != ""}
        if not isinstance(fields.get("text"), str):
            raise InvalidInput(f"{NO_TEXT}.")
        is_numbered = False
        if "role" in fields and "session" in fields and "last_accessed" not in fields:  # not a record of ours
            fields.setdefault("type", "episodic")
            is_numbered = "position" not in fields and len(self.positions) < MOST_SESSIONS
        if isinstance(fields.get("id"), int):
            fields["id"] = str(fields["id"])
        identified = fields if "id" in fields else self.with_identity(fields, named, is_numbered)
        if identified is None:
            return None
        if is_numbered:
            identified["position"] = self.positions[str(fields["session"])]
            self.positions[str(fields["session"])] += 1
        if "created_at" in fields:
            identified.setdefault("updated_at", fields["created_at"])
        return identified

    def with_identity(
        self, fields: dict[str, object], named: Mapping[str, object], is_turn: bool
    ) -> dict[str, object] | None:
        """Of the words without secrets: a hash of a short secret would reveal it. A turn without a position may be said
        again, and is counted by its words: its row has another number when a newer one is put above it."""
        own = [f"{name} {fields[name]}" for name in DISTINCT if fields.get(name)]
        if "created_at" in fields:
            own.append(f"created_at {as_typed(fields, named, 'created_at')}")
        clean, _ = self.guard.fields({"text": str(fields["text"]).strip(), "title": "\n".join(own)})
        place = [str(fields.get(name, "")) for name in ("source", "session", "position", "role")]
        words = [str(clean[name]) for name in ("text", "title") if clean[name]]
        id = identity("row", *place, str(as_typed(fields, named, "occurred_at")), *words)
        if is_turn:
            self.turns[id] += 1
            id = identity(id, str(self.turns[id])) if self.turns[id] > 1 else id
        if id.encode() in self.seen:
            self.repeated += 1
            return None
        self.seen.add(id.encode())
        return {**fields, "id": id}

    def named(self, record: Mapping[str, object]) -> dict[str, object]:
        """By our names; what a mapping puts into the metadata is there."""
        named: dict[str, object] = {}
        more: dict[str, object] = {}
        for column, value in record.items():
            if len(self.columns_seen) < MOST_COLUMNS or column in self.columns:
                self.columns_seen[column] = None
            target = self.target(column, record)
            if target.startswith(IN_METADATA):
                more[target.removeprefix(IN_METADATA)] = value
            elif target:
                named[target] = self.dated(column, value) if target in TIMES else value
                self.has_text |= target == "text"
            elif len(self.left_out) < len(NAMES):
                self.left_out.add(column)
        if more:
            own = convert("metadata", named.get("metadata") or {})
            named["metadata"] = {**own, **more} if isinstance(own, dict) else more
        return named

    def target(self, column: str, record: Mapping[str, object]) -> str:
        """The field that a column fills, or the place in the metadata; empty for none."""
        return self.columns.get(column) or self.own_name(column, record)

    def own_name(self, column: str, record: Mapping[str, object]) -> str:
        key = key_of(column)
        if key in NAMES:
            return key
        name = FIELDS_BY_OTHER_NAME.get(key, "")
        if not name or name in self.columns.values():
            return ""
        better = (name, *OTHER_NAMES[name][: OTHER_NAMES[name].index(key)])
        return "" if any(key_of(other) in better for other in record) else name


def as_typed(fields: Mapping[str, object], named: Mapping[str, object], name: str) -> object:
    """The time, or its words where they name another one tomorrow: "yesterday" is then another day, and the row the
    same."""
    return named[name] if is_relative(named.get(name)) else fields.get(name, "")


def key_of(column: str) -> str:
    """What a column is called, however its name is written."""
    return column.strip().lower().replace(" ", "_")
