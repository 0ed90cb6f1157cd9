"""The database: one file that any number of configurations share, its tables for reading, and what older ones held."""

from __future__ import annotations

import json
import os
import sqlite3
import struct
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest

from nacre.compat.ai_lessons import core, db
from nacre.compat.ai_lessons.config import Config
from nacre.compat.ai_lessons.db import book_of
from nacre.errors import ArchiveRefused, NotAStore, StoreBusy

OLDER = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE confidence_levels(name TEXT PRIMARY KEY, ordinal INTEGER);
CREATE TABLE source_types(name TEXT PRIMARY KEY, description TEXT, typical_confidence TEXT);
CREATE TABLE lessons(id TEXT PRIMARY KEY, title TEXT, content TEXT, confidence TEXT, source TEXT, source_notes TEXT,
    created_at TIMESTAMP, updated_at TIMESTAMP);
CREATE TABLE lesson_tags(lesson_id TEXT, tag TEXT);
CREATE TABLE lesson_contexts(lesson_id TEXT, context TEXT, applies BOOLEAN);
CREATE TABLE edges(from_id TEXT, to_id TEXT, relation TEXT);
CREATE TABLE tag_relations(from_tag TEXT, to_tag TEXT, relation TEXT);
INSERT INTO source_types VALUES ('tested', 'seen', 'high'), ('chart', 'off a chart', 'medium-high');
INSERT INTO lessons VALUES
    ('01A', 'cool slowly.', 'Draughts crack.', 'high', 'chart', 'cone 6', '2024-03-01 10:00:00', '2024-04-01 10:00:00'),
    ('01B', 'Load loosely', 'Pots stick.', NULL, NULL, NULL, '2024-03-02 10:00:00', '2024-03-02 10:00:00');
