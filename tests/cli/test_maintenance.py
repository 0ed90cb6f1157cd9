"""The maintenance at the command line, with real processes in the background."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput
from nacre.lifecycle import daemon
from nacre.lifecycle.backups import Backups
from nacre.lifecycle.daemon import DaemonFiles, Process, this_host
from nacre.lifecycle.jobs import JOBS
from tests.command_line import CommandLine
from tests.waiting import wait_for

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals and sessions of POSIX")


@pytest.fixture
def places(nacre: CommandLine) -> Iterator[DaemonFiles]:
    """Whatever a test starts for its store ends with it."""
    result = DaemonFiles.beside(nacre.store)
    yield result
    process = daemon.running(result.pid)
    if process is not None and process.here and process.pid != os.getpid():
        os.kill(process.pid, signal.SIGKILL)


def remember_old(nacre: CommandLine, count: int = 3, space: str = "default") -> None:
    with MemoryStore(nacre.store, space=space, embedder="hashing", on_conflict="ignore") as store:
        for number in range(count):
            store.remember(f"old note {number}", created_at=1.0, last_accessed=1.0)


def job(nacre: CommandLine, name: str) -> dict[str, object]:
    result: dict[str, object] = next(
        each for each in nacre.json("maintenance", "status")["jobs"] if each["job"] == name
    )
    return result


def test_a_tick_does_what_is_due_and_says_so(nacre: CommandLine) -> None:
    remember_old(nacre)
    would = nacre.json("maintenance", "tick", "--dry-run")
    assert [(each["job"], each["done"], each["dry_run"]) for each in would if each["done"]] == [("decay", 3, True)]
    assert "decay\tdefault\t3\t3 memories were moved to the trash." in nacre.ok("maintenance", "tick")
    again = nacre("maintenance", "tick", "--job", "decay")
    assert (again.exit_code, again.stdout.split("\t")[2]) == (0, "0")
    assert nacre.ok("list") == ""
    assert {entry["actor"] for entry in nacre.json("journal", "--act", "decay")} == {"decay"}, "nobody asked for it"
    nacre.ok("undo", "--any")
    assert len(nacre.json("list")) == 3


def test_a_tick_lists_what_was_done_and_all_else_only_on_request(nacre: CommandLine) -> None:
    remember_old(nacre)
    done = [line.split("\t")[0] for line in nacre.ok("maintenance", "tick").splitlines()]
    assert done == ["decay"]


def test_a_tick_that_finds_nothing_says_so_in_one_line(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    nacre.ok("remember", "kept")
    monkeypatch.setenv("NACRE_BACKUP_EVERY", "off")
    would = nacre("maintenance", "tick", "--dry-run")
    assert (would.stdout, would.stderr.count("\n")) == ("", 1)
    assert "Nothing to do: " in would.stderr and "--verbose lists them." in would.stderr
    listed = [line.split("\t")[0] for line in nacre.ok("maintenance", "tick", "--dry-run", "-v").splitlines()]
    assert "decay" in listed and "trash" in listed
    assert [each["job"] for each in nacre.json("maintenance", "tick", "--dry-run")] == listed


def test_nothing_due_is_no_fault(nacre: CommandLine) -> None:
    nacre.ok("maintenance", "tick", "--job", "decay")
    for name in JOBS:
        nacre("maintenance", "tick", "--job", name)
    result = nacre("--space", "default", "maintenance", "tick", "--job", "trash", "-f", "json")
    assert json.loads(result.stdout)[0]["done"] == 0


def test_every_space_is_looked_after_unless_one_is_named(nacre: CommandLine) -> None:
    remember_old(nacre, space="a")
    remember_old(nacre, space="b")
    (one,) = nacre.json("--space", "a", "maintenance", "tick", "--job", "decay")
    assert (one["space"], one["done"]) == ("a", 3)
    all_of_them = nacre.json("maintenance", "tick", "--job", "decay")
    assert {each["space"]: each["done"] for each in all_of_them} == {"a": 0, "b": 3, "default": 0}


def failing(*_: object) -> None:
    raise InvalidInput("There is no room for a copy.")


def test_a_job_that_fails_ends_with_its_reason_and_the_others_are_done(
    nacre: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember_old(nacre)
    monkeypatch.setattr(Backups, "make", failing)
    result = nacre("maintenance", "tick", "--job", "backup", "--job", "decay")
    assert result.exit_code == 4 and "no room" in result.stderr
    assert job(nacre, "decay")["done"] == 3
    assert "no room" in str(job(nacre, "backup")["error"])


def test_a_setting_that_is_no_interval_is_misuse(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_BACKUP_EVERY", "often")
    result = nacre("maintenance", "tick")
    assert result.exit_code == 2 and "30m" in result.stderr


def test_backups_are_made_on_request(nacre: CommandLine) -> None:
    nacre.ok("remember", "kept", "--id", "k")
    nacre.ok("maintenance", "tick", "--job", "backup")
    (made,) = (nacre.store.parent / "backups" / "automatic").glob("*.db")
    assert nacre.json("--store", str(made), "show", "k")["text"] == "kept"


def test_the_status_shows_each_job(nacre: CommandLine) -> None:
    before = nacre.json("maintenance", "status")
    assert (before["pid"], before["lease"]) == (None, None)
    assert {each["job"] for each in before["jobs"]} == set(JOBS)
    assert job(nacre, "decay")["due"] and not job(nacre, "backup")["due"]
    nacre.ok("maintenance", "tick")
    after = job(nacre, "decay")
    assert (after["due"], after["runs"], after["every_seconds"]) == (False, 1, 86_400.0)
    assert after["last_run"] and after["next_run"]
    output = nacre("maintenance", "status", "-f", "table")
    assert "just now" in output.stdout and "No maintenance runs" in output.stderr
    assert len(nacre.ok("maintenance", "status", "-f", "tsv").splitlines()) == len(JOBS)


def test_it_is_started_in_the_background_once_and_stopped(nacre: CommandLine, places: DaemonFiles) -> None:
    remember_old(nacre)
    started = nacre.process("maintenance", "start")
    assert started.returncode == 0, started.stderr
    pid = int(started.stdout)
    assert os.getsid(pid) == pid != os.getsid(0)
    wait_until(lambda: job(nacre, "reindex")["runs"] == 1)
    status = nacre.json("maintenance", "status")
    assert status["pid"] == status["lease"]["pid"] == pid
    assert nacre.ok("list") == ""
    second = nacre("maintenance", "start")
    assert second.exit_code == 3 and str(pid) in second.stderr
    foreground = nacre.process("maintenance", "run")
    assert foreground.returncode == 3 and str(pid) in foreground.stderr
    assert nacre.process("maintenance", "stop").returncode == 0
    assert not daemon.is_alive(pid) and not places.pid.exists()
    assert nacre.json("maintenance", "status")["lease"] is None
    assert nacre("maintenance", "stop").exit_code == 1
    result = places.log.read_text()
    assert "begins" in result and "3 memories were moved to the trash" in result and "ends" in result


@pytest.mark.slow
def test_after_a_kill_it_can_be_started_again_at_once(nacre: CommandLine, places: DaemonFiles) -> None:
    first = int(nacre.process("maintenance", "start").stdout)
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: not daemon.is_alive(first))
    assert places.pid.exists()
    assert nacre.json("maintenance", "status")["pid"] is None
    second = nacre.process("maintenance", "start")
    assert second.returncode == 0, second.stderr
    assert daemon.get_pid(places.pid) == int(second.stdout) != first
    assert nacre.process("maintenance", "stop").returncode == 0


@pytest.mark.slow
def test_a_file_left_by_a_process_whose_number_another_has_now_is_in_nobodys_way(
    nacre: CommandLine, places: DaemonFiles
) -> None:
    daemon.write_pid(places.pid, Process(os.getpid(), this_host(), "long ago"))
    assert nacre("maintenance", "stop").exit_code == 1
    assert not places.pid.exists()
    daemon.write_pid(places.pid, Process(os.getpid(), this_host(), "long ago"))
    assert nacre.process("maintenance", "start").returncode == 0
    assert nacre.process("maintenance", "stop").returncode == 0


def test_a_start_that_fails_says_why(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_MAINTENANCE_EVERY", "decay=often")
    result = nacre.process("maintenance", "start")
    assert result.returncode == 2 and "often" in result.stderr
    assert nacre("--store", ":memory:", "maintenance", "start").exit_code == 2


@pytest.mark.slow
def test_in_the_foreground_ctrl_c_ends_it_in_order(nacre: CommandLine, places: DaemonFiles) -> None:
    process = subprocess.Popen([sys.executable, "-m", "nacre", "maintenance", "run"], stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: daemon.get_pid(places.pid) == process.pid)
        process.send_signal(signal.SIGINT)
        _, result = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, result
    assert "begins" in result and "ends" in result and "Traceback" not in result
    assert not places.pid.exists()
    assert nacre.json("maintenance", "status")["lease"] is None


def wait_until(condition: Callable[[], bool]) -> None:
    wait_for(condition, "what maintenance does")
