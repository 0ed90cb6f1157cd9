"""What is known of earlier runs."""

from __future__ import annotations

from pathlib import Path

from nacre.lifecycle.scheduler import JobHistory, StoredHistories
from tests.lifecycle.aged import NOW, opened


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
