"""Reads the SQLite-vec database of mcp-memory-service; its vectors are computed again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nacre.transfer.foreign import source as foreign
from nacre.transfer.foreign.claude_mem import number, text
from nacre.transfer.foreign.look import Look
from nacre.transfer.foreign.source import DatabaseSource, Record, printable, times
from nacre.transfer.foreign.vault import RELATED, REPLACES, SUPERSEDES
from nacre.transfer.ingest.items import parse_time
from nacre.transfer.read_archive import MemoryRow, Row

NAME = "mcp-memory-service"
FILE = "sqlite_vec.db"
TABLES = {"memories": {"content_hash", "content", "tags", "memory_type", "metadata", "created_at"}}
GRAPH = {"source_hash", "target_hash"}
RELATION = "relationship_type"  # a column that older files do not have
SYMMETRIC = (RELATED, "contradicts")  # of its relations
LARGEST_LINKS = 1_000  # links of one memory that are read


def matches(look: Look) -> bool:
    return look.holds(FILE) or look.has_tables(TABLES)


@contextmanager
def opened(path: Path) -> Iterator[McpMemoryService]:
    """Raises `ArchiveRefused`."""
    file = path / FILE if path.is_dir() else path
    with foreign.open_database(file) as database:
        foreign.require(database, file, TABLES, "mcp-memory-service")
        source = McpMemoryService(file, foreign.header(NAME), database=database)
        if "deleted_at" in foreign.columns(database, "memories"):
            gone = database.execute("SELECT count(*) FROM memories WHERE deleted_at IS NOT NULL").fetchone()[0]
            if gone:
                source.remarks.append(f"{gone:,} deleted memories were left out.")
        yield source


class McpMemoryService(DatabaseSource):
    def read(self) -> Iterator[Row]:
        graph = foreign.columns(self.database, "memory_graph")
        for record in foreign.records(self.database, "SELECT * FROM memories NOT INDEXED ORDER BY rowid"):
            if record.get("deleted_at") is not None:
                continue
            id = str(record["content_hash"])
            links = self._links(id, graph) if graph >= GRAPH else []
            yield MemoryRow(0, {**self._fields(id, record), "links": links}, name=printable(id))

    def _links(self, id: str, graph: frozenset[str]) -> list[dict[str, str]]:
        """An edge that means the same in both directions is mostly stored in both; one of them is enough."""
        rel = RELATION if RELATION in graph else "NULL"
        others = "memory_graph WHERE source_hash = ? AND target_hash <> source_hash"
        query = f"SELECT DISTINCT target_hash, {rel} FROM {others} LIMIT ?"
        back = f"SELECT {rel} FROM memory_graph WHERE source_hash = ? AND target_hash = ?"
        links = []
        for target, edge in self.database.execute(query, (id, LARGEST_LINKS)).fetchall():
            mirrored = str(target) < id and (edge,) in self.database.execute(back, (target, id)).fetchall()
            name = str(edge or RELATED)
            if not (mirrored and name in SYMMETRIC):
                links.append({"to": str(target), "rel": REPLACES if name == SUPERSEDES else name})
        return links

    def _fields(self, id: str, record: Record) -> dict[str, object]:
        own = foreign.from_json(record.get("metadata"), dict)
        if own is None:
            self.lacks(id, "metadata")
        kind = text(record, "memory_type")
        fields: dict[str, object] = {
            "id": id, "text": record["content"], "source": NAME,
            "tags": [tag.strip() for tag in text(record, "tags").split(",") if tag.strip()],
            "metadata": {**(own if isinstance(own, dict) else {}), **({"memory_type": kind} if kind else {})},
        }  # fmt: skip
        made, updated = (parse_time(number(record.get(name))) for name in ("created_at", "updated_at"))
        return fields | times(made, updated)
