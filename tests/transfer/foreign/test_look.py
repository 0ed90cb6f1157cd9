"""What recognition sees of a path."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from nacre.transfer.foreign.look import Look
from tests.transfer.foreign.fixture_files import unpacked


def test_tables_are_seen_beside_a_virtual_one_whose_module_is_missing(tmp_path: Path) -> None:
    look = Look(unpacked("mcp-memory-service.db", tmp_path / "x.db"))
    assert look.has_tables({"memories": {"content"}, "memory_graph": {"source_hash"}})
    assert not look.has_tables({"memories": {"nothing"}})


def test_a_file_that_only_begins_like_a_database_has_no_tables(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(b"SQLite format 3\0" + b"x" * 200)
    assert Look(path).tables == {}


def test_changes_that_wait_beside_the_file_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE late (name)")
        database.commit()
        assert Look(path).has_tables({"late": {"name"}})


def test_keys_lines_and_folders(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"memory": "a", "user_id" : 1}\n[1]\n{"b": 2}\n')
    look = Look(path)
    assert look.has_key("user_id") and not look.has_key("agent_id")
    assert look.first_lines == [{"memory": "a", "user_id": 1}, {"b": 2}]
    assert Look(tmp_path).holds("y", "x.jsonl") and not Look(tmp_path).holds("y")
