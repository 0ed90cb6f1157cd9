"""Texts of a damaged file whose records are lost: reads pages without their tables, and makes memories of the texts."""

from __future__ import annotations

import struct
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import apsw

from nacre.errors import InvalidInput
from nacre.files import create_private, log_of, size_of
from nacre.model import STATUSES, Link, Memory
from nacre.model.instants import FIRST, LAST
from nacre.model.journal import MEMORY
from nacre.model.memory import LISTS, SALVAGED
from nacre.model.validate import CHECKS
from nacre.storage import tables
from nacre.storage.sqlite import damage, rows
from nacre.storage.sqlite.connection import PLAIN, header, is_encrypted
from nacre.storage.sqlite.damage import READ_FAULTS, walk
from nacre.storage.sqlite.schema import PAGE_BYTES, STATEMENTS
from nacre.storage.tables import SCALARS, DamagedRecord, SQLValue

Values = tuple[Any, ...]

EARLIER_NOTE = "Recovered from a damaged file: an earlier version; what was changed later may be lost."
NOTE = "Recovered from a damaged file: its text is whole, its other values may be lost."
UNKNOWN_TRUST = 0.5  # of a text of which nobody knows any more how far it was trusted
ACTOR = "doctor"
OF_STATUS = frozenset(("status", "trashed_from"))

# What follows is from "Database File Format" in SQLite's documentation: sections 1.3 (header), 1.6 (pages), 2.1 (rows),
# 4.1 (write-ahead log).
FIRST_PAGE_HEADER = 100  # bytes before the content of page 1
HEADER = ">16sH6B12I20x2I"
WAL_MARKS, NO_WAL = slice(18, 20), b"\1\1"  # the bytes that say how the file is written
RESERVED_AT = 20  # where the file says how many bytes at the end of each page are not SQLite's
PAGE_SIZES = (PAGE_BYTES, *(size for size in (1 << power for power in range(9, 17)) if size != PAGE_BYTES))
RESERVED = (0, 32)  # bytes at the end of a page: a store that was encrypted once keeps the room for its tags
PROBED_BYTES = 1 << 20  # of a file whose header cannot be read, to find out how long its pages are
LOG_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
LOG_HEADER, FRAME_HEADER = 32, 24  # bytes
LOG_PAGE_SIZE, LOG_SALT = slice(8, 12), slice(16, 24)
# In the header of a page in the log: its number, how many pages the file has once it is committed, and the log's salt.
FRAME_PAGE, FRAME_COMMIT, FRAME_SALT = slice(0, 4), slice(4, 8), slice(8, 16)
TABLE_LEAF = 0x0D  # the first byte of a page with rows of a table
CELLS_AT = slice(3, 5)  # in a page, how many rows it has
LEAF_HEADER = 8  # bytes of a page before the places of its rows, of 2 bytes each
NEXT_PAGE = 4  # bytes of the number of the page that a long row continues on
# The types of values in a row; from 12 on, an even number is bytes and an odd one a text, with its length.
NULL, REAL, BYTES = 0, 7, 12
INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
CONSTANTS = {8: 0, 9: 1}
RESERVED_TYPES = (10, 11)

MOST_ROW_BYTES = 50_000_000  # a damaged length may ask for all the memory of the machine
# Columns of `version` that an index holds besides the key, with the condition of that index.
INDEXED = {
    "created_at": ("version_created", ""), "updated_at": ("version_updated", ""),
    "importance": ("version_importance", ""), "confidence": ("version_confidence", ""),
    "type": ("version_type", ""), "status": ("version_status", ""),
    "session": ("version_session", "session <> ''"), "position": ("version_session", "session <> ''"),
    "occurred_at": ("version_occurred", "occurred_at IS NOT NULL"),
    "expires_at": ("version_expires", "expires_at IS NOT NULL"), "trust": ("version_trust", "trust < 1"),
    "last_validated_at": ("version_validated", "last_validated_at IS NOT NULL"),
    "superseded_by": ("version_superseded", "superseded_by <> ''"),
}  # fmt: skip
LABELS = "SELECT key, seq_from, field, name FROM label WHERE seq_to IS NULL ORDER BY space{0}, field{0}, name{0}"
LINKS = (
    "SELECT key, seq_from, target, rel, weight, kind FROM link WHERE seq_to IS NULL"
    " ORDER BY space{0}, target{0}, rel{0}"
)


