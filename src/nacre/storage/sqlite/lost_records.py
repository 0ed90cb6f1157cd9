"""Texts of a damaged file whose records are lost: reads pages without their tables, and makes memories of the texts."""

from __future__ import annotations

import struct
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import apsw

from nacre.model import Link, Memory
from nacre.model.instants import FIRST, LAST
from nacre.model.journal import MEMORY
from nacre.model.memory import LISTS, SALVAGED
from nacre.storage import tables
from nacre.storage.sqlite import rows
from nacre.storage.tables import SCALARS, DamagedRecord

Values = tuple[Any, ...]

NOTE = "Recovered from a damaged file: its text is whole, its other values may be lost."
UNKNOWN_TRUST = 0.5  # of a text of which nobody knows any more how far it was trusted
ACTOR = "doctor"
FAULTS = (apsw.Error, UnicodeDecodeError)
TABLE_LEAF = 0x0D  # the first byte of a page with rows of a table
FIRST_PAGE_HEADER = 100  # bytes before the content of page 1
RESERVED_AT = 20  # where the file says how many bytes at the end of each page are not SQLite's
WAL_MARKS, NO_WAL = slice(18, 20), b"\1\1"  # the bytes that say how the file is written
# By the type of a value in a row: how many bytes a whole number takes.
INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
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


# Pages


def scanned(old: apsw.Connection, size: int) -> ScannedRows:
    """Empty where the tables can be walked; `size` is that of the file in bytes."""
    if all(can_be_walked(old, table) for table in ("version", "content", "memory")):
        return ScannedRows()
    kept: dict[int, dict[int, Values]] = {columns: {} for columns in SHAPES}
    for number, values in leaf_rows(old, size):
        shape = SHAPES.get(len(values))
        if shape is not None and all(isinstance(value, kinds) for value, kinds in zip(values, shape, strict=False)):
            kept[len(values)][number] = values
    return ScannedRows(*kept.values())


VERSION_SIZE = 8 + len(SCALARS) + 4  # columns of the table
INTEGER = (int,)
SHAPES: dict[int, tuple[tuple[type, ...], ...]] = {
    VERSION_SIZE: ((type(None),), INTEGER, INTEGER, INTEGER, (int, type(None)), INTEGER, INTEGER, INTEGER),
    9: ((type(None),), INTEGER, (str, bytes), (str,), (str,), INTEGER, INTEGER, (str, type(None)), INTEGER),
    6: ((type(None),), INTEGER, (str,), INTEGER, (int, float), INTEGER),
}


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
    except FAULTS:
        return False


