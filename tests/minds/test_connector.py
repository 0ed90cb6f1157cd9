"""An agent's experiences are opened by its name, in a folder or in the configured store, apart from other agents'."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nacre.errors import NotAStore, StorageError
from nacre.memory_store import MemoryStore
from nacre.minds.connector import MemoryConnector
from nacre.minds.experience import ExperienceType
from nacre.minds.experience_store import ExperienceStore
from nacre.storage.sqlite import SQLiteBackend
from tests.minds.experience_factory import make_experience


@pytest.fixture(autouse=True)
def hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_EMBEDDER", "hashing")


@pytest.mark.parametrize("backend", ["sqlite", "kuzu"])
def test_either_backend_is_the_one_engine(tmp_path: Path, backend: str) -> None:
    with MemoryConnector("planner", tmp_path / "new" / "folder", backend=backend) as connector:
        id = connector.store_experience(make_experience())
    assert [each.name for each in (tmp_path / "new" / "folder").iterdir()] == ["nacre.db"]
    assert MemoryConnector("planner", tmp_path / "new" / "folder").retrieve_experiences()[0].experience_id == id


def test_the_usual_bounds_are_known() -> None:
    connector = MemoryConnector("planner", ":memory:")
    assert (connector.max_memory_mb, connector.enable_compression, connector.backend) == (100, True, "sqlite")


def test_without_a_folder_the_agent_is_a_space_of_the_configured_store() -> None:
    with MemoryConnector("planner") as connector:
        connector.store_experience(make_experience())
        assert connector.storage_path is None
    assert MemoryStore(space="planner").count() == 1


@pytest.mark.parametrize("name", ["", " ", None, "a/b", "-a", "x" * 65])
def test_a_name_that_is_none_is_a_value_error_and_nothing_is_created(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        MemoryConnector(name, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("bad", [0, -100, True, "much"])
def test_a_quota_of_nothing_is_a_value_error(tmp_path: Path, bad: float) -> None:
    with pytest.raises(ValueError, match="max_memory_mb"):
        MemoryConnector("planner", tmp_path, max_memory_mb=bad)


def test_an_unknown_backend_is_a_value_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="did you mean 'sqlite'"):
        MemoryConnector("planner", tmp_path, backend="sqlit")


def test_agents_in_one_file_do_not_see_each_other(tmp_path: Path) -> None:
    one, other = MemoryConnector("planner", tmp_path), MemoryConnector("tester", tmp_path)
    one.store_experience(make_experience("mine"))
    assert other.retrieve_experiences() == [] == other.search("mine")
    assert other.get_statistics()["total_experiences"] == 0


def test_they_come_back_newest_first_by_type_and_confidence(tmp_path: Path) -> None:
    connector = MemoryConnector("planner", tmp_path)
    connector.store_experience(make_experience("old", days_ago=2, confidence=0.9))
    connector.store_experience(make_experience("failed", type=ExperienceType.FAILURE, days_ago=1))
    connector.store_experience(make_experience("new", confidence=0.4))
    assert [each.context for each in connector.retrieve_experiences()] == ["new", "failed", "old"]
    assert [each.context for each in connector.retrieve_experiences(limit=1)] == ["new"]
    assert [each.context for each in connector.retrieve_experiences(10, ExperienceType.FAILURE)] == ["failed"]
    assert [each.context for each in connector.retrieve_experiences(min_confidence=0.8)] == ["old"]


def test_a_corrupted_file_is_said_to_be_corrupted(tmp_path: Path) -> None:
    (tmp_path / "nacre.db").write_text("no database at all, but long enough to be taken for the head of one" * 20)
    with pytest.raises(NotAStore, match="corrupted"):
        MemoryConnector("planner", tmp_path)


def test_a_closed_connector_says_so(tmp_path: Path) -> None:
    connector = MemoryConnector("planner", tmp_path)
    connector.close()
    with pytest.raises(StorageError, match="closed"):
        connector.retrieve_experiences()


def test_a_store_that_is_lent_stays_open_and_must_be_the_agents() -> None:
    lent = MemoryStore(":memory:", space="planner")
    with MemoryConnector("planner", store=lent) as connector:
        connector.store_experience(make_experience())
    assert lent.count() == 1
    with pytest.raises(ValueError, match="space"):
        MemoryConnector("tester", store=lent)


@pytest.mark.slow
def test_four_threads_write_ten_experiences_each(tmp_path: Path) -> None:
    connector = MemoryConnector("planner", tmp_path)

    def write(thread: int) -> None:
        for n in range(10):
            connector.store_experience(make_experience(f"thread {thread} case {n}"))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(connector.retrieve_experiences()) == connector.get_statistics()["total_experiences"] == 40


def test_statistics_and_the_quota_read_no_experience(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ExperienceStore("planner", storage_path=tmp_path) as first:
        first.add(make_experience("first"))
        stored = first.get_statistics()
    monkeypatch.setattr(SQLiteBackend, "iterate", lambda *_: pytest.fail("every experience is read"))
    with MemoryConnector("planner", tmp_path) as later:
        assert later.get_statistics() == stored
        later.store_experience(make_experience("second"))
        assert later.get_statistics()["total_experiences"] == 2


@pytest.mark.slow
def test_another_process_is_heard_of_at_the_next_question(tmp_path: Path) -> None:
    here = ExperienceStore("planner", storage_path=tmp_path)
    here.add(make_experience("here"))
    assert here.get_statistics()["total_experiences"] == 1
    program = (
        "from nacre.minds.experience_store import ExperienceStore; from nacre.minds.experience import Experience,"
        " ExperienceType as T; import sys; ExperienceStore('planner', storage_path=sys.argv[1])"
        ".add(Experience(T.FAILURE, 'there', 'it rained', 0.5))"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=60)
    assert here.get_statistics()["total_experiences"] == 2
    assert [each.context for each in here.search("raining")] == ["there"]