@dataclass(frozen=True, slots=True)
class Remains:
    """What can be read of a present version whose record cannot."""

    key: int
    seq_from: int
    columns: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScannedRows:
    """Rows that lie in the pages of a file, by their numbers, of tables that cannot be walked from end to end."""

    version: Mapping[int, Values] = field(default_factory=dict)
    content: Mapping[int, Values] = field(default_factory=dict)
    memory: Mapping[int, Values] = field(default_factory=dict)


class StoredContent(NamedTuple):
    """A row of the table `content`, with the text as it is stored."""

    space: int
    text: str | bytes
    title: str
    role: str
    words: Any


class Orphan(NamedTuple):
    """A content without a version, and the version that it belonged to, where something of that is known; or that of an
    earlier version, where the present one is lost with its text."""

    owner: Remains | None
    content: StoredContent
    is_earlier: bool = False


# Pages


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of a file of `length` bytes, of which the last `reserved` of each page are not SQLite's. Read through
    the driver: it decrypts, and no lock of this process on the file is lost."""

    connection: apsw.Connection
    length: int
    page_size: int
    reserved: int

    def page(self, number: int) -> bytes:
        if not 1 <= number <= self.length // self.page_size:
            raise ValueError("there is no such page")
        return self.connection.read("main", 0, (number - 1) * self.page_size, self.page_size)[1]

    def rows(self, within: int | None = None) -> Iterator[tuple[str, int, Values]]:
        """The table, the number and the columns of every row that lies in a page of rows and has the shape of a table;
        `within` the first so many bytes. Pages that SQLite gave back hold nothing: `secure_delete` has emptied them."""
        for number in range(1, min(self.length, within or self.length) // self.page_size + 1):
            with suppress(apsw.Error, ValueError):
                for row, values in self._leaf_rows(number):
                    for table, shape in SHAPES.items():
                        if len(values) == len(shape) and all(map(isinstance, values, shape)):
                            yield table, row, values

    def _leaf_rows(self, number: int) -> Iterator[tuple[int, Values]]:
        data, usable = self.page(number), self.page_size - self.reserved
        start = FIRST_PAGE_HEADER if number == 1 else 0
        if data[start] != TABLE_LEAF:
            return
        places = start + LEAF_HEADER
        cells = int.from_bytes(data[start:places][CELLS_AT])
        for at in range(places, min(places + 2 * cells, usable - 1), 2):
            with suppress(apsw.Error, ValueError, IndexError, struct.error):
                yield cell(data, int.from_bytes(data[at : at + 2]), usable, self.page)


def pages_of(connection: apsw.Connection, length: int) -> Pages:
    """As its header says, which the driver has accepted."""
    reserved = connection.read("main", 0, 0, FIRST_PAGE_HEADER)[1][RESERVED_AT]
    return Pages(connection, length, int(connection.pragma("page_size")), reserved)


def probed(connection: apsw.Connection, length: int) -> Pages | None:
    """Without its header: pages of the length at which most rows can be read. None where no row of a store can."""
    ways = [Pages(connection, length, page_size, reserved) for page_size in PAGE_SIZES for reserved in RESERVED]
    counts = [sum(1 for _ in pages.rows(PROBED_BYTES)) for pages in ways]
    return ways[counts.index(max(counts))] if any(counts) else None


def holds_rows(file: Path) -> bool:
    """Whether a file that the driver refuses is a store whose header is damaged."""
    with suppress(apsw.Error), closing(apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)) as opened:
        return probed(opened, size_of(file)) is not None
    return False


def opened_as_it_is(file: Path) -> apsw.Connection:
    """Nothing is written, and a log beside it is not read."""
    place = f"{file.absolute().as_uri()}?mode=ro&immutable=1"
    return apsw.Connection(place, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def mend_first_page(file: Path) -> None:
    """Where the driver cannot open a file: writes a sound header into it, or puts the first page of its log there, also
    where there is only a log. The driver then reads the log itself. Only for a copy."""
    if size := size_of(file):
        with closing(opened_as_it_is(file)) as opened:
            with suppress(apsw.Error):
                opened.pragma("schema_version")
                if pages_of(opened, 0).reserved in RESERVED:
                    return
            pages, encrypted = probed(opened, size), is_encrypted(header(opened))
        if pages is not None:
            write_start(file, sound_header(pages.page_size, pages.reserved, pages.length // pages.page_size))
        if pages is not None or encrypted:
            return
    if is_log(log := log_of(file)):
        page, pages_in_all = first_page(log.read_bytes())
        write_start(file, page, pages_in_all * len(page))


def write_start(file: Path, content: bytes, length: int = 0) -> None:
    """And makes the file at least so long: the driver takes a log of pages far behind its end for damaged."""
    create_private(file)
    with file.open("rb+") as copy:
        copy.write(content)
        copy.truncate(max(length, size_of(file), len(content)))


def is_log(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(LOG_HEADER)[: len(LOG_MAGIC[0])] in LOG_MAGIC
    except OSError:
        return False


def first_page(log: bytes) -> tuple[bytes, int]:
    """The newest one in a log, as it lies there: encrypted where the store was. Without one, that of an empty file.
    And how many pages the file has with the log."""
    page_size = int.from_bytes(log[LOG_PAGE_SIZE])
    if page_size not in PAGE_SIZES:
        return b"", 0
    newest, pages = b"", 1
    for at in range(LOG_HEADER, len(log) - FRAME_HEADER - page_size + 1, FRAME_HEADER + page_size):
        frame = log[at : at + FRAME_HEADER]
        if frame[FRAME_SALT] != log[LOG_SALT]:  # from here on the log is an earlier one
            break
        pages = int.from_bytes(frame[FRAME_COMMIT]) or pages
        if int.from_bytes(frame[FRAME_PAGE]) == 1:
            newest = log[at + FRAME_HEADER : at + FRAME_HEADER + page_size]
    no_rows = bytes((TABLE_LEAF, 0, 0, 0, 0)) + (page_size % 65_536).to_bytes(2)
    return newest or (sound_header(page_size, 0, 1) + no_rows).ljust(page_size, b"\0"), pages


def sound_header(page_size: int, reserved: int, pages: int) -> bytes:
    """In the order of section 1.3, without free pages. Where a field has no part in reading rows, it is 0."""
    size = page_size % 65_536 or 1  # so the format writes 65,536 in two bytes
    counter, schema_cookie, schema_format, utf_8 = 1, 1, 4, 1
    numbers = (counter, pages, 0, 0, schema_cookie, schema_format, 0, 0, utf_8, 0, 0, 0)
    return struct.pack(HEADER, PLAIN, size, 2, 2, reserved, 64, 32, 32, *numbers, counter, 0)


def scanned(old: apsw.Connection, size: int) -> ScannedRows:
    """Empty where the tables can be walked; `size` is that of the file in bytes."""
    if all(can_be_walked(old, table) for table in ("version", "content", "memory")):
        return ScannedRows()
    kept: dict[str, dict[int, Values]] = {table: {} for table in SHAPES}
    for table, number, values in pages_of(old, size).rows():
        kept[table][number] = values
    return ScannedRows(kept["version"], kept["content"], kept["memory"])


def rows_alone(old: apsw.Connection, size: int) -> apsw.Connection:
    """A store in memory with all rows that lie in the pages of a file whose own definitions lead to none."""
    new = apsw.Connection(":memory:")
    rows.register(new)
    new.execute(STATEMENTS)
    new.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)  # nothing is searched here
    for table, number, (_, *values) in pages_of(old, size).rows():
        places = ", ".join("?" for _ in values)
        new.execute(f"INSERT OR IGNORE INTO {table} VALUES (?, {places})", (number, *values))
    return new


LAST_COLUMNS = 6  # of a version, after the scalars: `lists`, `uses`, `stems`, `length`, `role`, `asks`
NONE, SOME_INT, SOME_STR, NUMBER = type(None), int | type(None), str | type(None), int | float
# The columns of each table, which are of different numbers, with the kinds of values that they can have.
SHAPES: dict[str, tuple[Any, ...]] = {
    "version": (NONE, int, int, int, SOME_INT, int, int, int, *[object] * (len(SCALARS) + LAST_COLUMNS)),
    "content": (NONE, int, str | bytes, str, str, int, SOME_STR, int),
    "memory": (NONE, int, str, int, NUMBER, int),
    "space": (NONE, str, int, NUMBER, int, NUMBER, int, int, int, int, NUMBER, int),
    "journal": (NONE, str, str, str, str, NUMBER, str, str, SOME_INT, SOME_INT, SOME_INT, SOME_STR, SOME_STR, NUMBER,
                int, int),
    "quarantine": (NONE, str, str, str, NUMBER, str),
}  # fmt: skip


def decrypted(locked: apsw.Connection, size: int) -> apsw.Connection:
    """The pages that can be decrypted, as a plain store in memory; the others are empty in it. A page that cannot be
    would keep the driver from reading any other."""
    page_size = int(locked.pragma("page_size"))
    content = bytearray(size // page_size * page_size)
    for at in range(0, len(content), page_size):
        with suppress(apsw.Error):
            content[at : at + page_size] = locked.read("main", 0, at, page_size)[1]
    content[WAL_MARKS] = NO_WAL  # a store in memory has no log
    opened = apsw.Connection(":memory:")
    opened.deserialize("main", bytes(content))
    return opened


def can_be_walked(old: apsw.Connection, table: str) -> bool:
    try:
        old.execute(f"SELECT count(*), max(rowid) FROM {table} NOT INDEXED").fetchall()
        return True
    except READ_FAULTS:
        return False


def cell(data: bytes, at: int, usable: int, page: Callable[[int], bytes]) -> tuple[int, Values]:
    """A row and its number; the rest of a long one is on pages of its own. Raises `ValueError`."""
    length, at = varint(data, at)
    number, at = varint(data, at)
    if length > MOST_ROW_BYTES:
        raise ValueError("no row is so long")
    local = bytes_in_leaf(length, usable)
    payload = bytearray(data[at : at + local])
    following = int.from_bytes(data[at + local : at + local + NEXT_PAGE]) if local < length else 0
    while len(payload) < length:
        more = page(following)
        payload += more[NEXT_PAGE : min(usable, NEXT_PAGE + length - len(payload))]
        following = int.from_bytes(more[:NEXT_PAGE])
    if len(payload) != length:
        raise ValueError("a part of the row is missing")
    return number, row_values(bytes(payload))


def bytes_in_leaf(length: int, usable: int) -> int:
    """How much of a row of this length is in its own page: the formula of section 1.6, with its numbers."""
    most = usable - 35
    if length <= most:
        return length
    least = (usable - 12) * 32 // 255 - 23
    filling = least + (length - least) % (usable - NEXT_PAGE)  # then the pages that follow are full
    return filling if filling <= most else least


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of SQLite's own form, and where it ends."""
    value = 0
    for index in range(8):
        byte = data[at + index]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + index + 1
    return value << 8 | data[at + 8], at + 9


