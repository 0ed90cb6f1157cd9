"""What an operation writes to the file, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import apsw
import pytest

from nacre import MemoryStore
from nacre.model import Operation
from nacre.protocols import ALL, Change, IndexesRebuilt, JournalDropped
from nacre.settings import Settings
from nacre.storage.sqlite import SQLiteBackend
from nacre.storage.sqlite.rows import tokens_of_line
from tests.samples import SPACE, derived, ids, listed, memory, unit, written

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


def test_entries_of_one_operation_share_it(store: SQLiteBackend) -> None:
    for batch, ids_of_batch in (("1" * 32, "ab"), ("2" * 32, "cd")):
        changes = [Change(None, memory(id)) for id in ids_of_batch]
        store.commit(changes, operation=Operation("remember", "lib", 0.0, batch))
    operations = [entry.operation for entry in store.journal(SPACE)]
    assert [each.batch[:1] for each in operations] == ["2", "2", "1", "1"]
    assert operations[0] is operations[1] is not operations[2] is operations[3]


@pytest.mark.parametrize(
    ("words", "line", "tokens"),
    [("tea\ngreen cup\nann", 1, "7_green 7_cup"), ("tea\n\nann", 1, ""), ("tea", 2, ""), (None, 0, "")],
)
def test_each_word_of_a_line_is_marked_with_its_space(words: str | None, line: int, tokens: str) -> None:
    assert tokens_of_line(7, words, line) == tokens


def test_uses_in_an_image_are_those_of_its_time(store: SQLiteBackend) -> None:
    written(store, memory("a", last_accessed=5.0, access_count=2))
    store.touch(SPACE, ["a"], 9.0)
    after = store.journal(SPACE)[0].after
    assert after is not None and (after["last_accessed"], after["access_count"]) == (5.0, 2)


def test_a_version_whose_anchor_was_compacted_away_is_found_through_the_indexes(store: SQLiteBackend) -> None:
    """Only the first of several versions with the same indexed values is in the indexes."""
    written(store, (memory("a", tags=("x",)), derived("tea", unit(1))), memory("other"))
    written(store, memory("a", tags=("y",)))
    written(store, memory("a", tags=("z",)))
    assert rows(store, "SELECT anchor, seq_from FROM version WHERE key = 1") == [(1, 1), (1, 3), (1, 4)]
    store.commit([JournalDropped(SPACE, 3)])
    for reader, tag in ((store.at(SPACE, 3), "y"), (store, "z")):
        assert [each.tags for each in listed(reader, SPACE, order="importance") if each.id == "a"] == [(tag,)]
        assert ids(reader.by_words(SPACE, ["tea"], ALL, 5)) == ids(reader.by_vector(SPACE, unit(1), ALL, 1)) == ["a"]
    assert store.health(thorough=True).problems == ()


def test_versions_that_are_in_no_index_are_reported_and_put_back(store: SQLiteBackend) -> None:
    written(store, memory("a"), memory("a", tags=("x",)))
    rows(store, "UPDATE version SET anchor = 99 WHERE seq_to IS NULL")
    assert listed(store, SPACE) == []
    assert "nacre store reindex" in store.health(thorough=True).problems[0]
    store.commit([IndexesRebuilt()])
    assert ids(listed(store, SPACE)) == ["a"] and store.health(thorough=True).problems == ()


def test_a_text_that_was_replaced_no_longer_waits_for_the_model(store: SQLiteBackend) -> None:
    written(store, memory("a", "old"))
    written(store, memory("a", "new"))
    assert store.health().pending == 1 and ids(store.pending(5)) == ["a"]


def test_words_that_came_in_the_same_change_set_are_counted_off_when_the_memory_goes(store: SQLiteBackend) -> None:
    written(store, (memory("a"), None))
    known = store.get(SPACE, "a")
    tagged = memory("a", tags=("x",))
    store.commit(
        [Change(known, tagged, derived("tea", unit(1))), Change(tagged, None)], None, Operation("w", "t", 0.0, "b")
    )
    assert rows(store, "SELECT name, n FROM counter WHERE field = 'term'") == []


@pytest.mark.parametrize("memories", [100, pytest.param(2_000, marks=pytest.mark.slow)])
def test_a_tag_writes_little_to_the_log(tmp_path: Path, memories: int) -> None:
    """Each page that is changed is written whole."""
    random, tags = Random(3), ("reviewed", "harbour", "kitchen", "travel", "money")
    words = [f"{one}{other}" for one in ("ka", "lo", "mi", "ru", "te") for other in "bdfgklmnprst"]
    texts = [" ".join(random.choices(words, k=30)) for _ in range(memories)]
    with MemoryStore(tmp_path / "s.db", settings=Settings(embedder="hashing")) as store:
        kept = [memory.id for memory in store.remember_many(texts)]
        for tag in tags:
            store.tag(kept.pop(), add=[tag])
        emptier = apsw.Connection(str(tmp_path / "s.db"))
        emptier.pragma("schema_version")  # a connection that has read nothing knows of no log
        sizes = []
        for id in random.sample(kept, min(100, len(kept))):
            emptier.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            store.tag(id, add=[random.choice(tags)])
            sizes.append((tmp_path / "s.db-wal").stat().st_size)
        emptier.close()
    # 12.2 to 12.8 thousand bytes in the mean, by where random names fall; a page more for each is 4,120 more.
    assert sum(sizes) / len(sizes) <= 14_500 and max(sizes) <= 24 << 10, sorted(sizes)


@pytest.mark.parametrize("change", ["UPDATE sqlite_sequence SET seq = 1", "DELETE FROM sqlite_sequence"])
def test_a_number_is_not_given_again_where_the_last_one_is_damaged(store: SQLiteBackend, change: str) -> None:
    written(store, *((memory(f"m{n}"), derived("tea", unit(1))) for n in range(3)))
    rows(store, change)
    assert "would be given again" in str(store.health(thorough=True).problems)
    written(store, (memory("n"), derived("tea", unit(1))))
    assert set(ids(store.by_words(SPACE, ["tea"], ALL, 9))) == {"n", "m2", "m1", "m0"}
