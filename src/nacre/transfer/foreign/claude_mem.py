"""Reads the database of claude-mem: observations, summaries of sessions, and directives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nacre.transfer.foreign import source as foreign
from nacre.transfer.foreign.look import Look
from nacre.transfer.foreign.source import DatabaseSource, Lacks, Record, printable, strings, times
from nacre.transfer.ingest.items import identity, parse_time
from nacre.transfer.read_archive import BadRow, MemoryRow, Row

NAME = "claude-mem"
FILE = "claude-mem.db"
TABLES = {
    "sdk_sessions": {"memory_session_id"},
    "observations": {"id", "memory_session_id", "project", "type", "title", "narrative", "facts", "created_at_epoch"},
}
OLD_TABLES = {"sdk_sessions": {"sdk_session_id"}, "observations": {"id", "sdk_session_id", "project", "type"}}
# What happened; the other types say what is so.
EVENTS = frozenset(("bugfix", "feature", "refactor", "change"))
SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")
ACTIVE = "active"  # the status of a directive that is in force


def matches(look: Look) -> bool:
    if look.is_folder:
        return look.holds(FILE)
    return look.has_tables(TABLES) or look.has_tables(OLD_TABLES)


@contextmanager
def opened(path: Path) -> Iterator[ClaudeMem]:
    """Raises `ArchiveRefused`."""
    file = path / FILE if path.is_dir() else path
    with foreign.open_database(file) as database:
        old = "sdk_session_id" in foreign.columns(database, "observations")
        foreign.require(database, file, OLD_TABLES if old else TABLES, "claude-mem")
        source = ClaudeMem(file, foreign.header(NAME), database=database)
        if foreign.columns(database, "user_prompts"):
            count = database.execute("SELECT count(*) FROM user_prompts").fetchone()[0]
            if count:
                source.remarks.append(
                    f"{count:,} prompts were left out; the transcripts of Claude Code have whole conversations."
                )
        yield source


class ClaudeMem(DatabaseSource):
    def read(self) -> Iterator[Row]:
        for table, convert in (
            ("observations", observation), ("session_summaries", summary), ("directives", directive),
        ):  # fmt: skip
            if not foreign.columns(self.database, table):
                continue
            for record in foreign.records(self.database, f"SELECT * FROM {table} NOT INDEXED ORDER BY id"):
                name = f"{table} {printable(record['id'])}"
                fields = convert(record, self.lacks)
                if fields is None:
                    yield BadRow(0, f"{name}: it has no text.")
                else:
                    yield MemoryRow(0, {**common(table, record), **fields}, name=name)


def common(table: str, record: Record) -> dict[str, object]:
    session = str(record.get("memory_session_id") or record.get("sdk_session_id") or "")
    made = parse_time(number(record.get("created_at_epoch"))) or parse_time(text(record, "created_at"))
    fields: dict[str, object] = {
        "id": identity(NAME, table, session, str(record["id"]), str(record.get("created_at_epoch"))),
        "session": session, "contexts": [text(record, "project")] if text(record, "project") else [],
        "source": NAME, "agent": text(record, "agent_id"),
    }  # fmt: skip
    return fields | times(made, parse_time(number(record.get("updated_at_epoch"))))


def observation(record: Record, lacks: Lacks) -> dict[str, object] | None:
    facts = listed(record, "facts", lacks)
    said = text(record, "narrative") or text(record, "text") or text(record, "subtitle") or text(record, "title")
    kind = text(record, "type")
    body = "\n".join([said, *(f"- {fact}" for fact in facts)]).strip()
    more = {name: listed(record, name, lacks) for name in ("files_read", "files_modified")}
    return None if not body else {
        "text": body, "title": text(record, "title"), "type": "episodic" if kind in EVENTS else "semantic",
        "tags": [*([kind] if kind else []), *listed(record, "concepts", lacks)],
        "metadata": {name: files for name, files in more.items() if files},
    }  # fmt: skip


def summary(record: Record, lacks: Lacks) -> dict[str, object] | None:
    said = [f"{name.replace('_', ' ').capitalize()}: {text(record, name)}" for name in SUMMARY if text(record, name)]
    more = {name: listed(record, name, lacks) for name in ("files_read", "files_edited")}
    return None if not said else {
        "text": "\n".join(said), "type": "episodic", "tags": ["session-summary"],
        "metadata": {name: files for name, files in more.items() if files},
    }  # fmt: skip


def directive(record: Record, _lacks: Lacks) -> dict[str, object] | None:
    said = text(record, "content")
    status = "long_term" if text(record, "status") in ("", ACTIVE) else "archived"
    return None if not said else {"text": said, "type": "feedback", "tags": ["directive"], "status": status}


def listed(record: Record, name: str, lacks: Lacks) -> list[str]:
    return strings(record.get(name), str(record["id"]), name.replace("_", " "), lacks)


def text(record: Record, name: str) -> str:
    value = record.get(name)
    return value.strip() if isinstance(value, str) else ""


def number(value: object) -> int | float | None:
    return value if isinstance(value, int | float) else None
