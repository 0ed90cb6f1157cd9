"""Folders as Chroma writes them, made by hand: whole, or broken in one place."""

from __future__ import annotations

import hashlib
import pickle
import sqlite3
import struct
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from nacre.models.embedders import Hashing

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
CREATE TABLE embeddings_queue (
    seq_id INTEGER PRIMARY KEY, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, operation INTEGER NOT NULL,
    topic TEXT NOT NULL, id TEXT NOT NULL, vector BLOB, encoding TEXT, metadata TEXT);
"""
HEADER = struct.Struct("<i6QiI3QdQ")
NEIGHBOURS = 132  # bytes that hnswlib keeps before each vector with Chroma's settings
EMBEDDER = Hashing()


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


def folder(path: Path, *, queue: bool = True, index: bool = False, **collections: Sequence[Record]) -> Path:
    """With each text's own vector by the hashing embedder, in the queue, in the index, or nowhere."""
    path.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path / "chroma.sqlite3")) as database, database:
        database.executescript(SCHEMA)
        for name, results in collections.items():
            database.execute("INSERT INTO collections VALUES (?, ?, 384, 'd')", (f"c-{name}", name))
            for scope in ("METADATA", "VECTOR"):
                database.execute("INSERT INTO segments VALUES (?, 't', ?, ?)", (f"{scope}-{name}", scope, f"c-{name}"))
            for record in results:
                put(database, name, record, queue=queue)
            if index:
                write_index(path / f"VECTOR-{name}", results)
    return path


def put(database: sqlite3.Connection, name: str, record: Record, *, queue: bool) -> None:
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
    if queue and isinstance(record.text, str):
        query = "INSERT INTO embeddings_queue (operation, topic, id, vector, encoding) VALUES (0, ?, ?, ?, 'FLOAT32')"
        vector = EMBEDDER.embed([record.text])[0].astype("<f4").tobytes()
        database.execute(query, (f"persistent://default/default/c-{name}", record.id, vector))


def write_index(path: Path, results: Sequence[Record]) -> None:
    path.mkdir()
    size = NEIGHBOURS + 384 * 4 + 8
    (path / "header.bin").write_bytes(
        HEADER.pack(1, 0, 100, len(results), size, size - 8, NEIGHBOURS, 0, 0, 16, 32, 16, 0.36, 100)
    )
    pieces = (
        bytes(NEIGHBOURS) + EMBEDDER.embed([str(each.text)])[0].astype("<f4").tobytes() + struct.pack("<Q", number)
        for number, each in enumerate(results, 1)
    )
    (path / "data_level0.bin").write_bytes(b"".join(pieces))
    labels = {each.id: number for number, each in enumerate(results, 1)}
    (path / "index_metadata.pickle").write_bytes(pickle.dumps({"id_to_label": labels}))


def fingerprint(path: Path) -> dict[str, str]:
    """Every file that is there, with its content."""
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    return {str(each): hashlib.sha256(each.read_bytes()).hexdigest() for each in files}


def close_to(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.allclose(a, b, atol=1e-6))
