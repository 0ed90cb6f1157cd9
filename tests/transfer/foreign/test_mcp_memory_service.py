"""The SQLite-vec database of mcp-memory-service, written by its own release."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from nacre.transfer.sources import recognise
from tests.transfer.foreign.fixture_files import taken, unpacked


def test_memories_come_without_the_deleted_one(tmp_path: Path) -> None:
    path = unpacked("mcp-memory-service.db", tmp_path / "sqlite_vec.db")
    assert recognise(path).name == recognise(tmp_path).name == "mcp-memory-service"
    memories, done = taken(path)
    by_text = {memory.text: memory for memory in memories}
    kiln = by_text["The kiln needs nine hours to cool down"]
    assert len(memories) == 3 and kiln.tags == ("kiln", "safety")
    assert kiln.metadata == {"room": "cellar", "memory_type": "observation"} and kiln.created_at > 1_700_000_000
    assert "1 deleted memories were left out." in done.notes


def test_its_graph_becomes_links_in_one_direction(tmp_path: Path) -> None:
    path = unpacked("mcp-memory-service.db", tmp_path / "sqlite_vec.db")
    with sqlite3.connect(path) as database:
        first, second = (
            row[0] for row in database.execute("SELECT content_hash FROM memories ORDER BY content_hash LIMIT 2")
        )
        insert = (
            "INSERT INTO memory_graph (source_hash, target_hash, similarity, connection_types, created_at)"
            " VALUES (?, ?, 0.9, '[]', 1.0)"
        )
        for pair in ((first, second), (second, first)):
            database.execute(insert, pair)
    database.close()
    memories, _ = taken(path)
    links = {(memory.id, link.to, link.rel) for memory in memories for link in memory.links}
    assert links == {(first, second, "related")}


def test_its_relations_keep_their_names_and_directions(tmp_path: Path) -> None:
    path = unpacked("mcp-memory-service.db", tmp_path / "sqlite_vec.db")
    with sqlite3.connect(path) as database:
        ids = "SELECT content_hash FROM memories WHERE deleted_at IS NULL ORDER BY content_hash LIMIT 3"
        first, second, third = (row[0] for row in database.execute(ids))
        edges = [(second, first, "causes"), (third, first, "related"), (second, third, "follows"),
                 (third, second, "follows")]  # fmt: skip
        insert = "INSERT INTO memory_graph VALUES (?, ?, 0.9, '[]', '{}', 1.0, ?)"
        database.executemany(insert, [*edges, (first, first, "related")])
    database.close()
    memories, _ = taken(path)
    assert {(memory.id, link.to, link.rel) for memory in memories for link in memory.links} == set(edges)
    with sqlite3.connect(path) as database:
        database.execute("ALTER TABLE memory_graph RENAME COLUMN relationship_type TO kind")
    database.close()
    memories, _ = taken(path)
    assert {link.rel for memory in memories for link in memory.links} == {"related"}
