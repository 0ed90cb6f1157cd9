"""The journal's rows: written with their act, read by what they tell of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import apsw

from nacre.model import Act, JournalEntry, Told
from nacre.model.memory import Json
from nacre.storage.sqlite.rows import SQLValue

COLUMNS = "space, memory_id, act, actor, at, batch, why, before, after, kind"
# As bytes: a text that is no UTF-8 would make the driver give up on all the rows.
SELECTED = ", ".join(f"CAST({name} AS BLOB)" if name != "at" else name for name in COLUMNS.split(", "))
INSERT = f"INSERT INTO journal({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
CONDITIONS = {
    "memory_id": "memory_id = ?",
    "batch": "batch >= ? AND batch < ?",
    "act": "act = ?",
    "actor": "actor = ?",
    "since": "at >= ?",
    "until": "at <= ?",
    "after": "seq > ?",
    "upto": "seq <= ?",
}
LAST_CHARACTER = "\U0010ffff"


def append(connection: apsw.Connection, entries: Sequence[JournalEntry]) -> None:
    connection.executemany(INSERT, [to_row(entry) for entry in entries])


def read(
    connection: apsw.Connection, space: str, told: Told, *, newest_first: bool, limit: int | None
) -> list[JournalEntry]:
    parts, values = ["space = ?"], [space]
    given: list[SQLValue] = list(values)
    for name, part in CONDITIONS.items():
        wanted = getattr(told, name)
        if wanted is not None:
            parts.append(part)
            given += [wanted, wanted + LAST_CHARACTER] if name == "batch" else [wanted]
    rows = connection.execute(
        f"SELECT seq, {SELECTED} FROM journal WHERE {' AND '.join(parts)}"
        f" ORDER BY seq {'DESC' if newest_first else 'ASC'} LIMIT ?",
        (*given, -1 if limit is None else limit),
    ).fetchall()
    return [from_row(row) for row in rows]


def written_by(connection: apsw.Connection, space: str, at: float) -> int:
    found = connection.execute(
        "SELECT seq FROM journal WHERE space = ? AND at <= ? ORDER BY seq DESC LIMIT 1", (space, at)
    ).fetchone()
    return int(found[0]) if found else begins(connection, space)[0]


def begins(connection: apsw.Connection, space: str) -> tuple[int, float]:
    found = connection.execute("SELECT seq, at FROM dropped WHERE space = ?", (space,)).fetchone()
    return (int(found[0]), float(found[1])) if found else (0, 0.0)


def scrub(connection: apsw.Connection, space: str, id: str) -> int:
    connection.execute(
        "UPDATE journal SET before = NULL, after = NULL, why = ''"
        " WHERE space = ? AND memory_id = ? AND kind = 'memory'",
        (space, id),
    )
    return connection.changes()


def drop(connection: apsw.Connection, space: str, upto: int) -> int:
    connection.execute(
        "INSERT OR REPLACE INTO dropped SELECT space, seq, at FROM journal WHERE space = ? AND seq <= ?"
        " ORDER BY seq DESC LIMIT 1",
        (space, upto),
    )
    connection.execute("DELETE FROM journal WHERE space = ? AND seq <= ?", (space, upto))
    return connection.changes()


def to_row(entry: JournalEntry) -> tuple[SQLValue, ...]:
    act = entry.act
    images = (as_json(entry.before), as_json(entry.after))
    return entry.space, entry.memory_id, act.name, act.actor, act.at, act.batch, act.why, *images, entry.kind


def as_json(fields: Mapping[str, Json] | None) -> str | None:
    return None if fields is None else json.dumps(dict(fields), ensure_ascii=False, separators=(",", ":"))


def from_row(row: Sequence[SQLValue]) -> JournalEntry:
    seq, space, memory_id, name, actor, at, batch, why, before, after, kind = row
    space, memory_id, name, actor, batch, why, kind = map(legible, (space, memory_id, name, actor, batch, why, kind))
    damaged = not all(isinstance(each, str) for each in (space, memory_id, name, actor, batch, why, kind))
    images: list[Mapping[str, Json] | None] = []
    for image in (before, after):
        try:
            images.append(parsed(image))
        except ValueError:  # one broken row must not hide the others
            damaged = True
    return JournalEntry(
        seq=int(seq),  # type: ignore[arg-type]
        act=Act(shown(name), shown(actor), number(at), shown(batch), shown(why)),
        space=shown(space),
        memory_id=shown(memory_id),
        before=None if damaged else images[0],
        after=None if damaged else images[1],
        kind=shown(kind),
        damaged=damaged,
    )


def legible(value: SQLValue) -> SQLValue:
    """The text, or its bytes where they are none."""
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return repr(value).encode()


def parsed(image: SQLValue) -> Mapping[str, Json] | None:
    if image is None:
        return None
    found = json.loads(image)  # type: ignore[arg-type]
    if not isinstance(found, dict):
        raise ValueError("a journal tells fields by name")
    return found


def shown(value: SQLValue) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def number(value: SQLValue) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
