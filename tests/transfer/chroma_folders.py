"""Folders as Chroma writes them, made by hand: whole, or broken in one place."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

SCHEMA = """
CREATE TABLE collections (id TEXT PRIMARY KEY, name TEXT NOT NULL, dimension INTEGER, database_id TEXT NOT NULL);
CREATE TABLE segments (id TEXT PRIMARY KEY, type TEXT NOT NULL, scope TEXT NOT NULL, collection TEXT NOT NULL);
CREATE TABLE embeddings (
    id INTEGER PRIMARY KEY, segment_id TEXT NOT NULL, embedding_id TEXT NOT NULL, seq_id BLOB NOT NULL,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, UNIQUE (segment_id, embedding_id));
CREATE TABLE embedding_metadata (
    id INTEGER REFERENCES embeddings(id), key TEXT NOT NULL, string_value TEXT, int_value INTEGER, float_value REAL,
    bool_value INTEGER, PRIMARY KEY (id, key));
CREATE TABLE embedding_metadata_array (
    id INTEGER NOT NULL, key TEXT NOT NULL, string_value TEXT, int_value INTEGER, float_value REAL, bool_value INTEGER);
"""


@dataclass
class Record:
    id: str
    text: object
    meta: Mapping[str, object] = field(default_factory=dict)


def houkai(id: str, text: object, **meta: object) -> Record:
    usual = {
        "type": "semantic",
        "tags": "",
        "importance": 0.5,
        "created_at": 1_750_000_000.0,
        "last_accessed": 1_750_000_100.0,
        "access_count": 3,
        "source": "",
        "links": "[]",
        "superseded_by": "",
        "superseded_at": 0.0,
        "polarity": 0,
    }
    return Record(id, text, {**usual, **meta})


def folder(path: Path, **collections: Sequence[Record]) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path / "chroma.sqlite3")) as database, database:
        database.executescript(SCHEMA)
        for name, results in collections.items():
            database.execute("INSERT INTO collections VALUES (?, ?, 384, 'd')", (f"c-{name}", name))
            for scope in ("METADATA", "VECTOR"):
                database.execute("INSERT INTO segments VALUES (?, 't', ?, ?)", (f"{scope}-{name}", scope, f"c-{name}"))
            for record in results:
                put(database, name, record)
    return path


def put(database: sqlite3.Connection, name: str, record: Record) -> None:
    insert = "INSERT INTO embeddings (segment_id, embedding_id, seq_id) VALUES (?, ?, 1)"
    number = database.execute(insert, (f"METADATA-{name}", record.id)).lastrowid
    output = {"chroma:document": record.text, **record.meta}
    for key, value in output.items():
        if isinstance(value, list):
            query = "INSERT INTO embedding_metadata_array (id, key, string_value) VALUES (?, ?, ?)"
            database.executemany(query, [(number, key, each) for each in value])
        elif value is not None:
            kinds = [None, None, None, None]
            kinds[3 if isinstance(value, bool) else {str: 0, bytes: 0, int: 1, float: 2}[type(value)]] = value  # type: ignore[call-overload]
            query = "INSERT INTO embedding_metadata VALUES (?, ?, CAST(? AS TEXT), ?, ?, ?)"
            database.execute(query, (number, key, *kinds))


def fingerprint(path: Path) -> dict[str, str]:
    """Every file that is there, with its content."""
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    return {str(each): hashlib.sha256(each.read_bytes()).hexdigest() for each in files}
