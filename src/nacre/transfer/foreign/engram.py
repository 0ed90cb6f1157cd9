"""Reads the database of engram: its observations and the summaries of its sessions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nacre.transfer.foreign import source as foreign
from nacre.transfer.foreign.claude_mem import text
from nacre.transfer.foreign.look import Look
from nacre.transfer.foreign.source import DatabaseSource, Record, printable, times
from nacre.transfer.ingest.items import identity, parse_time
from nacre.transfer.read_archive import MemoryRow, Row

NAME = "engram"
FILE = "engram.db"
TABLES = {
    "sessions": {"id", "project"},
    "observations": {"id", "session_id", "type", "title", "content", "created_at"},
}


def matches(look: Look) -> bool:
    return look.holds(FILE) or look.has_tables(TABLES)


@contextmanager
def opened(path: Path) -> Iterator[Engram]:
    """Raises `ArchiveRefused`."""
    file = path / FILE if path.is_dir() else path
    with foreign.open_database(file) as database:
        foreign.require(database, file, TABLES, "engram")
        source = Engram(file, foreign.header(NAME), database=database)
        columns = foreign.columns(database, "observations")
        gone = 0
        if "deleted_at" in columns:
            gone = database.execute("SELECT count(*) FROM observations WHERE deleted_at IS NOT NULL").fetchone()[0]
        prompts = 0
        if foreign.columns(database, "user_prompts"):
            prompts = database.execute("SELECT count(*) FROM user_prompts").fetchone()[0]
        for count, what in ((gone, "deleted observations"), (prompts, "prompts")):
            if count:
                source.remarks.append(f"{count:,} {what} were left out.")
        yield source


class Engram(DatabaseSource):
    def read(self) -> Iterator[Row]:
        for record in foreign.records(self.database, "SELECT * FROM observations NOT INDEXED ORDER BY id"):
            if record.get("deleted_at") is None:
                yield MemoryRow(0, observation(record), name=f"observation {printable(record['id'])}")
        if "summary" in foreign.columns(self.database, "sessions"):
            query = "SELECT * FROM sessions NOT INDEXED WHERE summary IS NOT NULL AND summary != '' ORDER BY rowid"
            for record in foreign.records(self.database, query):
                yield MemoryRow(0, session(record), name=f"session {printable(record['id'])}")


def observation(record: Record) -> dict[str, object]:
    own = {name: record.get(name) for name in ("tool_name", "scope", "topic_key") if record.get(name)}
    kind = text(record, "type")
    return {
        "id": text(record, "sync_id") or identity(NAME, str(record["id"]), text(record, "created_at")),
        "text": record.get("content"), "title": text(record, "title"), "tags": [kind] if kind else [],
        "session": text(record, "session_id"), "metadata": own, **common(record, "created_at", "updated_at"),
    }  # fmt: skip


def session(record: Record) -> dict[str, object]:
    return {
        "id": identity(NAME, "session", str(record["id"])), "text": record.get("summary"), "type": "episodic",
        "session": str(record["id"]), "tags": ["session-summary"],
        **common(record, "started_at", "ended_at"),
    }  # fmt: skip


def common(record: Record, begun: str, changed: str) -> dict[str, object]:
    project = text(record, "project")
    fields: dict[str, object] = {"source": NAME, "contexts": [project] if project else []}
    return fields | times(parse_time(text(record, begun)), parse_time(text(record, changed)))
