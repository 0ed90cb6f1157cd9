"""The SQLite store of LangGraph, written by its own release."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from nacre.transfer.sources import recognise
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