def row_values(payload: bytes) -> Values:
    """The columns of a row. Raises `ValueError` where it is none."""
    end, at = varint(payload, 0)
    place, values = end, list[Any]()
    while at < end:
        kind, at = varint(payload, at)
        size = value_bytes(kind)
        raw = payload[place : place + size]
        place += size
        if len(raw) != size:
            raise ValueError("the row ends too early")
        values.append(value_of(kind, raw))
    if place != len(payload) or at != end:
        raise ValueError("the row does not end where it should")
    return tuple(values)


def value_bytes(kind: int) -> int:
    if kind >= BYTES:
        return (kind - BYTES) // 2
    return 8 if kind == REAL else INTEGER_BYTES.get(kind, 0)


def value_of(kind: int, raw: bytes) -> Any:
    if kind in INTEGER_BYTES:
        return int.from_bytes(raw, signed=True)
    if kind in CONSTANTS:
        return CONSTANTS[kind]
    if kind == REAL:
        return struct.unpack(">d", raw)[0]
    if kind in RESERVED_TYPES:
        raise ValueError("no value is of this kind")
    return None if kind == NULL else raw.decode() if kind % 2 else raw


# Texts


@dataclass(frozen=True, slots=True)
class TextRecovery:
    """Makes memories in `new` of the texts in `old` whose records are lost.

    `remains` is what is known of their versions, by content; `ids` are those of memories, by key, and `deleted` the
    keys of memories that were deleted; `contents` are rows that a scan of the pages met.
    """

    old: apsw.Connection
    new: apsw.Connection
    now: float
    remains: Mapping[int, Remains]
    ids: Mapping[int, bytes]
    deleted: Collection[int] = ()
    contents: Mapping[int, Values] = field(default_factory=dict)

    def recover(self, numbers: Iterable[int]) -> list[str]:
        """A memory for every content among `numbers` of a version that is lost, unless it is known to be an earlier
        state of a memory that is there, or of one that was deleted. Of a memory that has only earlier versions, the
        newest one. What is not known otherwise is as in the newest version that can be read; where the status is not
        known, the memory is in the archive. Returns their ids."""
        held = {number for (number,) in self.new.execute("SELECT content FROM main.version").fetchall()}
        orphans = dict[int, Orphan]()
        lost = [number for number in numbers if number not in held or number in self.remains]
        indexed = indexed_versions(self.old, lost) if lost else {}
        for number in lost:
            if (content := sound_content(self.old, number, self.contents)) is not None:
                orphans[number] = Orphan(self.remains.get(number) or indexed.get(number), content)
        for key in damage.without_present(self.new):
            number, seq_to = newest_version(self.new, key)
            if number not in orphans and (content := sound_content(self.new, number, {})) is not None:
                orphans[number] = Orphan(Remains(key, seq_to), content, is_earlier=True)
        if not orphans:
            return []
        known = indexed_fields(self.old, [each.owner.key for each in orphans.values() if each.owner is not None])
        recovered = list[str]()
        for number in newest_first(orphans):
            owner = orphans[number].owner
            if owner is not None and (owner.key in self.deleted or is_present(self.new, owner.key)):
                continue
            fields = {} if owner is None else earlier_fields(self.new, owner)
            if owner is not None:
                fields |= {**known[owner.key], **sound_fields(owner.columns)}
            if orphans[number].is_earlier:  # it may have been forgotten since
                fields = {name: value for name, value in fields.items() if name not in OF_STATUS}
            with suppress(DamagedRecord, apsw.ConstraintError):
                recovered.append(self._put(number, orphans[number], fields))
        return recovered

    def _put(self, number: int, orphan: Orphan, fields: dict[str, object]) -> str:
        """Writes the memory, under its own id where that is known; returns the id."""
        owner, content, is_earlier = orphan
        space = content.space
        self.new.execute("INSERT OR IGNORE INTO space(number, name) VALUES (?, ?)", (space, invented_name(space)))
        name, seq, last_at = rows.only_row(self.new, "SELECT name, seq, last_at FROM present WHERE number = ?", space)
        at = float(max(self.now, last_at))
        key = next_key(self.new) if owner is None else owner.key
        id = str(uuid4()) if owner is None else self._free_id(space, key)
        journaled_at = None if owner is None else journal_time(self.new, key)
        self._complete(fields, at, journaled_at, EARLIER_NOTE if is_earlier else NOTE)
        text = rows.plain_text(content.text)
        memory = Memory(id=id, text=text, title=content.title, role=content.role, space=str(name), **fields)  # type: ignore[arg-type]
        seq_from = int(seq) + 1 if owner is None else owner.seq_from
        if owner is None:
            # What a new entry brings is newer than all other contents: searches of earlier states rely on it.
            number = 1 + max(number, int(rows.only_row(self.new, "SELECT coalesce(max(number), 0) FROM content")[0]))
            self._put_entry(memory, space, seq_from, key, at)
        self._put_rows(memory, content, number, key, seq_from)
        return id

    @staticmethod
    def _complete(fields: dict[str, object], at: float, journaled_at: float | None, note: str) -> None:
        """Adds what every memory has, and what marks one of which only the text is known."""
        times = [each for each in (journaled_at, fields.get("updated_at")) if isinstance(each, int | float)]
        fields.setdefault("created_at", min(times, default=at))
        fields.setdefault("updated_at", fields["created_at"])
        fields.setdefault("status", "archived")  # it may have been forgotten, edited or undone: a person decides
        fields.setdefault("trust", UNKNOWN_TRUST)
        fields["tags"] = (*(tag for tag in fields.get("tags", ()) if tag != SALVAGED), SALVAGED)  # type: ignore[attr-defined]
        fields["source_notes"] = "\n".join(filter(None, (str(fields.get("source_notes", "")), note)))

    def _put_entry(self, memory: Memory, space: int, seq: int, key: int, at: float) -> None:
        latest, memories, stems = rows.only_row(
            self.new, "SELECT latest, memories, stems FROM present WHERE number = ?", space
        )
        entry = (rows.place(space, seq), memory.id, MEMORY, "remember", ACTOR, at, uuid4().hex, NOTE, key, 0, 1, None,
                 None, max(latest, memory.created_at, memory.updated_at), memories + 1, stems)  # fmt: skip
        self.new.execute(f"INSERT INTO journal VALUES ({', '.join('?' for _ in entry)})", entry)

    def _put_rows(self, memory: Memory, content: StoredContent, number: int, key: int, seq_from: int) -> None:
        """The memory's identity, content and version; its vectors are pending."""
        self.new.execute("UPDATE OR IGNORE main.memory SET gone = 0 WHERE key = ?", (key,))
        self.new.execute(
            "INSERT OR IGNORE INTO main.memory(key, space, id, gone, last_accessed, access_count)"
            " VALUES (?, ?, ?, 0, ?, ?)",
            (key, content.space, memory.id, memory.last_accessed, memory.access_count),
        )
        texts = rows.content_values(*tables.contents_of(memory))
        self.new.execute(
            "INSERT OR IGNORE INTO content VALUES (?, ?, ?, ?, ?, ?, ?, 1)",
            (number, content.space, content.text, *texts[1:], content.words),
        )
        self.new.execute("UPDATE content SET pending = 1 WHERE number = ?", (number,))
        length = len(" ".join(tables.unpacked_stems(content.words, 3)).split())
        counted = "SELECT 1 + coalesce(max(version), 0) FROM main.version WHERE key = ?"
        version = int(rows.only_row(self.new, counted, key)[0])
        row = row_for(self.new, number, number)
        values: list[SQLValue] = [row, key, content.space, seq_from, None, seq_from, number, version]
        values += [*rows.version_values(memory), tables.packed_stems(("", "")), length]
        values += rows.place_values(memory.role, memory.text)
        self.new.execute(f"INSERT INTO main.version VALUES ({', '.join('?' for _ in values)})", values)

    def _free_id(self, space: int, key: int) -> str:
        """The memory's own, as the index of ids or the journal has it, unless another one has it now."""
        own = [damage.legible(self.ids.get(key))]
        own += [str(row[0]) for row in walk(self.new, f"SELECT memory_id FROM journal WHERE key = {key} LIMIT 1")]
        taken = "SELECT 1 FROM main.memory WHERE space = ? AND id = ? AND gone = 0 AND key <> ?"
        free = (id for id in own if id and not self.new.execute(taken, (space, id, key)).fetchall())
        return next(free, "") or str(uuid4())


