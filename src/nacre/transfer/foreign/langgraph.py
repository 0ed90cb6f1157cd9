"""Reads the SQLite store of LangGraph: the items of its namespaces."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from nacre.model.memory import Json
from nacre.transfer.foreign import source as foreign
from nacre.transfer.foreign.look import Look
from nacre.transfer.foreign.source import DatabaseSource, Lacks, Record, printable, strings, times
from nacre.transfer.ingest.items import identity, parse_time
from nacre.transfer.read_archive import BadRow, MemoryRow, Row

NAME = "langgraph"
TABLES = {"store": {"prefix", "key", "value"}}
MIGRATIONS = {"store_migrations": {"v"}}
TEXT_KEYS = ("text", "content", "memory", "data", "summary")  # the first that holds text is the memory's


def matches(look: Look) -> bool:
    return look.has_tables({**TABLES, **MIGRATIONS})


@contextmanager
def opened(path: Path) -> Iterator[LangGraph]:
    """Raises `ArchiveRefused`."""
    with foreign.open_database(path) as database:
        foreign.require(database, path, TABLES, "LangGraph")
        yield LangGraph(path, foreign.header(NAME), database=database)


class LangGraph(DatabaseSource):
    def read(self) -> Iterator[Row]:
        for record in foreign.records(self.database, "SELECT * FROM store NOT INDEXED ORDER BY rowid"):
            name = f"{printable(record['prefix'])}/{printable(record['key'])}"
            value = parsed(record["value"])
            if isinstance(value, dict):
                yield MemoryRow(0, fields_of(record, value, self.lacks), name=name)
            else:
                yield BadRow(0, f"{name}: its value is not a JSON object.")


def parsed(value: object) -> Json:
    try:
        result: Json = json.loads(value if isinstance(value, str | bytes) else "")
    except (ValueError, RecursionError):
        return None
    return result


def fields_of(record: Record, value: Mapping[str, Json], lacks: Lacks) -> dict[str, object]:
    """A value without a text is written out as JSON."""
    prefix, key = str(record["prefix"]), str(record["key"])
    named = next((name for name in TEXT_KEYS if isinstance(value.get(name), str)), "")
    text = value[named] if named else json.dumps(dict(value), ensure_ascii=False)
    rest = {name: each for name, each in value.items() if name not in (named, "tags")} if named else {}
    fields: dict[str, object] = {
        "id": identity(NAME, prefix, key), "text": text, "source": NAME,
        "tags": strings(value.get("tags"), f"{prefix}/{key}", "tags", lacks),
        "metadata": {**rest, "namespace": prefix.split("."), "key": key},
    }  # fmt: skip
    made, updated = (parse_time(str(record.get(name) or "")) for name in ("created_at", "updated_at"))
    return fields | times(made, updated)
