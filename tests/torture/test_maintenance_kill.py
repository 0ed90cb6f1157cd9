"""A maintenance killed at any moment of any job: nothing is half done, and the next one does nothing twice."""

from __future__ import annotations

import os
import shutil
import time
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random

import pytest

from nacre.lifecycle.scheduler import TickResult
from tests.torture.crowd import PROCESSES, at_once, started
from tests.torture.upkeep import CHORES, copies, fill, opened, tick_until_killed, ticked

SHORT_ROUNDS = 3
LONG_ROUNDS = 40
LONGER = 1.1  # the last moments lie after the end: what is done but not noted is killed too

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL on Windows")


def begun(path: str, job: str) -> tuple[BaseProcess, Connection]:
    parent, child = PROCESSES.Pipe(duplex=False)
    process = started(tick_until_killed, path, job, child)
    child.close()
    parent.recv_bytes()
    return process, parent


def ended(process: BaseProcess, parent: Connection) -> None:
    assert process.is_alive(), "the worker ended by itself: its own error is on stderr"
    process.kill()
    process.join()
    process.close()
    parent.close()


def usual_seconds(path: str, job: str) -> float:
    process, parent = begun(path, job)
    seconds = float(parent.recv_bytes())
    ended(process, parent)
    return seconds


def killed(path: str, job: str, moment: float) -> None:
    process, parent = begun(path, job)
    time.sleep(moment)
    ended(process, parent)


def sizes_of_acts(path: str, name: str) -> list[int]:
    """How many entries each act of this name has in the journal."""
    with opened(path) as store:
        assert store.health(thorough=True).problems == ()
        told = [entry.operation.batch for entry in store.journal(operation=name, limit=None)] if name else []
    return [told.count(batch) for batch in dict.fromkeys(told)]


def check_copies(path: str) -> None:
    for copy in copies(path):
        with opened(path) as store, opened(str(copy)) as again:
            assert list(again.iterate()) == list(store.iterate())
            assert again.health(thorough=True).problems == ()


def check_round(path: str, job: str, moment: float) -> None:
    chore, told = CHORES[job], f"{job} killed after {moment:.4f} s"
    killed(path, job, moment)
    assert sizes_of_acts(path, chore.operation) in ([], [chore.entries] if chore.operation else []), told
    check_copies(path)
    after = ticked(path, job)
    assert not after.held_by and not any(each.error for each in after.results), f"{told}: {after.summary()}"
    assert sizes_of_acts(path, chore.operation) == ([chore.entries] if chore.operation else []), told
    assert ticked(path, job) == TickResult(), told
    assert len(copies(path)) == (1 if job == "backup" else 0), told
    with opened(path) as store:
        assert store.health().pending == 0, told


def check_rounds(folder: Path, job: str, rounds: int) -> None:
    random, filled = Random(job), str(folder / "filled.db")
    fill(filled, job)
    for number in range(rounds + 1):
        place = folder / str(number)
        place.mkdir()
        shutil.copy(filled, place / "s.db")
        if number == 0:
            seconds = usual_seconds(str(place / "s.db"), job)
        else:
            check_round(str(place / "s.db"), job, random.uniform(0, LONGER * seconds))
        shutil.rmtree(place)


@pytest.mark.slow
@pytest.mark.parametrize("job", CHORES)
def test_a_job_killed_at_any_moment_is_done_whole_or_not_and_never_twice(tmp_path: Path, job: str) -> None:
    check_rounds(tmp_path, job, SHORT_ROUNDS)


@pytest.mark.parametrize("job", ["decay", "trash", "backup"])
@pytest.mark.slow
def test_of_several_maintenances_at_once_one_does_the_job_and_the_others_nothing(tmp_path: Path, job: str) -> None:
    path = str(tmp_path / "s.db")
    fill(path, job)
    results = at_once([(ticked, (path, job))] * 4)
    assert [each.error for result in results for each in result.results] == [""]
    assert sizes_of_acts(path, CHORES[job].operation) == ([CHORES[job].entries] if CHORES[job].operation else [])
    assert len(copies(path)) == (1 if job == "backup" else 0)


@pytest.mark.slow
@pytest.mark.parametrize("job", CHORES)
def test_forty_kills_of_each_job_leave_nothing_half_done_and_nothing_done_twice(tmp_path: Path, job: str) -> None:
    check_rounds(tmp_path, job, LONG_ROUNDS)