def row_for(new: apsw.Connection, row: int | None, content: int) -> int:
    """The number of a version of a content that had this number, if it had any."""
    if row is not None and row > rows.LATER_VERSIONS:
        return row
    is_taken = new.execute("SELECT 1 FROM main.version WHERE row = ?", (content,)).fetchall()
    last = "SELECT 1 + max(?, coalesce(max(row), 0)) FROM main.version"
    return int(rows.only_row(new, last, rows.LATER_VERSIONS)[0]) if is_taken else content


def newest_version(new: apsw.Connection, key: int) -> tuple[int, int]:
    """Its content and its end, 0 and 0 where there is none."""
    sql = "SELECT content, coalesce(seq_to, 0) FROM main.version WHERE key = ? ORDER BY seq_from DESC LIMIT 1"
    return next(((int(content), int(end)) for content, end in rows.fetch(new, sql, (key,))), (0, 0))


def earlier_fields(new: apsw.Connection, owner: Remains) -> dict[str, object]:
    """Of the newest version before this one; whether the memory was forgotten since, nobody knows."""
    sql = (
        f"SELECT {rows.SELECTED} FROM {rows.RECORDS} WHERE version.key = ? AND version.seq_from < ?"
        " ORDER BY version.seq_from DESC LIMIT 1"
    )
    for row in rows.fetch(new, sql, (owner.key, owner.seq_from)):
        memory = rows.from_row(row)
        names = {*SCALARS, *LISTS, "metadata", "links"} - OF_STATUS
        return {name: getattr(memory, name) for name in names}
    return {}


