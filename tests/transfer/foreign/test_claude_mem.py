"""The database of claude-mem, built after its documented schema."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nacre.errors import ArchiveRefused
from nacre.transfer.foreign import claude_mem
from nacre.transfer.sources import recognise
from tests.transfer.foreign.fixture_files import taken

TABLES = """
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, content_session_id TEXT, memory_session_id TEXT, project TEXT);
CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT, type TEXT,
    title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT,
    created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, request TEXT,
    investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT, notes TEXT, files_read TEXT, files_edited TEXT,
    created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, prompt_text TEXT);
CREATE TABLE directives (id INTEGER PRIMARY KEY, scope TEXT, project TEXT, content TEXT, status TEXT,
    created_at_epoch INTEGER, updated_at_epoch INTEGER);
"""
AT = 1_750_000_000_000  # milliseconds


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "claude-mem.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(TABLES)
        database.execute(
            "INSERT INTO observations (memory_session_id, project, type, title, facts, narrative, concepts,"
            " files_modified, created_at_epoch) VALUES ('s1', 'harbour', 'decision', 'Crane timetable', ?,"
            " 'The crane runs at night', ?, ?, ?)",
            (json.dumps(["It needs two people"]), json.dumps(["crane"]), json.dumps(["crane.py"]), AT),
        )
        database.execute(
            "INSERT INTO observations (memory_session_id, project, type, created_at_epoch)"
            " VALUES ('s1', 'harbour', 'bugfix', ?)",
            (AT,),
        )
        database.execute(
            "INSERT INTO observations (memory_session_id, project, type, narrative, facts, created_at_epoch)"
            " VALUES ('s1', 'harbour', 'bugfix', 'The hook was bent', '[torn', ?)",
            (AT,),
        )
        database.execute(
            "INSERT INTO session_summaries (memory_session_id, project, request, learned, created_at_epoch)"
            " VALUES ('s1', 'harbour', 'Plan the week', 'Mondays are full', ?)",
            (AT + 5_000,),
        )
        database.execute(
            "INSERT INTO directives VALUES (1, 'global', NULL, 'Answer in metres', 'active', ?, ?)", (AT, AT)
        )
        database.execute("INSERT INTO user_prompts VALUES (1, 'hello')")
    return path


def test_observations_summaries_and_directives_are_taken(file: Path) -> None:
    assert recognise(file).name == recognise(file.parent).name == claude_mem.NAME
    memories, done = taken(file)
    by_text = {memory.text.split("\n")[0]: memory for memory in memories}
    crane = by_text["The crane runs at night"]
    assert crane.text.endswith("\n- It needs two people") and crane.title == "Crane timetable"
    assert (crane.type, crane.tags, crane.contexts) == ("semantic", ("decision", "crane"), ("harbour",))
    assert crane.metadata == {"files_modified": ["crane.py"]} and crane.created_at == AT / 1000
    assert by_text["Request: Plan the week"].text.endswith("Learned: Mondays are full")
    assert by_text["Answer in metres"].type == "feedback"
    assert done.errors == 1 and "observations 2: it has no text" in done.faults[0].why
    assert any("1 prompts were left out" in note for note in done.notes)
    assert by_text["The hook was bent"].text == "The hook was bent"
    assert "One was imported without its facts, which cannot be read: 3." in done.notes


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE observations (id INTEGER)")
    with pytest.raises(ArchiveRefused, match="claude-mem"), claude_mem.opened(path):
        pass
