"""MemoryConnector: where experiences lie, who sees them, and what is refused."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from nacre.compat.amplihack_memory import ExperienceType, MemoryConnector
from tests.compat.amplihack_memory.experience_factory import make_experience


def connected(folder: Path, agent: str = "gardener", **more: Any) -> MemoryConnector:
    return MemoryConnector(agent, storage_path=folder, embedder="hashing", **more)


@pytest.mark.accepts("A6.1", "A6.2")
def test_without_a_path_each_agent_has_a_folder_of_its_own() -> None:
    with MemoryConnector(" gardener ", embedder="hashing") as connector:
        assert connector.agent_name == "gardener"
        assert connector.storage_path == Path.home() / ".amplihack" / "memory" / "gardener"
        assert connector.db_path == connector.storage_path / "experiences.db"
        assert connector.db_path.is_file()
        assert (connector.max_memory_mb, connector.enable_compression, connector.backend_type) == (100, True, "sqlite")


@pytest.mark.accepts("A6.1")
def test_both_backends_are_served_by_one_file(tmp_path: Path) -> None:
    with connected(tmp_path, backend="kuzu", enable_compression=False) as first:
        kept = first.store_experience(make_experience())
        assert (first.backend_type, first.enable_compression) == ("kuzu", False)
    with connected(tmp_path, backend="sqlite") as second:
        assert [each.experience_id for each in second.retrieve_experiences()] == [kept]


@pytest.mark.accepts("A6.1", "A6.3")
@pytest.mark.parametrize(
    "values",
    [
        {"agent_name": ""},
        {"agent_name": " "},
        {"agent_name": None},
        {"max_memory_mb": 0},
        {"max_memory_mb": -1},
        {"backend": "redis"},
    ],
)
def test_what_cannot_be_opened_is_a_value_error(tmp_path: Path, values: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        MemoryConnector(**{"agent_name": "gardener", "storage_path": tmp_path, "embedder": "hashing", **values})


@pytest.mark.slow
@pytest.mark.accepts("A6.3")
def test_experiences_come_newest_first_and_all_of_them_unless_limited(tmp_path: Path) -> None:
    with connected(tmp_path) as connector:
        for day in range(120):
            connector.store_experience(make_experience(f"Day {day}", days_ago=day, confidence=0.5 if day else 0.9))
        connector.store_experience(make_experience("Hail", type=ExperienceType.FAILURE, days_ago=200))
        assert len(connector.retrieve_experiences()) == 121
        assert [each.context for each in connector.retrieve_experiences(limit=2)] == ["Day 0", "Day 1"]
        assert len(connector.retrieve_experiences(experience_type=ExperienceType.FAILURE)) == 1
        assert len(connector.retrieve_experiences(min_confidence=0.85)) == 1
        assert connector.get_statistics()["total_experiences"] == 121
        assert [each.context for each in connector.search("hail")] == ["Hail"]


@pytest.mark.accepts("A6.2")
def test_agents_do_not_see_each_other_even_in_one_folder(tmp_path: Path) -> None:
    with connected(tmp_path, "ann") as ann, connected(tmp_path, "ben") as ben:
        ann.store_experience(make_experience())
        assert ben.retrieve_experiences() == []


@pytest.mark.accepts("A6.3")
def test_what_was_closed_answers_no_more(tmp_path: Path) -> None:
    connector = connected(tmp_path)
    connector.close()
    connector.close()
    with pytest.raises(OSError, match="closed"):
        connector.retrieve_experiences()


@pytest.mark.accepts("A6.3")
def test_a_corrupted_file_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "experiences.db").write_text("no database at all")
    with pytest.raises(OSError, match="corrupted"):
        connected(tmp_path)


def test_a_folder_that_cannot_be_written_is_a_permission_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # a superuser may write anywhere
    with pytest.raises(PermissionError, match="storage_path"):
        connected(tmp_path)


@pytest.mark.accepts("A6.3")
def test_four_threads_may_write(tmp_path: Path) -> None:
    with connected(tmp_path) as connector:

        def write(thread: int) -> None:
            for each in range(5):
                connector.store_experience(make_experience(f"Thread {thread}, bed {each}"))

        threads = [Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(connector.retrieve_experiences()) == 20


@pytest.mark.accepts("A6.3")
def test_the_file_has_a_write_ahead_log_indexes_and_an_index_of_words(tmp_path: Path) -> None:
    with connected(tmp_path) as connector:
        connector.store_experience(make_experience())
        with closing(sqlite3.connect(connector.db_path)) as database:
            assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            made = database.execute("SELECT type, coalesce(sql, '') FROM sqlite_master").fetchall()
    assert any(kind == "index" and "created_at" in sql for kind, sql in made)
    assert any("fts5(" in sql for _, sql in made)
