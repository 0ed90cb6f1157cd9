"""What an operation writes to the file, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nacre.model import Link
from nacre.protocols import ALL
from nacre.storage.sqlite import SQLiteBackend
from nacre.storage.sqlite import transaction as transaction_module
from tests.samples import SPACE, change_entry, derived, ids, listed, memory, unit, written

LONG = "a long text " * 500


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteBackend]:
    opened = SQLiteBackend(tmp_path / "s.db")
    yield opened
    opened.close()


def rows(store: SQLiteBackend, sql: str) -> list[tuple[object, ...]]:
    with store._connected() as connection:
        return connection.execute(sql).fetchall()


def test_an_edit_of_a_tag_leaves_content_words_and_vectors_alone(store: SQLiteBackend) -> None:
    text = derived("tea", unit(1))
    written(store, (memory("a", tags=("x",)), text))
    tables = ("content", "word_docsize", "word_data", "chunk", "vector", "removed")
    before = [rows(store, f"SELECT * FROM {table}") for table in tables]
    written(store, (memory("a", tags=("y",)), derived("tea", unit(1), tags="y")))
    assert [rows(store, f"SELECT * FROM {table}") for table in tables] == before
    assert ids(store.by_words(SPACE, ["y"], ALL, 5)) == ["a"]


def test_the_journal_does_not_store_a_text_again(store: SQLiteBackend) -> None:
    written(store, memory("a", LONG))
    written(store, memory("a", LONG, tags=("x",)))
    written(store, memory("a", LONG + "!", tags=("x",)))
    assert rows(store, "SELECT before, after FROM journal") == [(None, None)] * 3
    assert len(rows(store, "SELECT 1 FROM content")) == 2
    newest, tagged, first = store.journal(SPACE)
    assert (newest.before, newest.after) == ({"text": LONG}, {"text": LONG + "!"})
    assert (tagged.before, tagged.after) == ({"tags": []}, {"tags": ["x"]})
    assert first.after == memory("a", LONG).to_dict()


def test_images_that_the_versions_would_not_give_are_stored_as_they_are(store: SQLiteBackend) -> None:
    with store.transaction() as transaction:
        transaction.put(memory("a"))
        transaction.append([replace(change_entry(None, memory("a"), 1.0), after={"text": "something else"})])
    assert store.journal(SPACE)[0].after == {"text": "something else"}


def test_uses_in_an_image_are_those_of_its_time(store: SQLiteBackend) -> None:
    written(store, memory("a", last_accessed=5.0, access_count=2))
    store.touch(SPACE, ["a"], 9.0)
    after = store.journal(SPACE)[0].after
    assert after is not None and (after["last_accessed"], after["access_count"]) == (5.0, 2)


def test_more_records_than_a_transaction_holds_are_numbered_all_the_same(
    store: SQLiteBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are written before their entries are known, and take their numbers from these."""
    monkeypatch.setattr(transaction_module, "DRAFTS_HELD", 3)
    written(store, *(memory(f"m{i}", tags=("old",)) for i in range(5)))
    with store.transaction() as transaction:
        changes = [(memory(f"m{i}", tags=("old",)), memory(f"m{i}", tags=("new",))) for i in range(5)]
        for _, after in changes:
            transaction.put(after)
        transaction.remove(SPACE, "m4")
        entries = [change_entry(*change, 2.0) for change in changes[:4]]
        transaction.append([*entries, change_entry(memory("m4", tags=("old",)), None, 2.0)])
    assert [len(listed(store.at(SPACE, seq), SPACE)) for seq in range(5, 11)] == [5, 5, 5, 5, 5, 4]
    tallies = [store.at(SPACE, seq).tally(SPACE, "tags", ALL) for seq in range(5, 11)]
    assert tallies[0] == {"old": 5} and tallies[2] == {"old": 3, "new": 2} and tallies[5] == {"new": 4}
    assert [entry.after for entry in store.journal(SPACE, limit=2)] == [None, {"tags": ["new"]}]
    assert store.health(thorough=True).problems == ()


def test_a_read_inside_a_transaction_sees_what_it_wrote(store: SQLiteBackend) -> None:
    written(store, memory("a", links=(Link("b"),)))
    with store.transaction() as transaction:
        transaction.put(memory("a"))
        transaction.put(memory("c", superseded_by="a", tags=("x",)))
        assert store.edges(SPACE) == []
        assert store.count(SPACE, ALL) == 2 and store.tally(SPACE, "tags", ALL) == {"x": 1}
        assert ids(store.replaced_by(SPACE, "a")) == ["c"]
        transaction.put(memory("a", links=(Link("b"),)))
        transaction.remove(SPACE, "c")
        assert ids(listed(store, SPACE)) == ["a"]
        transaction.append([change_entry(memory("c"), None, 2.0)])
    assert ids(listed(store, SPACE)) == ids(listed(store.at(SPACE, 2), SPACE)) == ["a"]
    assert [edge.target for edge in store.edges(SPACE)] == ["b"]
    assert store.health(thorough=True).problems == ()


def test_a_text_that_was_replaced_no_longer_waits_for_the_model(store: SQLiteBackend) -> None:
    written(store, memory("a", "old"))
    written(store, memory("a", "new"))
    assert store.health().pending == 1 and ids(store.pending(5)) == ["a"]
