"""Jobs: they report how far they have come, fail with a problem, and are seen by whom they concern."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.access.capabilities import Role
from nacre.errors import InvalidInput, UnknownName
from nacre.lifecycle.jobs import backups_of
from nacre.model.memory import Json
from nacre.protocols import Progress
from nacre.server.api import ServerApi
from nacre.server.jobs import LOST_SECONDS, Job, Jobs
from nacre.server.users import Identity, Registry
from nacre.transfer.export import export_archive
from tests.samples import Clock

ADA, ROOT, OTHER = (
    Identity("ada", Role.WRITER, ("team",), "1"), Identity("root", Role.ADMIN, (), "2"),
    Identity("eve", Role.ADMIN, ("home",), "3"),
)  # fmt: skip


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore(":memory:", space="team", embedder="hashing") as opened:
        yield opened


@pytest.fixture
def clock() -> Clock:
    return Clock(1_800_000_000.0)


@pytest.fixture
def jobs(store: MemoryStore, clock: Clock) -> Iterator[Jobs]:
    made = Jobs(store.acting_as("server").store, clock)
    yield made
    made.close()


def ended(jobs: Jobs, job: Job) -> Job:
    jobs._threads.submit(lambda: None).result(60)
    while (state := jobs.get(job.id, ROOT)).state == "running":
        continue
    return state


def test_a_job_says_how_it_goes_and_what_came_of_it(jobs: Jobs) -> None:
    go_on = threading.Event()

    def work(progress: Progress) -> Json:
        progress(1, 2, "working")
        assert go_on.wait(60)
        return {"done": 2}

    job = jobs.start("test", "team", "ada", work)
    assert jobs.get(job.id, ADA).state == "running"
    go_on.set()
    state = ended(jobs, job)
    assert (state.state, state.result, state.done, state.total, state.what) == ("done", {"done": 2}, 1, 2, "working")
    assert jobs.list(ADA) == [state] == jobs.list(ROOT) and jobs.list(OTHER) == []
    with pytest.raises(UnknownName):
        jobs.get(job.id, OTHER)


def test_a_job_that_fails_says_why(jobs: Jobs) -> None:
    def refuse(_: Progress) -> Json:
        raise InvalidInput("It cannot be done; try something else.")

    def fail(_: Progress) -> Json:
        raise ZeroDivisionError

    refused = ended(jobs, jobs.start("test", "team", "ada", refuse))
    assert refused.state == "failed" and refused.error["remedy"] == "Try something else."  # type: ignore[index,call-overload]
    assert ended(jobs, jobs.start("test", "team", "ada", fail)).state == "failed"


def test_a_job_whose_end_cannot_be_written_does_not_count_as_running(tmp_path: Path, clock: Clock) -> None:
    store = MemoryStore(tmp_path / "s.db", space="team", embedder="hashing")
    jobs, hold = Jobs(store.acting_as("server").store, clock), threading.Event()
    jobs.start("test", "team", "ada", lambda _: hold.wait(60))
    with pytest.raises(InvalidInput, match="there is test"):
        jobs.demand_none("restore a backup")
    store.close()
    hold.set()
    jobs._threads.shutdown()
    jobs.demand_none("restore a backup")


def test_a_job_whose_server_ended_is_lost_and_one_that_runs_here_is_not(
    store: MemoryStore, jobs: Jobs, clock: Clock
) -> None:
    hold = threading.Event()
    job = jobs.start("test", "team", "ada", lambda _: hold.wait(60))
    clock.now += LOST_SECONDS + 1
    later = Jobs(store.acting_as("server").store, clock)
    assert (jobs.get(job.id, ADA).state, later.get(job.id, ADA).state) == ("running", "lost")
    hold.set()
    later.close()


def test_a_scan_and_a_reindex_run_as_jobs(store: MemoryStore, jobs: Jobs) -> None:
    store.remember("The gate closes at eight", on_conflict="ignore")
    store.remember("The gate closes at nine", on_conflict="ignore")
    registry = Registry(store.acting_as("server").store, store.now)

    def api(identity: Identity) -> ServerApi:
        return ServerApi(identity, store.as_user(identity.user, identity.capabilities), registry, jobs)

    scanned = ended(jobs, api(ADA).start_scan())
    assert scanned.state == "done" and scanned.result == {"conflicts": 1, "noted": 1}
    assert len(store.review(kinds="conflict")) == 1
    assert ended(jobs, api(ROOT).start_reindex()).result == {"memories": 2}


def test_an_archive_is_imported_as_a_job(store: MemoryStore, jobs: Jobs, tmp_path: Path) -> None:
    with MemoryStore(":memory:", space="team", embedder="hashing") as other:
        other.remember("From elsewhere", id="m1")
        export_archive(other, tmp_path / "a.nacre")
    registry = Registry(store.acting_as("server").store, store.now)
    api = ServerApi(ROOT, store.as_user("root", ROOT.capabilities), registry, jobs, tmp_path / "a.nacre")
    done = ended(jobs, api.start_import(why="moving"))
    assert done.state == "done", done.error
    imported = store.get("m1")
    assert imported is not None and imported.text == "From elsewhere" and not (tmp_path / "a.nacre").exists()
    assert replace(done, result=None).kind == "import"


def test_a_backup_of_a_database_is_refused_at_once_as_without_a_server(store: MemoryStore, jobs: Jobs) -> None:
    asked = store.as_user("root", ROOT.capabilities)
    asked._settings = replace(store.settings, store="postgresql://ada@host/db")
    registry = Registry(store.acting_as("server").store, store.now)
    with pytest.raises(InvalidInput) as direct:
        backups_of(asked.settings)
    with pytest.raises(InvalidInput) as refused:
        ServerApi(ROOT, asked, registry, jobs).start_backup()
    assert str(refused.value) == str(direct.value) and "pg_dump makes a backup" in str(refused.value)
    assert jobs.list(ROOT) == []