def invented_name(space: int) -> str:
    """For a space whose name is lost."""
    return f"space {space}"


def sound_content(old: apsw.Connection, number: int, contents: Mapping[int, Values]) -> StoredContent | None:
    """None where a text is not as long as its row says, or cannot be unpacked: a checksum guards a compressed one."""
    columns = "space, text, title, role, characters, words"
    try:
        matches = old.execute(f"SELECT {columns} FROM content WHERE number = ?", (number,)).fetchall()
    except READ_FAULTS:
        matches = []
    row = matches[0] if matches else None
    if row is None and number in contents:
        _, space, text, title, role, characters, words, _ = contents[number]
        row = (space, text, title, role, characters, words)
    with suppress(zlib.error, UnicodeDecodeError):
        if row is not None and isinstance(row[0], int) and row[0] > 0 and isinstance(row[1], str | bytes):
            plain = rows.plain_text(row[1])
            if plain and (len(plain) == row[4] or isinstance(row[1], bytes)):
                title, role = (value if isinstance(value, str) else "" for value in row[2:4])
                return StoredContent(row[0], row[1], title, role, row[5])
    return None


def indexed_versions(old: apsw.Connection, contents: Collection[int]) -> dict[int, Remains]:
    """The first version with each of these contents, which has its number, by the index of keys."""
    known = both_ways(old, "SELECT row, key, seq_from FROM main.version INDEXED BY version_key ORDER BY key{0}")
    wanted = set(contents)
    return {row: Remains(key, seq) for row, key, seq in known if row in wanted and isinstance(key, int)}