INSERT INTO lesson_tags VALUES ('01A', 'kiln'), ('01B', 'ovens');
INSERT INTO lesson_contexts VALUES ('01A', 'workshop', 1), ('01A', 'raku', 0);
INSERT INTO edges VALUES ('01A', '01B', 'related_to');
INSERT INTO tag_relations VALUES ('ovens', 'kiln', 'alias');
"""


@pytest.fixture
def older(config: Config) -> Config:
    config.db_path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(config.db_path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(OLDER)
    return config


@pytest.mark.accepts("L1.7", "L3.10", "L9.4")
def test_making_the_database_makes_its_folder_and_all_it_knows_from_the_first(config: Config) -> None:
    assert db.get_schema_version(config) is None
    db.init_db(config)
    assert config.db_path.is_file() and (db.get_schema_version(config) or 0) >= 1
    assert len(core.list_sources(config)) == len(core.list_confidence_levels(config)) == 5
    db.init_db(config, force=True)
    core._run_migrations(config)
    assert core.recall("anything", config=config) == []


@pytest.mark.accepts("L1.3", "L1.6", "L8.3")
def test_the_tables_contain_what_the_functions_wrote(config: Config) -> None:
    config.tag_aliases = {"ovens": "kiln"}
    one = core.add_lesson("Cool", "Slowly.", ["kiln"], ["workshop"], ["raku"], "high", "tested", "twice", config)
    two = core.add_lesson("Load", "Loosely.", config=config)
    core.link_lessons(one, two, "example_of", config)

    def rows(query: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in db.execute_query(query, config=config)]

    assert rows("SELECT title, content, confidence, source, source_notes FROM lessons ORDER BY title") == [
        ("Cool", "Slowly.", "high", "tested", "twice"), ("Load", "Loosely.", "medium", None, None),
    ]  # fmt: skip
    assert rows("SELECT name FROM confidence_levels ORDER BY ordinal")[::4] == [("very-low",), ("very-high",)]
    ((description, typical),) = rows("SELECT description, typical_confidence FROM source_types WHERE name = 'tested'")
    assert description and typical == "high"
    assert rows("SELECT lesson_id, tag FROM lesson_tags") == [(one, "kiln")]
    assert rows("SELECT context, applies FROM lesson_contexts") == [("workshop", 1), ("raku", 0)]
    assert rows("SELECT from_id, to_id, relation FROM edges") == [(one, two, "example_of")]
    assert rows("SELECT from_tag, to_tag, relation FROM tag_relations") == [("ovens", "kiln", "alias")]
    assert rows("SELECT value FROM meta WHERE key = 'schema_version'") == [(str(db.get_schema_version(config)),)]
    ((blob,),) = rows(f"SELECT embedding FROM lesson_embeddings WHERE lesson_id = '{one}'")
    assert isinstance(blob, bytes) and len(struct.unpack(f"{len(blob) // 4}f", blob)) == 384


@pytest.mark.accepts("L4.3")
def test_what_is_embedded_is_the_title_a_blank_line_and_the_content(config: Config) -> None:
    core.add_lesson("Cool", "Slowly, with the door shut.", ["kiln"], ["workshop"], config=config)
    ((blob,),) = db.execute_query("SELECT embedding FROM lesson_embeddings", config=config)
    stored = struct.unpack(f"{len(blob) // 4}f", blob)
    assert stored == pytest.approx(core.embed_text("Cool\n\nSlowly, with the door shut.", config), abs=0.001)
    assert stored != pytest.approx(core.embed_text("Slowly, with the door shut.", config), abs=0.001)


@pytest.mark.slow
@pytest.mark.accepts("L8.11")
def test_thousands_of_lessons_are_searched_filtered_and_asked_in_sql(config: Config) -> None:
    many = [
        {"id": f"{at:05}", "title": f"Firing {at}", "content": f"Cone {at} of the log.", "tags": [f"year-{at % 40}"]}
        for at in range(1200)
    ]
    rendered = {"format": "nacre-lessons", "version": 1, "lessons": many}
    assert book_of(config).import_(StringIO(json.dumps(rendered))).data.new == 1200
    assert core.keyword_search("firing 711", 1, config=config)[0].id == "00711"
    assert {each.id for each in core.recall("cone log", ["year-7"], limit=100, config=config)} == {
        each["id"] for each in many if each["tags"] == ["year-7"]
    }
    query = "SELECT lesson_id FROM lesson_tags WHERE tag = 'year-7'"
    assert len(db.execute_query(query, config=config)) == 30
    (plan,) = db.execute_query(f"EXPLAIN QUERY PLAN {query}", config=config)
    assert "idx_lesson_tags_tag" in plan["detail"]


@pytest.mark.accepts("L1.4", "L8.11")
def test_the_seven_indexes_have_their_names(config: Config) -> None:
    results = db.execute_query("SELECT name FROM sqlite_master WHERE name LIKE 'idx_%' ORDER BY name", config=config)
    assert [row["name"] for row in results] == [
        "idx_edges_from", "idx_edges_to", "idx_lesson_contexts_context", "idx_lesson_tags_lesson",
        "idx_lesson_tags_tag", "idx_lessons_created", "idx_lessons_updated",
    ]  # fmt: skip


@pytest.mark.accepts("L1.3")
def test_the_tables_are_for_reading(config: Config) -> None:
    with db.get_db(config) as connection, pytest.raises(sqlite3.OperationalError):
        connection.execute("DELETE FROM lessons")
    with pytest.raises(ValueError, match="add_lesson"):
        db.execute_write("DELETE FROM lessons", config=config)


@pytest.mark.accepts("L1.1")
def test_a_second_configuration_of_the_same_file_sees_the_same_lessons(config: Config) -> None:
    other = replace(config, known_tags=["kiln"])
    id = core.add_lesson("Cool", "Slowly.", config=config)
    assert core.get_lesson(id, other) == core.get_lesson(id, config)


@pytest.mark.accepts("L1")
def test_a_file_that_was_deleted_is_begun_anew(config: Config) -> None:
    core.add_lesson("Cool", "Slowly.", config=config)
    for file in config.db_path.parent.iterdir():
        file.unlink()
    assert core.recall("cool", config=config) == []


@pytest.mark.accepts("L1.7", "L9.3")
def test_a_database_of_the_older_program_is_imported_with_all_it_holds(older: Config) -> None:
    results = core.get_lesson("01A", older)
    assert results is not None
    assert (results.title, results.content, results.confidence) == ("cool slowly.", "Draughts crack.", "high")
    assert (results.source, results.source_notes, results.tags) == ("chart", "cone 6", ["kiln"])
    assert (results.contexts, results.anti_contexts) == (["workshop"], ["raku"])
    assert results.created_at == datetime(2024, 3, 1, 10, tzinfo=UTC)
    assert results.updated_at == datetime(2024, 4, 1, 10, tzinfo=UTC)
    assert [each.id for each in core.get_related("01B", config=older)] == ["01A"]
    assert core.recall("pots stick", tags=["ovens"], config=older)[0].id == "01B"
    assert "chart" in [each.name for each in core.list_sources(older)]


@pytest.mark.accepts("L1.7")
def test_the_older_database_is_backed_up_and_imported_once(older: Config) -> None:
    core.add_lesson("A third", "Comes later.", config=older)
    db.close()
    assert core.list_tags(True, older) != []
    assert len(db.execute_query("SELECT id FROM lessons", config=older)) == 3
    with closing(sqlite3.connect(older.db_path.with_name("knowledge.db.before-nacre"))) as stored:
        assert stored.execute("SELECT count(*) FROM lessons").fetchone() == (2,)


@pytest.mark.accepts("L1.7")
def test_an_import_that_fails_leaves_the_older_database_as_it_was(older: Config) -> None:
    with closing(sqlite3.connect(older.db_path)) as connection:
        connection.execute("INSERT INTO lessons(id, title, content) VALUES ('01C', 'No content', NULL)")
        connection.commit()
    with pytest.raises(ArchiveRefused, match="1 of its lessons cannot be imported"):
        core.list_tags(config=older)
    assert [file.name for file in older.db_path.parent.iterdir()] == ["knowledge.db"]
    with closing(sqlite3.connect(older.db_path)) as connection:
        assert connection.execute("SELECT count(*) FROM lessons").fetchone() == (3,)


@pytest.mark.accepts("L1.7")
def test_an_import_leaves_the_database_its_copy_and_nothing_else(older: Config) -> None:
    older.db_path.with_name("knowledge.db.before-nacre").write_text("an earlier copy")
    core.list_tags(config=older)
    db.close()
    results = {file.name for file in older.db_path.parent.iterdir()}
    assert results == {"knowledge.db", "knowledge.db.before-nacre", "knowledge.db.before-nacre-2"}


@pytest.mark.accepts("L1.7")
def test_a_database_is_imported_where_the_disk_has_no_links(older: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert core.get_lesson("01A", older) is not None
    copy = older.db_path.with_name("knowledge.db.before-nacre")
    with closing(sqlite3.connect(copy)) as stored:
        assert stored.execute("SELECT count(*) FROM lessons").fetchone() == (2,)
    assert copy.stat().st_nlink == 1 and (os.name == "nt" or not copy.stat().st_mode & 0o077)


@pytest.mark.accepts("L1.7")
def test_a_database_that_the_older_program_uses_is_not_imported(older: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nacre.compat.ai_lessons.db.LOCK_TIMEOUT", 0.1)
    with closing(sqlite3.connect(older.db_path)) as using:
        using.execute("SELECT * FROM lessons").fetchone()
        with pytest.raises(StoreBusy):
            core.list_tags(config=older)
    assert core.get_lesson("01A", older) is not None


@pytest.mark.accepts("L1")
def test_a_file_of_another_program_is_left_alone(config: Config) -> None:
    config.db_path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(config.db_path)) as connection:
        connection.execute("CREATE TABLE recipes(name)")
    before = Path(config.db_path).read_bytes()
    with pytest.raises(NotAStore):
        core.list_tags(config=config)
    assert Path(config.db_path).read_bytes() == before
