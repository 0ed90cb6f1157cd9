"""Settings, maintenance and what hooks cost, as the page shows them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.access.capabilities import Role
from nacre.hooks.inject import DAYS_KEPT, Injected, InjectionDay, injection_days
from nacre.server.api import ServerApi
from nacre.server.jobs import Jobs
from nacre.server.upkeep import FADING_DAYS, STARTED, setting_lines, upkeep_of
from nacre.server.users import Identity, Registry
from nacre.settings import Settings, descriptions
from tests.samples import Clock
from tests.server.test_jobs import ended

ROOT = Identity("root", Role.ADMIN, (), "1")


@pytest.fixture
def clock() -> Clock:
    return Clock(1_800_000_000.0)


@pytest.fixture
def store(clock: Clock, tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path / "memory.db", space="team", embedder="hashing", clock=clock) as opened:
        yield opened


def test_every_setting_is_listed_and_only_admins_see_values(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("STORE", "TRASH_DAYS", "EMBEDDER", "SPACE"):
        monkeypatch.delenv(f"NACRE_{name}", raising=False)
    monkeypatch.setenv("NACRE_TRASH_DAYS", "9")
    used = replace(Settings(), store="/data/memory.db", trash_days=9.0, embedder_key="a key", hook_inject=700.0)
    lines = {line.key: line for line in setting_lines(used, visible=True)}
    assert lines.keys() == descriptions().keys() - {"spaces"} and all(line.about for line in lines.values())
    assert (lines["trash_days"].value, lines["trash_days"].default) == (9.0, 30.0)
    assert lines["trash_days"].source == "NACRE_TRASH_DAYS"
    assert lines["hook_inject"].source == STARTED and lines["on_conflict"].source == "default"
    assert lines["embedder_key"].secret and "a key" not in repr(lines)
    database = replace(used, store="postgresql://ada:sesame@host/db")
    shown = {line.key: line for line in setting_lines(database, visible=True)}
    assert (shown["store"].value, shown["store"].secret) == ("postgresql://ada@host/db", False)
    server = replace(used, store="https://ada:sesame@host:8080/", embedder_url="https://ada:sesame@host/v1")
    assert "sesame" not in repr(setting_lines(server, visible=True))
    hidden = repr(setting_lines(used, visible=False))
    assert "/data" not in hidden and "TRASH_DAYS" not in hidden and "700" not in hidden


def test_maintenance_says_what_it_would_do_and_a_job_can_be_run(store: MemoryStore, clock: Clock) -> None:
    store.remember("Somebody whistled", importance=0.0, id="old")
    clock.now += 3_000 * 86_400
    jobs = {job.job: job for job in upkeep_of(store, preview=True).jobs}
    assert jobs["decay"].next_at == 0.0 and "1 memory would be moved to the trash" in jobs["decay"].would
    assert jobs["decay"].would_do == 1 and not jobs["decay"].would_fail
    assert jobs["compact"].every is None and jobs["compact"].would == ""
    assert all(not job.would for job in upkeep_of(store, preview=False).jobs)
    registry, running = Registry(store.acting_as("server").store, clock), Jobs(store.acting_as("server").store, clock)
    api = ServerApi(ROOT, store.as_user("root", ROOT.capabilities), registry, running)
    result = ended(running, api.start_maintenance("decay")).result
    running.close()
    assert isinstance(result, dict) and isinstance(result["operations"], list) and len(result["operations"]) == 1
    assert isinstance(result["notes"], list)
    assert result["results"] == [{"done": 1, "note": result["notes"][0], "error": ""}]
    assert store.count() == 0
    assert {job.job: job for job in api.maintenance().jobs}["decay"].last_at == clock.now
    store.undo(str(result["operations"][0]))
    assert store.count() == 1


def test_the_curve_of_fading_begins_at_the_importance_and_falls(store: MemoryStore) -> None:
    importance = store.settings.default_importance
    days, scores = zip(*upkeep_of(store, preview=False).fading, strict=True)
    assert (days[0], days[-1], scores[0]) == (0.0, FADING_DAYS, importance)
    assert all(later < earlier for earlier, later in pairwise(scores)) and scores[-1] > 0.0


def test_what_hooks_put_before_prompts_is_counted_by_day(store: MemoryStore, clock: Clock) -> None:
    memory = store.remember("The boat is red")
    Injected(store, "one").add([memory], 40)
    Injected(store, "").add([memory], 2)
    clock.now += 86_400
    Injected(store, "two").add([memory], 5)
    backend = store.acting_as("x").store
    assert injection_days(backend, "team") == [
        InjectionDay("2027-01-15", 2, 2, 42),
        InjectionDay("2027-01-16", 1, 1, 5),
    ]
    assert injection_days(backend, "home") == []
    assert Injected(store, "one").unchanged() == (memory.id,)
    clock.now += DAYS_KEPT * 86_400
    Injected(store, "").add([memory], 1)  # of a client without sessions
    assert [each.day for each in injection_days(backend, "team")] == ["2027-01-16", "2027-04-16"]
    assert Injected(store, "one").unchanged() == ()
