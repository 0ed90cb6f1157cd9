"""MemoryConnector: where experiences lie, who sees them, and what is refused."""

from __future__ import annotations

import os
import shlex
import sqlite3
import warnings
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from nacre import MemoryStore
from nacre.compat.amplihack_memory import ExperienceStore, ExperienceType, MemoryConnector
from nacre.errors import StorageError
from nacre.transfer.import_archive import import_path
from tests.compat.amplihack_memory.experience_factory import make_experience
from tests.transfer.foreign.test_amplihack import agent_folder, row


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


def imported_into(folder: Path, source: Path, agent: str = "gardener") -> None:
    """As `nacre --store FOLDER --space AGENT import SOURCE`."""
    with MemoryStore(folder / "nacre.db", space=agent, embedder="hashing") as store:
        import_path(store, source)


def test_over_the_older_systems_folder_the_program_says_what_to_run_and_goes_on_after_it(tmp_path: Path) -> None:
    folder = agent_folder(tmp_path / "old", row("exp_1"), row("harvest-7", "insight"))
    with pytest.raises(StorageError) as refused:
        connected(folder)
    command = shlex.join(["nacre", "--store", str(folder), "--space", "gardener", "import", str(folder), "--yes"])
    assert str(refused.value).endswith(f"To bring them in: {command}")
    imported_into(folder, folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ExperienceStore("gardener", storage_path=folder, embedder="hashing") as store:
            assert store.db_path == folder / "nacre.db"
            assert {each.experience_id for each in store.search("")} == {"exp_1", "harvest-7"}
            store.add(make_experience())
        with connected(folder) as connector:
            assert len(connector.retrieve_experiences()) == 3


def test_an_import_into_another_space_is_noticed(tmp_path: Path) -> None:
    folder = agent_folder(tmp_path / "old", row("exp_1"))
    imported_into(folder, folder, agent="default")
    with pytest.warns(UserWarning, match="--space gardener import"):
        connected(folder).close()


def test_an_import_into_a_new_folder_is_read_there(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    imported_into(tmp_path / "new", agent_folder(tmp_path / "old", row("exp_1")))
    with connected(tmp_path / "new") as connector:
        assert [each.experience_id for each in connector.retrieve_experiences()] == ["exp_1"]


def test_an_import_beside_the_programs_own_file_is_noticed(tmp_path: Path) -> None:
    with connected(tmp_path) as connector:
        connector.store_experience(make_experience())
    imported_into(tmp_path, agent_folder(tmp_path / "old", row("exp_1")))
    with pytest.warns(UserWarning, match=r"nacre --store .*experiences\.db"), connected(tmp_path) as connector:
        assert len(connector.retrieve_experiences()) == 1