def newest_first(orphans: Mapping[int, Orphan]) -> list[int]:
    """The newest version of a memory before its others, which are then skipped; last the texts of unknown memories,
    whose contents are numbered anew."""
    return sorted(orphans, key=lambda number: -owner.seq_from if (owner := orphans[number].owner) else 0)


def is_present(new: apsw.Connection, key: int) -> bool:
    return bool(new.execute("SELECT 1 FROM main.version WHERE key = ? AND seq_to IS NULL", (key,)).fetchall())


def indexed_fields(old: apsw.Connection, keys: Sequence[int]) -> dict[int, dict[str, object]]:
    """What the indexes, the names and the links know of the newest versions of these memories."""
    wanted, known = set(keys), defaultdict[int, dict[str, object]](dict)
    if not wanted:
        return known
    for column in INDEXED:
        for key, value in newest_values(old, column, wanted).items():
            known[key] |= sound_fields({column: value})
    for key, _, name, value in both_ways(old, LABELS):
        if key in wanted and name in LISTS:
            known[key][name] = (*known[key].get(name, ()), value)  # type: ignore[misc]
    for key, _, *link in both_ways(old, LINKS):
        if key in wanted:
            known[key]["links"] = (*known[key].get("links", ()), as_link(*link))  # type: ignore[misc]
    return known


