"""The link index: who is tied to whom, from either end, and how often that led somewhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import apsw

from nacre.model import Edge, Link, Memory
from nacre.storage.sqlite.rows import SELECTED, SQLValue, from_row

FOUND = "memory.id, link.target, link.rel, link.weight, link.walks"
# CROSS JOIN keeps SQLite from beginning at the other table: the planner cannot know how few ids are asked for.
FROM_SOURCES = "memory CROSS JOIN link ON link.row = memory.row"
FROM_TARGETS = "link CROSS JOIN memory ON memory.row = link.row"
AMONG = "IN (SELECT value FROM json_each(?))"


def edges(
    connection: apsw.Connection,
    space: str,
    out_of: Sequence[str] | None,
    into: Sequence[str] | None,
    rels: Sequence[str] | None,
) -> list[Edge]:
    narrowed = {"memory.id": out_of, "link.target": into, "link.rel": rels}
    given = {column: json.dumps(list(names)) for column, names in narrowed.items() if names is not None}
    begin = FROM_TARGETS if out_of is None and given else FROM_SOURCES
    # The plus keeps every other column from leading than the first: half of all ties may be called the same, and each
    # of a thousand sources would be looked up with each of a thousand targets.
    named = [f"{'+' if place else ''}{column} {AMONG}" for place, column in enumerate(given)]
    wanted = " AND ".join(("memory.space = ?", *named))
    rows: list[tuple[Any, ...]] = connection.execute(
        f"SELECT {FOUND} FROM {begin} WHERE {wanted} ORDER BY memory.row, link.target, link.rel",
        (space, *given.values()),
    ).fetchall()
    return [Edge(*row) for row in rows]


def walked(connection: apsw.Connection, space: str, found: Sequence[Edge]) -> None:
    connection.execute(
        "UPDATE link SET walks = walks + 1 WHERE (row, target, rel) IN ("
        " SELECT memory.row, tie.value ->> 1, tie.value ->> 2 FROM json_each(?) AS tie"
        " CROSS JOIN memory ON memory.space = ? AND memory.id = tie.value ->> 0)",
        (json.dumps([edge[:3] for edge in found]), space),
    )


def put(connection: apsw.Connection, row: int, links: Sequence[Link]) -> None:
    """What stays keeps its count of walks."""
    kept = {(link.to, link.rel) for link in links}
    stood = connection.execute("SELECT target, rel FROM link WHERE row = ?", (row,)).fetchall()
    gone: list[tuple[SQLValue, ...]] = [(row, *tie) for tie in stood if tie not in kept]
    if gone:
        connection.executemany("DELETE FROM link WHERE row = ? AND target = ? AND rel = ?", gone)
    if links:
        connection.executemany(
            "INSERT INTO link(row, target, rel, weight) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET weight = excluded.weight",
            [(row, link.to, link.rel, link.weight) for link in links],
        )


def replaced_by(connection: apsw.Connection, space: str, id: str) -> list[Memory]:
    rows = connection.execute(
        f"SELECT {SELECTED} FROM memory WHERE space = ? AND superseded_by = ? AND superseded_by <> ''"
        " ORDER BY created_at, row",
        (space, id),
    ).fetchall()
    return [from_row(row) for row in rows]
