"""What is due is done, once, and nobody's failure is another's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput, UnknownName
from nacre.files import file_lock
from nacre.lifecycle import automatic_backup
from nacre.lifecycle.decay import DecayEngine
from nacre.lifecycle.jobs import JOBS
from nacre.lifecycle.scheduler import Lease, MaintenanceScheduler, StoredHistories, TickResult, intervals
from nacre.settings import Settings
from tests.lifecycle.aged import DAY, NOW, Turned, opened, remember_episodes, remember_old
from tests.prepared_stores import empty_store
from tests.waiting import wait_for


@pytest.fixture
def clock() -> Turned:
    return Turned()


@pytest.fixture(params=["sqlite", pytest.param("in_memory", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Turned) -> Iterator[MemoryStore]:
    with opened(empty_store(tmp_path / "s.db") if request.param == "sqlite" else ":memory:", clock) as found:
        yield found


def scheduler_of(
    store: MemoryStore, *, every: str = "", all_spaces: bool = False, **settings: object
) -> MaintenanceScheduler:
    """With decay and reflection alone, unless the settings say otherwise."""
    known = Settings(maintenance_every=f"retain=off, trash=off, reindex=off, {every}", **settings)  # type: ignore[arg-type]
    return MaintenanceScheduler(store, known, all_spaces=all_spaces)


def jobs_of(result: TickResult) -> list[str]:
    return [each.job for each in result.results]


def broken(*_given: object, **_named: object) -> None:
    raise RuntimeError("the tooth hurts")


def test_a_job_is_due_where_a_clock_that_was_set_back_recorded_its_last_run(store: MemoryStore, clock: Turned) -> None:
    scheduler = scheduler_of(store)
    clock.at += 400 * DAY
    assert "decay" in jobs_of(scheduler.tick())
    clock.at -= 400 * DAY
    states = {each.job.name: each.next_at for each in scheduler.states()}
    assert states["decay"] == 0.0
    assert "decay" in jobs_of(scheduler.tick())


def test_the_first_tick_does_both_and_the_second_nothing(store: MemoryStore) -> None:
    remember_old(store)
    remember_episodes(store)
    scheduler = scheduler_of(store, reflect_apply=True)
    first = scheduler.tick()
    assert (first.outcome("decay"), first.outcome("reflect")) == ((True, 3, None), (True, 2, None))
    assert "moved to the trash" in first.summary() and "condensed" in first.summary()
    second = scheduler.tick()
    assert second == TickResult() and second.summary() == "Nothing was due."


def test_each_job_comes_again_after_its_own_time(store: MemoryStore, clock: Turned) -> None:
    scheduler = scheduler_of(store, reflect_apply=True)
    scheduler.tick()
    clock.at += DAY
    again = scheduler.tick()
    assert jobs_of(again) == ["decay"]
    later = scheduler.tick(NOW + 7 * DAY)
    assert jobs_of(later) == ["decay", "reflect"]


def test_another_scheduler_knows_what_the_first_one_did(store: MemoryStore) -> None:
    scheduler_of(store, reflect_apply=True).tick()
    assert scheduler_of(store, reflect_apply=True).tick() == TickResult()
    assert StoredHistories(store).history("decay/default").last_at == NOW


def test_a_job_without_an_interval_is_off(store: MemoryStore) -> None:
    remember_old(store)
    result = scheduler_of(store, every="decay=off, reflect=off").tick()
    assert result == TickResult()
    assert store.count() == 3


def test_further_jobs_have_intervals_by_their_names(store: MemoryStore) -> None:
    known = Settings(maintenance_every="decay=off, reflect=off, consolidate=1d")
    result = MaintenanceScheduler(store, known).tick()
    assert jobs_of(result) == ["consolidate", "retain", "trash", "reindex"]


def test_the_journal_is_deleted_only_where_its_job_is_switched_on(store: MemoryStore) -> None:
    assert "compact" not in jobs_of(MaintenanceScheduler(store, Settings(journal_days=9.0)).tick())
    known = Settings(journal_days=9.0, maintenance_every="compact=1d")
    assert "compact" in jobs_of(MaintenanceScheduler(store, known).tick())


def test_every_job_can_be_switched_off(store: MemoryStore) -> None:
    off = ", ".join(f"{name}=off" for name in JOBS if name != "backup")
    known = Settings(maintenance_every=off)
    assert jobs_of(MaintenanceScheduler(store, known).tick()) == []


def test_a_dry_reflection_does_not_advance_its_schedule(store: MemoryStore) -> None:
    remember_episodes(store)
    for _ in range(2):
        assert scheduler_of(store, every="decay=off").tick().outcome("reflect") == (True, 2, None)
    assert store.count(type="semantic") == 0
    assert StoredHistories(store).history("reflect/default").last_at is None
    applied = scheduler_of(store, every="decay=off", reflect_apply=True).tick()
    assert applied.outcome("reflect") == (True, 2, None)


def test_natively_a_dry_reflection_is_looked_at_once_a_day(store: MemoryStore, clock: Turned) -> None:
    scheduler = MaintenanceScheduler(store, Settings())
    assert "reflect" in jobs_of(scheduler.tick())
    clock.at += 300
    assert "reflect" not in jobs_of(scheduler.tick())
    clock.at += DAY
    assert "reflect" in jobs_of(scheduler.tick())


def test_a_dry_reflection_is_looked_at_after_the_clock_was_set_back(store: MemoryStore, clock: Turned) -> None:
    scheduler = MaintenanceScheduler(store, Settings())
    assert "reflect" in jobs_of(scheduler.tick())
    clock.at -= 400 * DAY
    assert "reflect" in jobs_of(scheduler.tick())


def test_a_dry_run_changes_nothing_not_even_the_schedule(store: MemoryStore) -> None:
    remember_old(store)
    scheduler = scheduler_of(store)
    for _ in range(2):
        result = scheduler.tick(dry_run=True)
        assert result.outcome("decay")[1] == 3 and all(each.dry for each in result.results)
    assert store.count() == 3
    assert StoredHistories(store).history("decay/default").runs == 0


def test_one_jobs_failure_never_blocks_another(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    remember_old(store)
    remember_episodes(store)
    monkeypatch.setattr(DecayEngine, "plan", broken)
    scheduler = scheduler_of(store, reflect_apply=True)
    result = scheduler.tick()
    assert result.outcome("decay") == (False, 0, "the tooth hurts")
    assert result.outcome("reflect") == (True, 2, None)
    assert "failed: the tooth hurts" in result.summary()
    noted = StoredHistories(store).history("decay/default")
    assert (noted.error, noted.failed_at, noted.last_at) == ("the tooth hurts", NOW, None)
    monkeypatch.undo()
    assert scheduler.tick().outcome("decay")[1] == 3  # it is still due
    assert StoredHistories(store).history("decay/default").error == ""


def test_named_jobs_are_done_whether_they_are_due_or_not(store: MemoryStore) -> None:
    scheduler = scheduler_of(store, every="decay=off")
    assert [each.job for each in scheduler.tick(jobs=["decay"]).results] == ["decay"]
    assert [each.job for each in scheduler.tick(jobs=["decay", "trash"]).results] == ["decay", "trash"]
    assert StoredHistories(store).history("decay/default").runs == 2
    with pytest.raises(UnknownName):
        scheduler.tick(jobs=["decya"])


def test_every_space_has_its_own_schedule(tmp_path: Path) -> None:
    for space in ("a", "b", "c"):
        with opened(tmp_path / "s.db", space=space) as store:
            remember_old(store)
    with opened(tmp_path / "s.db", space="a") as store:
        assert scheduler_of(store, every="reflect=off").tick().outcome("decay")[1] == 3
        rest = scheduler_of(store, every="reflect=off", all_spaces=True).tick()
        decays = [each for each in rest.results if each.job == "decay"]
        assert [(each.space, each.done) for each in decays] == [("b", 3), ("c", 3)]
        assert store.space == "a"
        every = MaintenanceScheduler(store, Settings(), all_spaces=True).tick().results
        assert [each.space for each in every if each.job == "reindex"] == [""]


def test_while_another_one_works_nothing_is_done(store: MemoryStore) -> None:
    remember_old(store)
    scheduler = scheduler_of(store)
    with Lease(store, "tick").held():
        result = scheduler.tick()
        assert result.held_by and not result.results and "Another process" in result.summary()
        assert scheduler.tick(dry_run=True).outcome("decay")[1] == 3  # which harms nobody
    assert scheduler.tick().outcome("decay")[1] == 3


def test_a_tick_that_has_nothing_to_do_writes_nothing(tmp_path: Path, clock: Turned) -> None:
    with opened(tmp_path / "s.db", clock) as store:
        scheduler = scheduler_of(store, every="reflect=off")
        scheduler.tick()
        wal = (tmp_path / "s.db-wal").stat()
        scheduler.tick()
        assert (tmp_path / "s.db-wal").stat() == wal


def test_a_backup_whose_maker_was_killed_before_it_could_note_it_is_not_made_again(
    tmp_path: Path, clock: Turned
) -> None:
    settings = Settings(store=str(tmp_path / "s.db"), backup_every="1d")
    with opened(tmp_path / "s.db", clock) as store:
        JOBS["backup"].run(store, settings, NOW, dry_run=False)
        scheduler = MaintenanceScheduler(store, settings)
        clock.at += 60
        assert "backup" not in [each.job for each in scheduler.tick().results]
        store.remember("written since")
        clock.at += DAY
        assert next(each.job for each in scheduler.tick().results) == "backup"
        assert len(list(tmp_path.glob("backups/automatic/*.db"))) == 2


def test_a_new_store_is_copied_only_when_it_is_a_day_old(tmp_path: Path, clock: Turned) -> None:
    settings = Settings(store=str(tmp_path / "s.db"))
    with opened(tmp_path / "s.db", clock) as store:
        scheduler = MaintenanceScheduler(store, settings)
        assert "backup" not in jobs_of(scheduler.tick())
        store.remember("the first one")
        clock.at += DAY / 2
        assert "backup" not in jobs_of(scheduler.tick())
        clock.at += DAY / 2
        assert "backup" in jobs_of(scheduler.tick())
        assert "backup" not in jobs_of(scheduler.tick())


def test_a_store_in_which_nothing_was_done_is_not_copied_again(tmp_path: Path, clock: Turned) -> None:
    settings = Settings(store=str(tmp_path / "s.db"), maintenance_every="decay=off, retain=off, trash=off, reflect=off")
    with opened(tmp_path / "s.db", clock) as store:
        store.remember("the only one", id="one")
        scheduler = MaintenanceScheduler(store, settings)
        clock.at += DAY
        assert "backup" in jobs_of(scheduler.tick())
        (state,) = [each for each in scheduler.states() if each.job.name == "backup"]
        assert state.next_at == clock.at + DAY
        clock.at += 3 * DAY
        store.touch("one")  # changes the file, as the lease of the scheduler does
        assert "backup" not in jobs_of(scheduler.tick())
        assert [each.next_at for each in scheduler.states() if each.job.name == "backup"] == [None]
        store.remember("another one")
        assert "backup" in jobs_of(scheduler.tick())


def test_a_copy_that_was_refused_is_an_error_and_tried_again_later(
    tmp_path: Path, clock: Turned, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(store=str(tmp_path / "s.db"))
    with opened(tmp_path / "s.db", clock) as store:
        store.remember("the only one")
        scheduler = MaintenanceScheduler(store, settings)
        clock.at += DAY
        with monkeypatch.context() as small:
            small.setattr(automatic_backup, "LARGEST", 10)
            (result,) = [each for each in scheduler.tick().results if each.job == "backup"]
            assert "nacre store backup create" in result.error
        (state,) = [each for each in scheduler.states() if each.job.name == "backup"]
        assert (state.history.last_at, state.history.error) == (None, result.error)
        assert "backup" not in jobs_of(scheduler.tick())
        clock.at += automatic_backup.LOOK_AGAIN
        assert "backup" in jobs_of(scheduler.tick())
        with file_lock(automatic_backup.lock_file(settings), exclusive=True, patience=0.0):
            (result,) = scheduler.tick(jobs=["backup"]).results
        assert (result.error, result.note) == ("", automatic_backup.BUSY)


def test_the_state_of_a_job_follows_the_interval_of_its_space(clock: Turned) -> None:
    own = {"b": {"maintenance_every": "decay=off, trash=2d"}}
    with MemoryStore(
        settings=Settings(store=":memory:", embedder="hashing", space="a", spaces=own), clock=clock
    ) as store:
        store.remember("one")
        store.in_space("b").remember("two")
        scheduler = MaintenanceScheduler(store, all_spaces=True)
        scheduler.tick()
        states = {(each.job.name, each.space): (each.every, each.next_at) for each in scheduler.states()}
    assert states["decay", "a"] == states["trash", "a"] == (DAY, clock.at + DAY)
    assert states["decay", "b"] == (None, None)
    assert states["trash", "b"] == (2 * DAY, clock.at + 2 * DAY)


def test_a_backup_without_a_place_fails_alone(store: MemoryStore) -> None:
    scheduler = MaintenanceScheduler(store, Settings(store=":memory:", backup_every="1d"))
    assert scheduler.every["backup"] is None  # by itself it is not tried
    result = scheduler.tick(jobs=["backup", "decay"])
    assert [each.job for each in result.results if each.error] == ["backup"]
    assert "decay" in jobs_of(result)


def test_intervals_are_settings() -> None:
    found = intervals(Settings(store="s.db", maintenance_every="decay=off", backup_every="1h 30m"))
    assert set(found) == set(JOBS)
    assert (found["decay"], found["backup"], found["reindex"], found["consolidate"]) == (None, 5400.0, 3600.0, None)
    defaults = intervals(Settings())
    assert (defaults["decay"], defaults["reflect"], defaults["backup"]) == (DAY, 7 * DAY, None)
    with pytest.raises(InvalidInput):
        intervals(replace(Settings(), maintenance_every="trash=often"))
    with pytest.raises(UnknownName, match="did you mean 'decay'"):
        intervals(Settings(maintenance_every="decya=1h"))
    for wrong, remedy in (("backup=1h", "backup_every"), ("decay", "decay=off")):
        with pytest.raises(InvalidInput, match=remedy):
            intervals(Settings(maintenance_every=wrong))


def test_it_runs_until_it_is_told_to_stop_and_leaves_the_lease_free(store: MemoryStore) -> None:
    remember_old(store)
    scheduler = scheduler_of(store, every="reflect=off")
    scheduler.tick_interval = 0.01
    stop = threading.Event()
    thread = threading.Thread(target=scheduler.run_forever, args=(stop,))
    thread.start()
    try:
        wait_for(lambda: StoredHistories(store).history("decay/default").runs == 1)
        assert scheduler.lease.holder() is not None
        wait_for(lambda: scheduler_of(store).tick(jobs=["decay"]).results != ())  # between its ticks, anyone may
    finally:
        stop.set()
        thread.join(60)
    assert not thread.is_alive() and store.count(status="trashed") == 3
    assert scheduler.lease.holder() is None


def test_a_second_one_takes_over_when_the_first_one_ends(store: MemoryStore) -> None:
    stops, threads = [threading.Event(), threading.Event()], []
    first, second = (scheduler_of(store) for _ in range(2))
    first.tick_interval = second.tick_interval = 0.01
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


def test_told_to_stop_the_job_under_way_is_the_last_one(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = threading.Event()
    plan = DecayEngine.plan

    def stopping(self: DecayEngine, now: float | None = None) -> object:
        stop.set()
        return plan(self, now)

    monkeypatch.setattr(DecayEngine, "plan", stopping)
    remember_old(store)
    result = scheduler_of(store).tick(stop=stop)
    assert [(each.job, each.done) for each in result.results] == [("decay", 3)]


def test_an_unknown_job_names_the_nearest(store: MemoryStore) -> None:
    with pytest.raises(UnknownName, match="did you mean 'decay'"):
        scheduler_of(store).tick(jobs=["decays"])
