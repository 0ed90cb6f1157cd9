"""Reads the experiences of amplihack-memory from the SQLite file of an agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nacre.errors import ArchiveRefused
from nacre.model.memory import Json
from nacre.transfer.foreign import source as foreign
from nacre.transfer.foreign.look import Look
from nacre.transfer.foreign.source import DatabaseSource, Record, printable, times
from nacre.transfer.read_archive import BadRow, MemoryRow, Row

NAME = "amplihack"
FILE = "experiences.db"
GRAPH = "kuzu_db"
TABLES = {"experiences": {"experience_id", "agent_name", "experience_type", "context", "outcome", "timestamp"}}
# An event is an episode; what was learnt from it is knowledge.
TYPES = {"success": "episodic", "failure": "episodic", "pattern": "semantic", "insight": "semantic"}
NO_READER = (
    f"its {GRAPH} is a Kuzu graph, which Nacre cannot read",
    "Write it with its own export_to_json, and import that with import_from_json of a mind.",
)


def matches(look: Look) -> bool:
    return look.holds(FILE, GRAPH) or look.has_tables(TABLES)


@contextmanager
def opened(path: Path) -> Iterator[Amplihack]:
    """`path` is an agent's folder, or the file in it. Raises `ArchiveRefused`."""
    file = path / FILE if path.is_dir() else path
    graph = file.with_name(GRAPH).exists()
    if not file.is_file():
        agents = sorted(each.parent.name for each in path.glob(f"*/{FILE}"))  # each is imported by itself
        which = f"Name the folder of one agent: {', '.join(agents)}." if agents else "Name the agent's folder."
        raise ArchiveRefused(path, *(NO_READER if graph else (f"there is no {FILE} in it", which)))
    with foreign.open_database(file) as database:
        foreign.require(database, file, TABLES, "amplihack-memory")
        source = Amplihack(path, foreign.header(NAME), database=database)
        if graph:
            source.remarks.append(f"The graph was left out: {NO_READER[0]}. {NO_READER[1]}")
        yield source


class Amplihack(DatabaseSource):
    def read(self) -> Iterator[Row]:
        query = "SELECT * FROM experiences NOT INDEXED ORDER BY rowid"
        return map(self._row, foreign.records(self.database, query))

    def _row(self, record: Record) -> Row:
        id, kind = str(record["experience_id"]), str(record["experience_type"])
        if kind not in TYPES:
            return BadRow(0, f"{printable(id)}: its type is {printable(kind)!r}, which is not an experience type.")
        tags, own = foreign.string_list(record.get("tags")), foreign.from_json(record.get("metadata"), dict)
        for what, value in (("tags", tags), ("metadata", own)):
            if value is None:
                self.lacks(id, what)
        fields: dict[str, object] = {
            "id": id, "agent": record["agent_name"], "title": record["context"], "text": record["outcome"],
            "type": TYPES[kind], "tags": tags or [],
            "metadata": metadata(kind, own, compressed=bool(record.get("compressed"))),
            **times(record["timestamp"]),
        }  # fmt: skip
        if record.get("confidence") is not None:
            fields["confidence"] = record["confidence"]
        return MemoryRow(0, fields, name=printable(id))


def metadata(kind: str, own: Json, *, compressed: bool) -> dict[str, Json]:
    """Under the keys that `nacre.minds` uses for an experience."""
    values: dict[str, Json] = {"experience_type": kind}
    if kind == "pattern":
        values["kind"] = "pattern"
    if own:
        values["given"] = own
    return values | ({"compressed": True} if compressed else {})
