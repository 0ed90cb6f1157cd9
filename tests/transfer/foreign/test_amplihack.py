"""amplihack-memory's experiences come as experiences."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.errors import ArchiveRefused
from nacre.minds import ExperienceStore
from nacre.minds.experience import is_experience
from nacre.transfer.import_archive import import_path
from tests.transfer.archives import opened
from tests.transfer.chroma_folders import fingerprint

SCHEMA = """
CREATE TABLE IF NOT EXISTS experiences (
    experience_id TEXT PRIMARY KEY, agent_name TEXT NOT NULL, experience_type TEXT NOT NULL, context TEXT NOT NULL,
    outcome TEXT NOT NULL, confidence REAL NOT NULL, timestamp INTEGER NOT NULL, metadata TEXT, tags TEXT,
    compressed INTEGER DEFAULT 0)
"""
AT = 1_750_000_000


def row(id: str, kind: str = "success", **fields: object) -> Sequence[object]:
    result = {"agent": "scout", "confidence": 0.8, "metadata": '{"run": 3}', "tags": '["ci"]', "old": 0, **fields}
    return (id, result["agent"], kind, f"Building {id}", "It went well", result["confidence"], AT, result["metadata"],
            result["tags"], result["old"])  # fmt: skip


def agent_folder(path: Path, *rows: Sequence[object]) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path / "experiences.db")) as database, database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute(SCHEMA)
        database.executemany("INSERT INTO experiences VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    return path


def test_an_experience_is_read_as_one_by_the_mind(tmp_path: Path) -> None:
    path = agent_folder(tmp_path / "scout", row("exp_1"), row("exp_2", "pattern", old=1))
    store = MemoryStore(":memory:", space="scout", embedder="hashing")
    done = import_path(store, path, source="amplihack")
    assert (done.imported, done.errors, done.notes) == (2, 0, ())
    memory, pattern = store.get("exp_1"), store.get("exp_2")
    assert memory is not None and is_experience(memory) and pattern is not None
    assert (memory.agent, memory.type, memory.created_at, pattern.type) == ("scout", "episodic", AT, "semantic")
    assert pattern.metadata["kind"] == "pattern", "as the mind marks its own"
    mind = ExperienceStore("scout", store=store, auto_compress=False)
    result = {each.experience_id: each for each in mind.retrieve_experiences()}
    assert (result["exp_1"].context, result["exp_1"].outcome) == ("Building exp_1", "It went well")
    assert (result["exp_1"].confidence, result["exp_1"].metadata, result["exp_1"].tags) == (0.8, {"run": 3}, ["ci"])
    assert result["exp_2"].experience_type == "pattern"
    assert mind.get_statistics()["compressed_experiences"] == 1


def test_an_id_of_the_programs_own_choice_is_read_as_well(tmp_path: Path) -> None:
    path = agent_folder(tmp_path / "scout", row("exp_1"), row("harvest-7", "insight"))
    store = MemoryStore(":memory:", space="scout", embedder="hashing")
    import_path(store, path, source="amplihack")
    mind = ExperienceStore("scout", store=store, auto_compress=False)
    assert {each.experience_id for each in mind.search("")} == {"exp_1", "harvest-7"}
    found = mind.get_experience("harvest-7")
    assert found is not None and found.context == "Building harvest-7" and mind.recognize_patterns() == []


def test_agents_are_brought_one_by_one(tmp_path: Path) -> None:
    for name in ("scout", "guard"):
        agent_folder(tmp_path / "all" / name, row(f"exp_{name}", agent=name))
    with pytest.raises(ArchiveRefused, match="one agent: guard, scout"):
        import_path(opened(), tmp_path / "all", source="amplihack")
    assert import_path(opened(), tmp_path / "all" / "guard" / "experiences.db", source="amplihack").imported == 1


def test_nothing_of_it_changes_and_nothing_comes_twice(tmp_path: Path) -> None:
    path = agent_folder(tmp_path / "scout", row("exp_1"))
    before = fingerprint(path)
    store = opened()
    first, again = import_path(store, path, source="amplihack"), import_path(store, path, source="amplihack")
    assert (first.imported, again.imported, again.skipped) == (1, 0, 1)
    assert fingerprint(path) == before
    store.undo(first.batch)
    assert store.count() == 0


def test_what_cannot_be_kept_is_named_and_the_rest_comes(tmp_path: Path) -> None:
    path = agent_folder(
        tmp_path / "scout",
        row("exp_1"),
        row("exp_2", "rumour"),
        row("exp_3", confidence=3.0),
        row("exp_4", metadata="{", tags="7"),
    )
    store = opened()
    done = import_path(store, path, source="amplihack")
    assert (done.imported, done.errors) == (2, 2)
    assert [fault.why.partition(":")[0] for fault in done.faults] == ["exp_2", "exp_3"]
    assert done.notes == (
        "One was imported without its tags, which cannot be read: exp_4.",
        "One was imported without its metadata, which cannot be read: exp_4.",
    )


def test_a_graph_of_kuzu_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "scout" / "kuzu_db").mkdir(parents=True)
    with pytest.raises(ArchiveRefused, match="Kuzu"):
        import_path(opened(), tmp_path / "scout", source="amplihack")
    done = import_path(opened(), agent_folder(tmp_path / "scout", row("exp_1")), source="amplihack")
    assert done.imported == 1 and "Kuzu" in done.notes[0]


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArchiveRefused, match=r"no experiences\.db"):
        import_path(opened(), tmp_path, source="amplihack")
