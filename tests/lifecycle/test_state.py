"""What is known of earlier runs, in a file and in the store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nacre.errors import StorageError
from nacre.lifecycle.state import FileHistories, JobHistory, MaintenanceState, StoredHistories
from tests.lifecycle.aged import NOW, opened


def test_what_is_saved_is_loaded_again(tmp_path: Path) -> None:
    state = MaintenanceState(last_decay_at=5.0, total_decayed=3)
    state.note("trash", JobHistory(7.0, 2, 9))
    state.note("reflect", JobHistory(8.0, 1, 4))
    state.save(tmp_path / "deep" / "state.json")
    again = MaintenanceState.load(tmp_path / "deep" / "state.json")
    assert again == state
    assert (again.last_reflect_at, again.total_reflected) == (8.0, 4)
    assert again.history("decay") == JobHistory(5.0, 0, 3)
    assert again.history("trash") == JobHistory(7.0, 2, 9)
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["state.json"]


def test_unknown_keys_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    file.write_text(
        json.dumps({"last_decay_at": 5, "moon": "full", "jobs": {"trash": {"last_at": 1, "sun": 2}, "x": 3}})
    )
    state = MaintenanceState.load(file)
    assert (state.last_decay_at, state.history("trash")) == (5.0, JobHistory(1.0))


@pytest.mark.parametrize(
    "content", ["", "{", "[1]", "null", '"x"', '{"last_decay_at": "noon", "total_decayed": NaN}', "\udcff"]
)
def test_a_file_that_cannot_be_read_means_that_nothing_ever_ran(tmp_path: Path, content: str) -> None:
    file = tmp_path / "state.json"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert MaintenanceState.load(file) == MaintenanceState()
    assert MaintenanceState.load(tmp_path / "none") == MaintenanceState()
    assert MaintenanceState.load(tmp_path) == MaintenanceState()


def test_a_state_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="choose another place"):
        MaintenanceState().save(tmp_path / "file" / "state.json")


def test_what_never_ran_is_due_at_once() -> None:
    assert JobHistory().due(100, NOW)
    assert not JobHistory(NOW).due(100, NOW)
    assert not JobHistory(NOW).due(100, NOW + 99)
    assert JobHistory(NOW).due(100, NOW + 100)


def test_a_clock_that_was_set_back_stops_nothing_for_long() -> None:
    assert not JobHistory(NOW + 60).due(100, NOW)
    assert JobHistory(NOW + 100 * 86_400).due(100, NOW)


def test_a_failure_keeps_what_was_done_before_and_a_success_clears_it() -> None:
    failed = JobHistory(5.0, 2, 9).failed("no " * 1_000, 7.0)
    assert (failed.last_at, failed.runs, failed.done, failed.failed_at) == (5.0, 2, 9, 7.0)
    assert failed.error.startswith("no no") and len(failed.error) == 500
    assert failed.ran(1, 8.0) == JobHistory(8.0, 3, 10)


def test_the_store_keeps_a_history_for_each_job_and_space(tmp_path: Path) -> None:
    with opened(tmp_path / "s.db") as store:
        histories = StoredHistories(store)
        assert histories.history("decay/default") == JobHistory()
        histories.note("decay/default", JobHistory(5.0, 1, 3, "why", 6.0))
        histories.note("decay/other", JobHistory(8.0))
    with opened(tmp_path / "s.db") as store:
        assert StoredHistories(store).history("decay/default") == JobHistory(5.0, 1, 3, "why", 6.0)
        assert StoredHistories(store).history("decay/other") == JobHistory(8.0)
        assert store.journal() == []


def test_in_a_file_the_jobs_of_its_own_space_have_plain_names(tmp_path: Path) -> None:
    histories = FileHistories(tmp_path / "state.json", "default")
    histories.note("decay/default", JobHistory(5.0, 1, 3))
    histories.note("decay/other", JobHistory(8.0))
    state = MaintenanceState.load(tmp_path / "state.json")
    assert (state.last_decay_at, state.total_decayed) == (5.0, 3)
    assert histories.history("decay/default").last_at == 5.0
    assert histories.history("decay/other").last_at == 8.0
