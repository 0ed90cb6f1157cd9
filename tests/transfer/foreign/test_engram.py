"""The database of engram, built after its documented schema."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from nacre.transfer.sources import recognise
from tests.transfer.foreign.fixture_files import taken

TABLES = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, project TEXT NOT NULL, directory TEXT NOT NULL,
    started_at TEXT NOT NULL, ended_at TEXT, summary TEXT);
CREATE TABLE observations (id INTEGER PRIMARY KEY, sync_id TEXT, session_id TEXT NOT NULL, type TEXT NOT NULL,
    title TEXT NOT NULL, content TEXT NOT NULL, tool_name TEXT, project TEXT, scope TEXT NOT NULL DEFAULT 'project',
    topic_key TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, deleted_at TEXT);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, session_id TEXT, content TEXT);
INSERT INTO sessions VALUES ('s1', 'orchard', '/orchard', '2025-05-01 08:00:00', '2025-05-01 09:00:00',
    'Pruned the plum trees');
INSERT INTO sessions VALUES ('s2', 'orchard', '/orchard', '2025-05-02 08:00:00', NULL, NULL);
INSERT INTO observations VALUES (1, 'obs-1', 's1', 'decision', 'Grafting', 'Graft in March only', NULL, 'orchard',
    'project', 'trees/graft', '2025-05-01 08:10:00', '2025-05-03 08:10:00', NULL);
INSERT INTO observations VALUES (2, 'obs-2', 's1', 'note', 'Old', 'Water daily', NULL, 'orchard',
    'project', NULL, '2025-05-01 08:20:00', '2025-05-01 08:20:00', '2025-05-02 00:00:00');
INSERT INTO user_prompts VALUES (1, 's1', 'When do I graft?');
"""


def test_observations_and_summaries_are_taken_and_the_rest_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "engram.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(TABLES)
    assert recognise(path).name == recognise(tmp_path).name == "engram"
    memories, done = taken(path)
    summary, graft = memories
    assert (graft.id, graft.text, graft.title, graft.tags) == (
        "obs-1",
        "Graft in March only",
        "Grafting",
        ("decision",),
    )
    assert graft.contexts == ("orchard",) and graft.metadata == {"scope": "project", "topic_key": "trees/graft"}
    assert graft.updated_at - graft.created_at == 2 * 86_400
    assert (summary.text, summary.session, summary.type) == ("Pruned the plum trees", "s1", "episodic")
    assert {"1 deleted observations were left out.", "1 prompts were left out."} <= set(done.notes)