def both_ways(old: apsw.Connection, sql: str) -> list[Values]:
    """What lies before and after a damaged page of the index; `{0}` in the statement is the direction."""
    return sorted({row for order in ("", " DESC") for row in walk(old, sql.format(order))})


def as_link(to: str, rel: str, weight: float, kind: str) -> Link:
    return Link(to, rel, weight, {"kind": kind} if kind else {})


def newest_values(old: apsw.Connection, column: str, keys: set[int]) -> dict[int, object]:
    """By the memory's key, as the index of this column has it, read from both its ends."""
    index, condition = INDEXED[column]
    anchored = "" if index == "version_updated" else " AND anchor = seq_from"
    newest = dict[int, tuple[int, object]]()
    for order in ("", " DESC"):
        sql = (
            f"SELECT key, row, {column} FROM main.version INDEXED BY {index} WHERE {condition or '1'}{anchored}"
            f" ORDER BY space{order}, {column if column != 'position' else 'session'}{order}"
        )
        for key, row, value in walk(old, sql):
            if key in keys and row >= newest.get(key, (0,))[0]:
                newest[key] = (row, value)
    return {key: value for key, (_, value) in newest.items()}


def sound_fields(columns: Mapping[str, object]) -> dict[str, object]:
    """The fields whose values a memory can have."""
    fields: dict[str, object] = {}
    for name in SCALARS:
        value = columns.get(name)
        if value is not None and is_possible(name, value):
            fields[name] = bool(value) if name == "pinned" else value
    with suppress(DamagedRecord):
        lists: dict[str, object] = {}
        if isinstance(packed := columns.get("lists"), str):
            tables.unpack_lists(packed, lists)
            fields |= lists
    return fields


def is_possible(name: str, value: object) -> bool:
    """Whether a memory can have this value; a type that is not known any more is kept."""
    if not isinstance(value, rows.KINDS[name]) or (name in TIMES and not FIRST <= value <= LAST):  # type: ignore[operator]
        return False
    if name in ("status", "trashed_from"):
        return value in STATUSES or (name, value) == ("trashed_from", "")
    check = None if name == "pinned" else CHECKS.get(name)  # which is stored as a number
    try:
        return check is None or check(name, value) == value
    except InvalidInput:
        return False


TIMES = frozenset(rows.FIELDS[place] for place in rows.TIMES)


def next_key(new: apsw.Connection) -> int:
    """Above those of memories that only the journal knows, too."""
    sql = "SELECT max(seq) FROM sqlite_sequence WHERE name = 'memory' UNION ALL SELECT max(key) FROM journal"
    return 1 + max(int(key or 0) for (key,) in new.execute(sql).fetchall())


def journal_time(new: apsw.Connection, key: int) -> float | None:
    first = new.execute("SELECT min(at) FROM journal WHERE key = ? AND new AND NOT old", (key,)).fetchall()
    at = first[0][0]
    return float(at) if isinstance(at, int | float) and FIRST <= at <= LAST else None
