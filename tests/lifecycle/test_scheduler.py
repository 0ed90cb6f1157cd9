"""What is due is done, once, and nobody's failure is another's."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput, UnknownName
from nacre.lifecycle.decay import DecayEngine
from nacre.lifecycle.jobs import JOBS
from nacre.lifecycle.scheduler import Lease, MaintenanceScheduler, TickResult, intervals
from nacre.lifecycle.state import MaintenanceState, StoredHistories
from nacre.settings import Settings
from tests.lifecycle.aged import DAY, NOW, Turned, opened, remember_episodes, remember_old


@pytest.fixture
def clock() -> Turned:
    return Turned()


@pytest.fixture(params=["sqlite", pytest.param("in_memory", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Turned) -> Iterator[MemoryStore]:
    with opened(tmp_path / "s.db" if request.param == "sqlite" else ":memory:", clock) as found:
        yield found


def broken(*_given: object, **_named: object) -> None:
    raise RuntimeError("the tooth hurts")


def test_the_first_tick_does_both_and_the_second_nothing(store: MemoryStore) -> None:
    remember_old(store)
    remember_episodes(store)
    scheduler = MaintenanceScheduler(store, reflect_apply=True)
    first = scheduler.tick()
    assert (first.ran_decay, first.ran_reflect, first.decayed, first.reflected) == (True, True, 3, 2)
    assert (first.decay_error, first.reflect_error) == (None, None)
    assert "moved to the trash" in first.summary() and "condensed" in first.summary()
    second = scheduler.tick()
    assert second == TickResult() and second.summary() == "Nothing was due."


def test_each_job_comes_again_after_its_own_time(store: MemoryStore, clock: Turned) -> None:
    scheduler = MaintenanceScheduler(store, reflect_apply=True)
    scheduler.tick()
    clock.at += DAY
    again = scheduler.tick()
    assert (again.ran_decay, again.ran_reflect) == (True, False)
    later = scheduler.tick(NOW + 7 * DAY)
    assert (later.ran_decay, later.ran_reflect) == (True, True)


def test_another_scheduler_knows_what_the_first_one_did(store: MemoryStore) -> None:
    MaintenanceScheduler(store, reflect_apply=True).tick()
    assert MaintenanceScheduler(store, reflect_apply=True).tick() == TickResult()
    assert StoredHistories(store).history("decay/default").last_at == NOW


def test_a_job_without_an_interval_is_off(store: MemoryStore) -> None:
    remember_old(store)
    result = MaintenanceScheduler(store, decay_every=None, reflect_every=None).tick()
    assert result == TickResult()
    assert store.count() == 3


def test_further_jobs_have_intervals_by_their_names(store: MemoryStore) -> None:
    result = MaintenanceScheduler(store, None, None, trash_every=60, reindex_every=60.0, retain_every=None).tick()
    assert [each.job for each in result.results] == ["trash", "reindex"]
    with pytest.raises(UnknownName):
        MaintenanceScheduler(store, tarsh_every=60)


def test_a_dry_reflection_does_not_advance_its_schedule(store: MemoryStore) -> None:
    remember_episodes(store)
    scheduler = MaintenanceScheduler(store, decay_every=None)
    for _ in range(2):
        result = scheduler.tick()
        assert (result.ran_reflect, result.reflected) == (True, 2)
    assert store.count(type="semantic") == 0
    assert StoredHistories(store).history("reflect/default").last_at is None
    assert MaintenanceScheduler(store, decay_every=None, reflect_apply=True).tick().reflected == 2


def test_natively_a_dry_reflection_is_looked_at_once_a_day(store: MemoryStore, clock: Turned) -> None:
    scheduler = MaintenanceScheduler.from_settings(store, Settings())
    assert scheduler.tick().ran_reflect
    clock.at += 300
    assert not scheduler.tick().ran_reflect
    clock.at += DAY
    assert scheduler.tick().ran_reflect


def test_a_dry_run_changes_nothing_not_even_the_schedule(store: MemoryStore) -> None:
    remember_old(store)
    scheduler = MaintenanceScheduler(store)
    for _ in range(2):
        result = scheduler.tick(dry_run=True)
        assert result.decayed == 3 and all(each.dry for each in result.results)
    assert store.count() == 3
    assert StoredHistories(store).history("decay/default").runs == 0


def test_one_jobs_failure_never_blocks_another(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    remember_old(store)
    remember_episodes(store)
    monkeypatch.setattr(DecayEngine, "plan", broken)
    scheduler = MaintenanceScheduler(store, reflect_apply=True)
    result = scheduler.tick()
    assert (result.ran_decay, result.decay_error) == (False, "the tooth hurts")
    assert (result.ran_reflect, result.reflected, result.reflect_error) == (True, 2, None)
    assert "failed: the tooth hurts" in result.summary()
    noted = StoredHistories(store).history("decay/default")
    assert (noted.error, noted.failed_at, noted.last_at) == ("the tooth hurts", NOW, None)
    monkeypatch.undo()
    assert scheduler.tick().decayed == 3  # it is still due
    assert StoredHistories(store).history("decay/default").error == ""


def test_named_jobs_are_done_whether_they_are_due_or_not(store: MemoryStore) -> None:
    scheduler = MaintenanceScheduler(store, decay_every=None)
    assert [each.job for each in scheduler.tick(jobs=["decay"]).results] == ["decay"]
    assert [each.job for each in scheduler.tick(jobs=["decay", "trash"]).results] == ["decay", "trash"]
    assert StoredHistories(store).history("decay/default").runs == 2
    with pytest.raises(UnknownName):
        scheduler.tick(jobs=["decya"])


def test_with_a_path_the_state_is_a_file(store: MemoryStore, tmp_path: Path) -> None:
    remember_old(store)
    MaintenanceScheduler(store, state_path=tmp_path / "state.json").tick()
    state = MaintenanceState.load(tmp_path / "state.json")
    assert (state.last_decay_at, state.total_decayed, state.last_reflect_at) == (NOW, 3, None)
    assert StoredHistories(store).history("decay/default").runs == 0
    assert not MaintenanceScheduler(store, state_path=tmp_path / "state.json").tick().ran_decay


def test_every_space_has_its_own_schedule(tmp_path: Path) -> None:
    for space in ("a", "b", "c"):
        with opened(tmp_path / "s.db", space=space) as store:
            remember_old(store)
    with opened(tmp_path / "s.db", space="a") as store:
        assert MaintenanceScheduler(store, reflect_every=None).tick().decayed == 3
        rest = MaintenanceScheduler(store, reflect_every=None, all_spaces=True).tick()
        assert [(each.space, each.done) for each in rest.results] == [("b", 3), ("c", 3)]
        assert store.space == "a"
        (whole,) = MaintenanceScheduler(store, None, None, reindex_every=1, all_spaces=True).tick().results
        assert whole.space == ""


def test_while_another_one_works_nothing_is_done(store: MemoryStore) -> None:
    remember_old(store)
    scheduler = MaintenanceScheduler(store)
    with Lease(store, "tick").held():
        result = scheduler.tick()
        assert result.held_by and not result.results and "Another process" in result.summary()
        assert scheduler.tick(dry_run=True).decayed == 3  # which harms nobody
    assert scheduler.tick().decayed == 3


def test_a_tick_that_has_nothing_to_do_writes_nothing(tmp_path: Path, clock: Turned) -> None:
    with opened(tmp_path / "s.db", clock) as store:
        scheduler = MaintenanceScheduler(store, reflect_every=None)
        scheduler.tick()
        wal = (tmp_path / "s.db-wal").stat()
        scheduler.tick()
        assert (tmp_path / "s.db-wal").stat() == wal


def test_a_backup_whose_maker_was_killed_before_it_could_note_it_is_not_made_again(
    tmp_path: Path, clock: Turned
) -> None:
    settings = Settings(store=str(tmp_path / "s.db"), maintenance_backup_every="1d")
    with opened(tmp_path / "s.db", clock) as store:
        JOBS["backup"].run(store, settings, NOW, dry_run=False)
        scheduler = MaintenanceScheduler.from_settings(store, settings)
        clock.at += 60
        assert "backup" not in [each.job for each in scheduler.tick().results]
        clock.at += DAY
        assert next(each.job for each in scheduler.tick().results) == "backup"
        assert len(list((tmp_path / "backups").iterdir())) == 2


def test_a_backup_without_a_place_fails_alone(store: MemoryStore) -> None:
    scheduler = MaintenanceScheduler.from_settings(store, Settings(store=":memory:", maintenance_backup_every="1d"))
    result = scheduler.tick()
    assert [each.job for each in result.results if each.error] == ["backup"] and result.ran_decay


def test_intervals_are_settings() -> None:
    found = intervals(Settings(maintenance_decay_every="off", maintenance_backup_every="1h 30m"))
    assert set(found) == set(JOBS)
    assert (found["decay"], found["backup"], found["reindex"], found["consolidate"]) == (None, 5400.0, 3600.0, None)
    defaults = intervals(Settings())
    assert {name: job.every for name, job in JOBS.items()} == dict(defaults)
    with pytest.raises(InvalidInput):
        intervals(replace(Settings(), maintenance_trash_every="often"))


def test_it_runs_until_it_is_told_to_stop_and_leaves_the_lease_free(store: MemoryStore) -> None:
    remember_old(store)
    scheduler = MaintenanceScheduler(store, reflect_every=None, tick_interval=0.01)
    stop = threading.Event()
    thread = threading.Thread(target=scheduler.run_forever, args=(stop,))
    thread.start()
    try:
        wait_for(lambda: StoredHistories(store).history("decay/default").runs == 1)
        assert scheduler.lease.holder() is not None
        wait_for(lambda: MaintenanceScheduler(store).tick(jobs=["decay"]).ran_decay)  # between its ticks, anyone may
    finally:
        stop.set()
        thread.join(60)
    assert not thread.is_alive() and store.count(status="trashed") == 3
    assert scheduler.lease.holder() is None


def test_a_second_one_takes_over_when_the_first_one_ends(store: MemoryStore) -> None:
    stops, threads = [threading.Event(), threading.Event()], []
    first, second = (MaintenanceScheduler(store, tick_interval=0.01) for _ in range(2))
    try:
        for scheduler, stop in zip((first, second), stops, strict=True):
            threads.append(threading.Thread(target=scheduler.run_forever, args=(stop,)))
            threads[-1].start()
            wait_for(lambda: first.lease.holder() is not None)
        holder = second.lease.holder()
        assert holder is not None and holder.owner == first.lease.owner
        stops[0].set()
        wait_for(lambda: (found := second.lease.holder()) is not None and found.owner == second.lease.owner)
    finally:
        for stop in stops:
            stop.set()
        for thread in threads:
            thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_told_to_stop_the_job_under_way_is_the_last_one(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = threading.Event()
    plan = DecayEngine.plan

    def stopping(self: DecayEngine, now: float | None = None) -> object:
        stop.set()
        return plan(self, now)

    monkeypatch.setattr(DecayEngine, "plan", stopping)
    remember_old(store)
    result = MaintenanceScheduler(store).tick(stop=stop)
    assert [(each.job, each.done) for each in result.results] == [("decay", 3)]
