"""Each job: what it does, what it would do, and that it does nothing twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nacre import MemoryStore
from nacre.errors import ConfigError, InvalidInput, UnknownName
from nacre.lifecycle.decay import DecayEngine
from nacre.lifecycle.jobs import JOBS, JobResult, backups_of
from nacre.lifecycle.reflection import ReflectionEngine
from nacre.settings import Settings
from nacre.settings import settings as read_settings
from tests.embedders import Moody
from tests.lifecycle.aged import DAY, NOW, Turned, opened, remember_episodes, remember_old
from tests.trusting import trusted


@pytest.fixture
def clock() -> Turned:
    return Turned()


@pytest.fixture
def store(tmp_path: Path, clock: Turned) -> Iterator[MemoryStore]:
    with opened(tmp_path / "s.db", clock) as found:
        yield found


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(store=str(tmp_path / "s.db"), reflect_apply=True, journal_days=30)


def acts(store: MemoryStore) -> list[str]:
    """The names of the acts, oldest first, each once."""
    return list({e.operation.batch: e.operation.name for e in store.journal(limit=None, newest_first=False)}.values())


def run(name: str, store: MemoryStore, settings: Settings, *, dry_run: bool = False, now: float = NOW) -> JobResult:
    return JOBS[name].run(store, settings, now, dry_run=dry_run)


def prepare(name: str, store: MemoryStore, clock: Turned) -> int:
    """Something for the job to do; returns how much."""
    if name == "compact":
        clock.at -= 40 * DAY
        store.remember("long ago")
        clock.at += 40 * DAY
    if name == "trash":
        clock.at -= 40 * DAY
        store.forget(*(store.remember(text).id for text in ("x", "y")))
        clock.at += 40 * DAY
    store.remember("new and in use", importance=0.9)
    if name == "decay":
        return len(remember_old(store))
    if name == "reflect":
        remember_episodes(store)
        return 2
    if name == "consolidate":
        return len(
            [store.remember(text, created_at=NOW - DAY, access_count=9, valence=0.9, arousal=0.9) for text in "xy"]
        )
    if name == "retain":
        return len([store.remember(text, expires_at=NOW - DAY) for text in "xyz"])
    return 2 if name == "trash" else 1


DOING = [name for name in JOBS if name not in ("backup", "reindex")]


@pytest.mark.parametrize("name", DOING)
def test_a_job_is_one_act_and_the_second_time_there_is_nothing_to_do(
    name: str, store: MemoryStore, settings: Settings, clock: Turned
) -> None:
    expected = prepare(name, store, clock)
    before = acts(store)
    assert run(name, store, settings, dry_run=True).done == expected
    assert acts(store) == before
    done = run(name, store, settings)
    assert (done.job, done.done, done.dry, done.error) == (name, expected, False, "")
    assert len(acts(store)) == len(before) + (0 if name == "compact" else 1)  # which drops one, and tells of it
    again = run(name, store, settings)
    assert again.done == 0 and "Nothing" in again.note
    assert store.health(thorough=True).problems == ()


def test_decay_moves_to_the_trash_and_can_be_undone(store: MemoryStore, settings: Settings) -> None:
    old, kept = remember_old(store), remember_old(store, 1, type="procedural")
    run("decay", store, settings)
    assert store.count(status="trashed") == len(old)
    assert store.get(kept[0]) is not None
    store.undo()
    assert store.count() == len(old) + 1


def test_decay_is_gentle_by_default(store: MemoryStore, settings: Settings) -> None:
    remember_old(store, days=60)
    assert run("decay", store, settings).done == 0
    assert run("decay", store, replace(settings, decay_rate=0.2)).done == 3
    assert run("decay", store, replace(settings, decay_rate=0.2, decay_protect="semantic, procedural")).done == 0


def test_a_reflection_is_dry_unless_it_is_wanted(store: MemoryStore, settings: Settings) -> None:
    remember_episodes(store)
    result = run("reflect", store, replace(settings, reflect_apply=False))
    assert (result.done, result.dry) == (2, True) and "would be" in result.note
    assert store.count(type="semantic") == 0
    run("reflect", store, settings)
    assert store.count(type="semantic") == 2


def test_an_emptied_trash_does_not_stand_between_a_person_and_their_undo(
    store: MemoryStore, settings: Settings
) -> None:
    remember_old(store)
    store.remember("mine", id="mine")
    run("decay", store, settings)
    run("trash", store, settings, now=NOW + 40 * DAY)
    assert store.count(include_trashed=True) == 1
    store.undo()
    assert store.get("mine") is None


def test_who_writes_the_summaries_is_a_setting(store: MemoryStore, settings: Settings) -> None:
    remember_episodes(store)
    run("reflect", store, replace(settings, summarizer="extractive"))
    summaries = [memory.text for memory in store.iterate(type="semantic")]
    assert summaries and all(text.startswith("[Reflection ×3] ") for text in summaries)
    with pytest.raises(UnknownName, match="did you mean 'central'"):
        run("reflect", store, replace(settings, summarizer="centre"))
    with pytest.raises(ConfigError, match="language_model"):
        run("reflect", store, replace(settings, summarizer="language-model"))


def test_the_bounds_of_retention_are_settings(store: MemoryStore, settings: Settings) -> None:
    remember_old(store, 5)
    assert run("retain", store, settings).done == 0
    assert run("retain", store, replace(settings, retain_max_count=3.0)).done == 2
    assert run("retain", store, replace(settings, retain_max_days=90.0)).done == 3
    assert store.count(status="archived") == 5


def test_reindexing_embeds_what_waits(tmp_path: Path, settings: Settings) -> None:
    embedder = Moody()
    with MemoryStore(tmp_path / "s.db", embedder=embedder) as store:
        embedder.well = False
        store.remember("waits for the model")
        assert run("reindex", store, settings, dry_run=True).done == 1
        embedder.well = True
        assert run("reindex", store, settings).done == 1
        assert run("reindex", store, settings).done == 0


def test_a_backup_lies_beside_the_store_unless_another_folder_is_named(
    store: MemoryStore, settings: Settings, tmp_path: Path
) -> None:
    assert run("backup", store, settings, dry_run=True).dry
    assert not (tmp_path / "backups").exists()
    result = run("backup", store, settings)
    assert (result.done, str(tmp_path / "backups") in result.note) == (1, True)
    assert [file.name for file in tmp_path.glob("backups/*/*.db")] == ["s-automatic-20270115T080000Z.db"]
    run("backup", store, replace(settings, backup_folder=str(tmp_path / "else")))
    assert len(list(tmp_path.glob("else/automatic/*.db"))) == 1


def test_a_folder_for_backups_in_a_file_is_meant_from_where_the_file_lies(tmp_path: Path) -> None:
    trusted(tmp_path / ".nacre.toml", 'store = "s.db"\nbackup_folder = "copies"\nbackup_every = "1d"\n')
    read = read_settings(environment={}, folder=tmp_path, user_file=tmp_path / "none")
    assert backups_of(read).folder == tmp_path / "copies"


def test_stores_of_one_name_do_not_take_each_others_backups_for_their_own(tmp_path: Path) -> None:
    folder = str(tmp_path / "all")
    one, other = (backups_of(Settings(store=str(tmp_path / at / "s.db"), backup_folder=folder)) for at in "ab")
    assert one.name != other.name
    assert (
        backups_of(Settings(store=str(tmp_path / "s.sqlite"))).name
        != backups_of(Settings(store=str(tmp_path / "s.db"))).name
    )


def test_a_store_that_is_kept_nowhere_has_no_place_for_backups() -> None:
    for place in ("", ":memory:"):
        with pytest.raises(InvalidInput, match="backup_folder"):
            backups_of(Settings(store=place))


def test_a_journal_that_is_kept_for_ever_is_not_compacted(store: MemoryStore, settings: Settings) -> None:
    store.remember("x")
    result = run("compact", store, replace(settings, journal_days=0.0), now=NOW + 1_000 * DAY)
    assert result.done == 0 and "forever" in result.note
    assert len(store.journal()) == 1


def test_a_trash_that_is_kept_for_ever_is_not_emptied(store: MemoryStore, settings: Settings) -> None:
    store.forget(store.remember("x").id)
    result = run("trash", store, replace(settings, trash_days=0.0), now=NOW + 1_000 * DAY)
    assert result.done == 0 and "forever" in result.note
    assert store.count(status="trashed") == 1


def test_how_fast_is_a_setting_of_the_jobs(store: MemoryStore, settings: Settings) -> None:
    remember_old(store)
    remember_episodes(store)
    assert run("decay", store, replace(settings, decay_rate=0.0)).done == 0
    assert run("reflect", store, settings).done == 2


def test_a_result_says_in_a_line_what_came_of_it() -> None:
    assert str(JobResult("decay", 2, "2 memories were moved to the trash.", "notes")) == (
        "decay in notes: 2 memories were moved to the trash."
    )
    assert str(JobResult("backup", error="no room")) == "backup: failed: no room"


@pytest.mark.parametrize("name", ["reflect", "consolidate"])
def test_what_somebody_undid_is_not_done_again_by_itself(
    store: MemoryStore, settings: Settings, clock: Turned, name: str
) -> None:
    count = prepare(name, store, clock)
    assert run(name, store, settings).done == count
    batch = store.journal(operation=name)[0].operation.batch
    undone = store.undo(batch)
    clock.at += DAY
    for dry_run in (True, False):
        assert run(name, store, settings, dry_run=dry_run, now=clock.at).done == 0
    if name == "reflect":
        assert len(ReflectionEngine(store).plan()) == count  # somebody may ask for it
        for number in range(3):
            store.remember(f"kestrel lantern meadow came {'ab'[number % 2]}", type="episodic")
        assert run(name, store, settings, now=clock.at).done == 1
    store.undo(undone[0])
    clock.at += DAY
    assert run(name, store, settings, now=clock.at).done == 0  # it is done already


def test_a_reflection_that_changed_no_source_and_was_undone_is_not_written_by_itself(
    store: MemoryStore, settings: Settings, clock: Turned
) -> None:
    count = prepare("reflect", store, clock)
    assert len(ReflectionEngine(store).reflect()) == count
    store.undo()
    assert run("reflect", store, settings, now=clock.at).done == 0


def test_a_memory_of_no_importance_that_somebody_brought_back_does_not_fade_again_by_itself(
    store: MemoryStore, settings: Settings, clock: Turned
) -> None:
    """Its score is below the floor from the first day."""
    kept = store.remember("The spare key is under the mat", importance=0.02)
    assert run("decay", store, settings).done == 1
    store.undo(store.journal(kept.id)[0])
    clock.at += DAY
    for dry_run in (True, False):
        assert run("decay", store, settings, dry_run=dry_run, now=clock.at).done == 0
    assert [each.memory.id for each in DecayEngine(store).plan(clock.at)] == [kept.id]  # somebody may ask for it


@pytest.mark.parametrize("limit", [{"retain_max_days": 2}, {"retain_max_count": 2}])
def test_what_retention_put_away_and_somebody_brought_back_stays(
    store: MemoryStore, settings: Settings, clock: Turned, limit: dict[str, Any]
) -> None:
    (old,) = remember_old(store, 1)
    for text in ("new note about anchors", "new note about barley"):
        store.remember(text)
    settings = replace(settings, **limit)
    assert run("retain", store, settings).done == 1
    store.undo(any_actor=True)
    for days in (1, 101):
        clock.at = NOW + days * DAY
        run("retain", store, settings, now=clock.at)
        memory = store.get(old)
        assert memory is not None and memory.status == "short_term"
