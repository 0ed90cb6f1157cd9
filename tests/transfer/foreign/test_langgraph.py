"""The SQLite store of LangGraph, written by its own release."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nacre.errors import ArchiveRefused
from nacre.transfer.sources import recognise
from tests.command_line import CommandLine
from tests.transfer.foreign.fixture_files import taken, unpacked


def test_items_come_with_their_text_namespace_and_rest(tmp_path: Path) -> None:
    path = unpacked("langgraph.db", tmp_path / "store.db")
    assert recognise(path).name == "langgraph"
    memories, done = taken(path)
    by_key = {str(memory.metadata["key"]): memory for memory in memories}
    assert set(by_key) == {"m1", "m2", "profile", "f1"} and done.errors == 0
    assert by_key["m1"].text == "Piet keeps bees behind the old mill" and by_key["m1"].tags == ("bees",)
    assert by_key["m2"].metadata == {"kind": "fact", "namespace": ["users", "piet", "memories"], "key": "m2"}
    assert by_key["f1"].metadata["score"] == 0.75 and by_key["f1"].created_at > 1_700_000_000
    assert '"Dutch"' in by_key["profile"].text


def test_a_value_that_is_no_object_is_named(tmp_path: Path) -> None:
    path = unpacked("langgraph.db", tmp_path / "store.db")
    with sqlite3.connect(path) as database:
        database.execute("INSERT INTO store (prefix, key, value) VALUES ('facts', 'bad', '[1')")
    database.close()
    memories, done = taken(path)
    assert len(memories) == 4 and "facts/bad" in done.faults[0].why


def test_tags_that_are_no_list_of_words_are_left_out_and_named(tmp_path: Path) -> None:
    path = unpacked("langgraph.db", tmp_path / "store.db")
    with sqlite3.connect(path) as database:
        odd = '{"text": "x", "tags": 7}'
        database.execute("INSERT INTO store (prefix, key, value) VALUES ('facts', 'odd', ?)", (odd,))
    database.close()
    memories, done = taken(path)
    assert len(memories) == 5 and done.errors == 0
    assert done.notes == ("One was imported without its tags, which cannot be read: facts/odd.",)


def test_a_damaged_file_is_refused_with_its_name_and_what_to_do(nacre: CommandLine, tmp_path: Path) -> None:
    path = unpacked("langgraph.db", tmp_path / "store.db")
    with closing(sqlite3.connect(path)) as database:
        (root,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'store'").fetchone()
        (size,) = database.execute("PRAGMA page_size").fetchone()
    content = bytearray(path.read_bytes())
    content[(root - 1) * size : root * size] = bytes(size)
    path.write_bytes(content)
    with pytest.raises(ArchiveRefused, match=r"store\.db was not taken: it is not an intact SQLite .* Take another"):
        taken(path)
    refused = nacre("--store", str(tmp_path / "new.db"), "import", str(path), "--yes")
    assert refused.exit_code == 4 and "Imported" not in refused.stderr and not (tmp_path / "new.db").exists()
    assert refused.stderr.count("nacre: ") == 1 and refused.stderr.endswith("Take another copy of it.\n")


def test_damaged_changes_beside_a_file_that_holds_nothing_else_are_named(tmp_path: Path) -> None:
    path = unpacked("langgraph.db", tmp_path / "store.db")
    copy = tmp_path / "copy.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = wal")
        rows = database.execute("SELECT prefix, key, value FROM store").fetchall()
        database.execute("DELETE FROM store")
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.executemany("INSERT INTO store (prefix, key, value) VALUES (?, ?, ?)", rows)
        database.commit()
        copy.write_bytes(path.read_bytes())
        changes = path.with_name("store.db-wal").read_bytes()
    beside = copy.with_name("copy.db-wal")
    beside.write_bytes(changes)
    assert len(taken(copy)[0]) == 4
    beside.write_bytes(changes[:64] + bytes(64) + changes[128:])
    with pytest.raises(ArchiveRefused, match=r"copy\.db was not taken: .* copy\.db-wal\. .* another copy of both"):
        taken(copy)
    beside.unlink()
    with pytest.raises(ArchiveRefused, match=r"it holds no memories\. Name the file"):
        taken(copy)
