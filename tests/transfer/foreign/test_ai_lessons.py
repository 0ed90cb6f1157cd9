"""ai-lessons' database becomes lessons, with their words, ties and successors."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nacre.errors import ArchiveRefused
from nacre.lessons import Lesson, LessonBook
from nacre.memory_store import MemoryStore
from nacre.model.instants import seconds
from nacre.transfer.archive import ImportSummary
from nacre.transfer.import_archive import import_path
from tests.transfer.archives import opened
from tests.transfer.chroma_folders import fingerprint

SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE confidence_levels (name TEXT PRIMARY KEY, ordinal INTEGER NOT NULL);
CREATE TABLE source_types (name TEXT PRIMARY KEY, description TEXT, typical_confidence TEXT);
CREATE TABLE lessons (
    id TEXT PRIMARY KEY, title TEXT NOT NULL, content TEXT NOT NULL, confidence TEXT, source TEXT, source_notes TEXT,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE lesson_tags (lesson_id TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (lesson_id, tag));
CREATE TABLE lesson_contexts (
    lesson_id TEXT NOT NULL, context TEXT NOT NULL, applies BOOLEAN DEFAULT TRUE,
    PRIMARY KEY (lesson_id, context, applies));
CREATE TABLE edges (
    from_id TEXT NOT NULL, to_id TEXT NOT NULL, relation TEXT NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (from_id, to_id, relation));
CREATE TABLE tag_relations (
    from_tag TEXT NOT NULL, to_tag TEXT NOT NULL, relation TEXT NOT NULL, PRIMARY KEY (from_tag, to_tag, relation));
CREATE TABLE rules (id TEXT PRIMARY KEY, title TEXT NOT NULL);
"""
DAY = "2025-04-01 10:00:00"
LATER = "2025-04-02 10:00:00"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "knowledge.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(SCHEMA)
        put = "INSERT INTO lessons VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        database.execute(put, ("L1", "Pin the lock file", "Two branches break it", "high", "tested", "CI", DAY, LATER))
        database.execute(put, ("L2", "Never pin", "It was thought to be slow", "low", "Field Notes", None, DAY, DAY))
        database.execute(put, ("L3", "Retry uploads", "The proxy drops them", None, None, None, DAY, DAY))
        database.executemany("INSERT INTO lesson_tags VALUES (?, ?)", [("L1", " Build "), ("L1", "ci"), ("L3", "net")])
        database.execute("INSERT INTO lesson_contexts VALUES ('L1', 'Mono Repo', 1), ('L1', 'prototype', 0)")
        database.execute(f"INSERT INTO edges VALUES ('L1', 'L2', 'supersedes', '{LATER}')")
        database.execute(f"INSERT INTO edges VALUES ('L3', 'L1', 'related_to', '{LATER}')")
        database.execute(
            "INSERT INTO source_types VALUES ('tested', 'x', 'high'), ('Field Notes', 'own', 'low-medium')"
        )
        database.execute("INSERT INTO tag_relations VALUES ('js', 'javascript', 'alias'), ('ci', 'build', 'child_of')")
        database.execute("INSERT INTO rules VALUES ('R1', 'Always test')")
    return path


def bring(store: MemoryStore, path: Path, *, dry_run: bool = False) -> ImportSummary:
    return import_path(store, path, source="ai-lessons", dry_run=dry_run)


def lesson_of(store: MemoryStore, id: str) -> Lesson:
    result = LessonBook(store=store).get(id).data
    assert result is not None
    return result


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        for each in statements:
            database.execute(each)


def test_a_lesson_keeps_all_that_it_says(file: Path) -> None:
    store = opened()
    done = bring(store, file)
    assert (done.imported, done.errors, done.notes) == (3, 0, ("1 rules are not lessons and were left out.",))
    lesson = lesson_of(store, "L1")
    assert (lesson.title, lesson.content, lesson.confidence) == ("Pin the lock file", "Two branches break it", "high")
    assert (lesson.source, lesson.source_notes, lesson.tags) == ("tested", "CI", ("build", "ci"))
    assert (lesson.contexts, lesson.anti_contexts) == (("mono-repo",), ("prototype",))
    assert (lesson.created_at, lesson.updated_at) == (seconds(DAY), seconds(LATER))
    assert lesson_of(store, "L3").confidence == "medium"


