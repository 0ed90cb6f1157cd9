"""amplihack-memory's experiences, from the SQLite file of an agent."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nacre.errors import ArchiveRefused
from nacre.model.memory import Json
from nacre.protocols import Progress
from nacre.transfer.foreign.source import (
    ForeignSource,
    Record,
    from_json,
    header,
    open_database,
    printable,
    records,
    require,
    string_list,
)
from nacre.transfer.read_archive import BadRow, MemoryRow, Row

NAME = "amplihack"
FILE = "experiences.db"
GRAPH = "kuzu_db"
TABLES = {"experiences": {"experience_id", "agent_name", "experience_type", "context", "outcome", "timestamp"}}
# What happened is an episode; what was learnt from it is knowledge.
TYPES = {"success": "episodic", "failure": "episodic", "pattern": "semantic", "insight": "semantic"}
NO_READER = (
    f"its {GRAPH} is a graph of Kuzu, which nobody maintains and nothing here reads",
    "Write it with its own export_to_json, and bring that in by import_from_json of a mind.",
)


@contextmanager
def opened(path: Path) -> Iterator[Amplihack]:
    """`path` is an agent's folder, or the file in it. Raises `ArchiveRefused`."""
    file = path / FILE if path.is_dir() else path
    graph = file.with_name(GRAPH).exists()
    if not file.is_file():
        raise ArchiveRefused(path, *(NO_READER if graph else (f"there is no {FILE} in it", agents_in(path))))
    with open_database(file) as database:
        require(database, file, TABLES, "amplihack-memory's")
        source = Amplihack(path, header(NAME), database=database)
        if graph:
            source.told.append(f"The graph was left out: {NO_READER[0]}. {NO_READER[1]}")
        yield source


def agents_in(path: Path) -> str:
    """Agents know nothing of each other, and are brought one by one."""
    names = sorted(each.parent.name for each in path.glob(f"*/{FILE}"))
    return f"Name the folder of one agent: {', '.join(names)}." if names else "Name the agent's folder."


@dataclass(slots=True, kw_only=True)
class Amplihack(ForeignSource):
    database: sqlite3.Connection

    def rows(self, progress: Progress | None = None) -> Iterator[Row]:  # noqa: ARG002 - one reading is quick
        self.partial.clear()
        number = 0
        try:
            for told in records(self.database, "SELECT * FROM experiences NOT INDEXED ORDER BY rowid"):
                number += 1
                yield self._row(number, told)
        except sqlite3.Error as error:
            yield BadRow(number + 1, f"the rest cannot be read ({error})")

    def _row(self, number: int, told: Record) -> Row:
        id, kind = str(told["experience_id"]), str(told["experience_type"])
        if kind not in TYPES:
            return BadRow(number, f"{printable(id)}: its type is {printable(kind)!r}, which is no experience's.")
        tags, given = string_list(told.get("tags")), from_json(told.get("metadata"), dict)
        for what, found in (("tags", tags), ("metadata", given)):
            if found is None:
                self.lacks(id, what)
        fields: dict[str, object] = {
            "id": id,
            "agent": told["agent_name"],
            "title": told["context"],
            "text": told["outcome"],
            "type": TYPES[kind],
            "tags": tags or [],
            "metadata": metadata(kind, given, compressed=bool(told.get("compressed"))),
            **dict.fromkeys(("created_at", "updated_at", "last_accessed"), told["timestamp"]),
        }
        if told.get("confidence") is not None:
            fields["confidence"] = told["confidence"]
        return MemoryRow(number, fields, name=printable(id))


def metadata(kind: str, given: Json, *, compressed: bool) -> dict[str, Json]:
    """Under the keys by which `nacre.minds` knows an experience."""
    whole: dict[str, Json] = {"experience_type": kind}
    if kind == "pattern":
        whole["kind"] = "pattern"
    if given:
        whole["given"] = given
    return whole | ({"compressed": True} if compressed else {})