def leaf_rows(old: apsw.Connection, size: int) -> Iterator[tuple[int, Values]]:
    """Every row of a table that lies in a page of its own kind, with its number. Read through the driver, which
    decrypts. Pages that SQLite gave back hold nothing: `secure_delete` has emptied them."""
    page_size = int(old.pragma("page_size"))
    usable = page_size - old.read("main", 0, 0, FIRST_PAGE_HEADER)[1][RESERVED_AT]

    def page(number: int) -> bytes:
        if not 1 <= number <= size // page_size:
            raise ValueError("there is no such page")
        return old.read("main", 0, (number - 1) * page_size, page_size)[1]

    for number in range(1, size // page_size + 1):
        with suppress(apsw.Error, ValueError):
            data = page(number)
            start = FIRST_PAGE_HEADER if number == 1 else 0
            if data[start] != TABLE_LEAF:
                continue
            cells = int.from_bytes(data[start + 3 : start + 5])
            for at in range(start + 8, min(start + 8 + 2 * cells, usable - 1), 2):
                with suppress(apsw.Error, ValueError, IndexError, struct.error):
                    yield cell(data, int.from_bytes(data[at : at + 2]), usable, page)


def cell(data: bytes, at: int, usable: int, page: Any) -> tuple[int, Values]:
    """A row and its number; the rest of a long one is on pages of its own. Raises `ValueError`."""
    length, at = varint(data, at)
    number, at = varint(data, at)
    if length > MOST_ROW_BYTES:
        raise ValueError("no row is so long")
    local = length
    if length > usable - 35:
        least = (usable - 12) * 32 // 255 - 23
        local = least + (length - least) % (usable - 4)
        local = local if local <= usable - 35 else least
    payload = bytearray(data[at : at + local])
    following = int.from_bytes(data[at + local : at + local + 4]) if local < length else 0
    while len(payload) < length:
        more = page(following)
        payload += more[4 : min(usable, 4 + length - len(payload))]
        following = int.from_bytes(more[:4])
    if len(payload) != length:
        raise ValueError("a part of the row is missing")
    return number, row_values(bytes(payload))


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of SQLite's own form, and where it ends."""
    value = 0
    for index in range(9):
        byte = data[at + index]
        if index == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + index + 1
    raise ValueError("no number is so long")


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
    if kind >= 12:
        return (kind - 12) // 2
    return 8 if kind == 7 else INTEGER_BYTES.get(kind, 0)


def value_of(kind: int, raw: bytes) -> Any:
    if kind in INTEGER_BYTES:
        return int.from_bytes(raw, signed=True)
    if kind in (8, 9):
        return kind - 8
    if kind == 7:
        return struct.unpack(">d", raw)[0]
    if kind in (10, 11):
        raise ValueError("no value is of this kind")
    return None if kind == 0 else raw.decode() if kind % 2 else raw


# Texts


def recover_texts(
    old: apsw.Connection,
    new: apsw.Connection,
    numbers: Iterable[int],
    remains: Mapping[int, Remains],
    names: Mapping[int, Values],
    contents: Mapping[int, Values],
    now: float,
) -> list[str]:
    """A memory for every content among `numbers` that no version of `new` has, unless it is known to be an earlier
    state of a memory that is there, or of one that was deleted. Where its status is not known, it is in the archive.
    Returns their ids.

    `remains` are what is known of their versions, by content; `names` the space, id and end of memories, by key;
    `contents` are rows that a scan met.
    """
    held = {number for (number,) in new.execute("SELECT content FROM main.version").fetchall()}
    orphans = dict[int, tuple[Remains | None, Values]]()
    for number in numbers:
        if number not in held and (row := whole_content(old, number, contents)) is not None:
            orphans[number] = (remains.get(number) or indexed_version(old, number), row)
    if not orphans:
        return []
    known = indexed_fields(old, [each.key for each, _ in orphans.values() if each is not None])
    recovered = list[str]()
    for number in newest_first(orphans):
        owner, row = orphans[number]
        if owner is not None and (is_present(new, owner.key) or is_gone(names, owner.key)):
            continue
        fields = {} if owner is None else {**known[owner.key], **sound_fields(owner.columns)}
        with suppress(DamagedRecord, apsw.ConstraintError):
            recovered.append(put_text(new, number, row, owner, fields, names, now))
    return recovered


def whole_content(old: apsw.Connection, number: int, contents: Mapping[int, Values]) -> Values | None:
    """Space, text as it is stored, title, role and words; None where the text is not as long as the row says."""
    columns = "space, text, title, role, characters, words"
    try:
        matches = old.execute(f"SELECT {columns} FROM content WHERE number = ?", (number,)).fetchall()
    except FAULTS:
        matches = []
    row = matches[0] if matches else None
    if row is None and number in contents:
        _, space, text, title, role, characters, _, words, _ = contents[number]
        row = (space, text, title, role, characters, words)
    with suppress(zlib.error, UnicodeDecodeError):
        if row is not None and isinstance(row[0], int) and row[0] > 0 and isinstance(row[1], str | bytes):
            plain = rows.plain_text(row[1])
            if plain and (len(plain) == row[4] or isinstance(row[1], bytes)):
                return (row[0], row[1], *(value if isinstance(value, str) else "" for value in row[2:4]), row[5])
    return None


def indexed_version(old: apsw.Connection, content: int) -> Remains | None:
    """The newest version with this content, by the index."""
    sql = "SELECT key, seq_from FROM main.version INDEXED BY version_content WHERE content = ? AND anchor = seq_from"
    with suppress(*FAULTS):
        matches = [row for row in old.execute(sql, (content,)).fetchall() if all(isinstance(each, int) for each in row)]
        if matches:
            key, seq_from = max(matches, key=lambda row: row[1])  # type: ignore[arg-type, return-value]
            return Remains(int(key), int(seq_from))  # type: ignore[arg-type]
    return None


def newest_first(orphans: Mapping[int, tuple[Remains | None, Values]]) -> list[int]:
    """The newest version of a memory before its others, which are then skipped; last the texts of unknown memories,
    whose contents are numbered anew."""
    return sorted(orphans, key=lambda number: -owner.seq_from if (owner := orphans[number][0]) else 0)


def is_present(new: apsw.Connection, key: int) -> bool:
    return bool(new.execute("SELECT 1 FROM main.version WHERE key = ? AND seq_to IS NULL", (key,)).fetchall())


def is_gone(names: Mapping[int, Values], key: int) -> bool:
    return key in names and bool(names[key][2])


def indexed_fields(old: apsw.Connection, keys: Sequence[int]) -> dict[int, dict[str, object]]:
    """What the indexes, the names and the links know of the newest versions of these memories."""
    wanted, known = set(keys), defaultdict[int, dict[str, object]](dict)
    if not wanted:
        return known
    for column in INDEXED:
        for key, value in newest_values(old, column, wanted).items():
            known[key] |= sound_fields({column: value})
    for field_name, sql in (
        ("", "SELECT key, seq_from, field, name FROM label WHERE seq_to IS NULL ORDER BY space{0}, field{0}, name{0}"),
        ("links", "SELECT key, seq_from, target, rel, weight, kind FROM link WHERE seq_to IS NULL"
                  " ORDER BY space{0}, target{0}, rel{0}"),
    ):  # fmt: skip
        for key, _, *value in sorted({row for order in ("", " DESC") for row in read_on(old, sql.format(order))}):
            name, item = (field_name, as_link(*value)) if field_name else value
            if key in wanted and (name == "links" or name in LISTS):
                known[key][name] = (*known[key].get(name, ()), item)  # type: ignore[misc]
    return known


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
        for key, row, value in read_on(old, sql):
            if key in keys and row >= newest.get(key, (0,))[0]:
                newest[key] = (row, value)
    return {key: value for key, (_, value) in newest.items()}


def read_on(old: apsw.Connection, sql: str) -> Iterator[Values]:
    with suppress(*FAULTS):
        yield from old.execute(sql)


def sound_fields(columns: Mapping[str, object]) -> dict[str, object]:
    """The fields whose values a memory can have."""
    fields: dict[str, object] = {}
    for name in SCALARS:
        value = columns.get(name)
        if value is None or not isinstance(value, rows.KINDS[name]) or (name in TIMES and not FIRST <= value <= LAST):  # type: ignore[operator]
            continue
        fields[name] = bool(value) if name == "pinned" else value
    with suppress(DamagedRecord):
        lists: dict[str, object] = {}
        if isinstance(packed := columns.get("lists"), str):
            tables.unpack_lists(packed, lists)
            fields |= lists
    return fields


TIMES = frozenset(rows.FIELDS[place] for place in rows.TIMES)


def put_text(
    new: apsw.Connection,
    number: int,
    row: Values,
    owner: Remains | None,
    fields: dict[str, object],
    names: Mapping[int, Values],
    now: float,
) -> str:
    """Writes the memory, under its own id where that is known; returns the id."""
    space, stored, title, role, words = row
    new.execute("INSERT OR IGNORE INTO space(number, name) VALUES (?, ?)", (space, f"space {space}"))
    seq, last_at, latest, memories, stems, name = rows.only_row(
        new, "SELECT seq, last_at, latest, memories, stems, name FROM present WHERE number = ?", space
    )
    at = float(max(now, last_at))
    key = owner.key if owner is not None else next_key(new)
    id = str(uuid4()) if owner is None else free_id(new, space, key, names)
    times = (None if owner is None else journal_time(new, key), fields.get("updated_at"))
    written = [each for each in times if isinstance(each, int | float)]
    fields.setdefault("created_at", min(written, default=at))
    fields.setdefault("updated_at", fields["created_at"])
    fields.setdefault("status", "archived")  # it may have been forgotten, edited or undone: a person decides
    fields.setdefault("trust", UNKNOWN_TRUST)
    fields["tags"] = (*(tag for tag in fields.get("tags", ()) if tag != SALVAGED), SALVAGED)  # type: ignore[attr-defined]
    fields["source_notes"] = "\n".join(filter(None, (str(fields.get("source_notes", "")), NOTE)))
    text = rows.plain_text(stored)
    memory = Memory(id=id, text=text, title=title, role=role, space=name, **fields)  # type: ignore[arg-type]
    seq_from = seq + 1 if owner is None else owner.seq_from
    if owner is None:  # what a new entry brings is newer than all other contents: searches of earlier states rely on it
        number = 1 + max(number, int(rows.only_row(new, "SELECT coalesce(max(number), 0) FROM content")[0]))
        entry = (rows.place(space, seq_from), id, MEMORY, "remember", ACTOR, at, uuid4().hex, NOTE, key, 0, 1, None,
                 None, max(latest, memory.created_at, memory.updated_at), memories + 1, stems)  # fmt: skip
        new.execute(f"INSERT INTO journal VALUES ({', '.join('?' for _ in entry)})", entry)
    new.execute("UPDATE OR IGNORE main.memory SET gone = 0 WHERE key = ?", (key,))
    new.execute(
        "INSERT OR IGNORE INTO main.memory(key, space, id, gone, last_accessed, access_count)"
        " VALUES (?, ?, ?, 0, ?, ?)",
        (key, space, id, memory.last_accessed, memory.access_count),
    )
    new.execute(
        "INSERT OR IGNORE INTO content VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)",
        (number, space, stored, *rows.content_values(memory)[1:], words),
    )
    new.execute("UPDATE content SET pending = 1 WHERE number = ?", (number,))
    length = len(" ".join(tables.unpacked_stems(words, 3)).split())
    values = [key, space, seq_from, None, seq_from, number, 1, *rows.version_values(memory)]
    values += [tables.packed_stems(("", "")), length]
    new.execute(f"INSERT INTO main.version VALUES (NULL, {', '.join('?' for _ in values)})", values)
    return id


def next_key(new: apsw.Connection) -> int:
    """Above those of memories that only the journal knows, too."""
    sql = "SELECT max(seq) FROM sqlite_sequence WHERE name = 'memory' UNION ALL SELECT max(key) FROM journal"
    return 1 + max(int(key or 0) for (key,) in new.execute(sql).fetchall())


def free_id(new: apsw.Connection, space: int, key: int, names: Mapping[int, Values]) -> str:
    """The memory's own, as the index of ids or the journal has it, unless another one has it now."""
    own = (
        [raw.decode("utf-8", "replace") for _, raw, _ in [names[key]] if isinstance(raw, bytes)] if key in names else []
    )
    own += [str(row[0]) for row in read_on(new, f"SELECT memory_id FROM journal WHERE key = {key} LIMIT 1")]
    for id in filter(None, own):
        if not new.execute(
            "SELECT 1 FROM main.memory WHERE space = ? AND id = ? AND gone = 0 AND key <> ?", (space, id, key)
        ).fetchall():
            return id
    return str(uuid4())


def journal_time(new: apsw.Connection, key: int) -> float | None:
    first = new.execute("SELECT min(at) FROM journal WHERE key = ? AND new AND NOT old", (key,)).fetchall()
    at = first[0][0]
    return float(at) if isinstance(at, int | float) and FIRST <= at <= LAST else None