def test_successors_and_ties_come_along(file: Path) -> None:
    store = opened()
    bring(store, file)
    old = lesson_of(store, "L2")
    assert (old.superseded_by, old.source) == ("L1", "field-notes")
    memory = store.get("L2")
    assert memory is not None and memory.superseded_at == seconds(LATER)
    related = LessonBook(store=store).related("L1").data
    assert [(each.lesson.id, each.relation) for each in related] == [("L3", "related")]


def test_the_words_of_the_book_come_along(file: Path) -> None:
    store = opened()
    bring(store, file)
    assert store.vocabulary("tag") == {"js": {"alias_of": "javascript"}, "ci": {"parents": ["build"]}}
    assert list(store.vocabulary("source")) == ["field-notes"], "those that every book has need not be taught"
    sources = {each.name: each for each in LessonBook(store=store).sources().data}
    assert (sources["field-notes"].description, sources["field-notes"].typical_confidence) == ("own", "medium")


def test_nothing_of_it_changes_and_nothing_comes_twice(file: Path) -> None:
    before = fingerprint(file.parent)
    store = opened()
    assert bring(store, file, dry_run=True).imported == 3
    assert store.count() == 0
    first, again = bring(store, file), bring(store, file)
    assert (first.imported, again.imported, again.skipped, again.batch) == (3, 0, 3, "")
    assert fingerprint(file.parent) == before
    store.undo(first.batch)
    assert store.count(include_superseded=True) == 0


def test_what_cannot_be_kept_is_named_and_the_rest_comes(file: Path) -> None:
    change(
        file,
        f"INSERT INTO lessons VALUES ('L4', 'Empty', '   ', 'high', NULL, NULL, '{DAY}', '{DAY}')",
        f"INSERT INTO lessons VALUES ('L5', 'When', 'Nobody knows', 'high', NULL, NULL, 'soon', '{DAY}')",
        f"INSERT INTO lessons VALUES ('L6', 'Sure', 'How sure', 'rather', NULL, NULL, '{DAY}', '{DAY}')",
        "INSERT INTO edges (from_id, to_id, relation) VALUES ('L1', 'L1', 'related_to')",
    )
    done = bring(opened(), file)
    assert (done.imported, done.errors) == (4, 2)
    assert [fault.why.partition(":")[0] for fault in done.faults] == ["L4", "L5"]
    assert "One was imported without its confidence, which cannot be read: L6." in done.notes
    assert "One was imported without its links, which cannot be read: L1." in done.notes


def test_of_two_successors_the_later_one_takes_the_place(file: Path) -> None:
    change(file, "INSERT INTO edges VALUES ('L3', 'L2', 'supersedes', '2025-05-01 10:00:00')")
    store = opened()
    assert bring(store, file).errors == 0
    first, old = store.get("L1"), store.get("L2")
    assert old is not None and old.superseded_by == "L3"
    assert first is not None and [(link.to, link.rel) for link in first.links] == [("L2", "related")]


def test_a_ring_of_successors_costs_one_lesson(file: Path) -> None:
    change(file, "INSERT INTO edges VALUES ('L2', 'L1', 'supersedes', '2025-05-01 10:00:00')")
    done = bring(opened(), file)
    assert (done.imported, done.errors) == (2, 1)
    assert "cycle" in done.faults[0].why


def test_another_database_is_refused(tmp_path: Path, file: Path) -> None:
    change(file, "ALTER TABLE lessons RENAME COLUMN content TO body")
    with pytest.raises(ArchiveRefused, match="'lessons' is missing or has no 'content'"):
        bring(opened(), file)
    numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
    endless = f"{numbers} SELECT x AS id, x AS title, x AS content FROM n"
    change(file, "DROP TABLE lessons", f"CREATE VIEW lessons AS {endless}")
    with pytest.raises(ArchiveRefused, match="'lessons' is missing"):
        bring(opened(), file)
    with pytest.raises(ArchiveRefused, match="no such file"):
        bring(opened(), tmp_path / "nowhere.db")
