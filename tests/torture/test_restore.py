"""A store that copies are put in the place of: killed at any moment, and beside writers."""

from __future__ import annotations

import os
import time
from pathlib import Path
from random import Random

import pytest

from nacre.storage.sqlite import SQLiteBackend
from tests.samples import SPACE, derived, listed, memory, put
from tests.torture.crowd import PROCESSES, Call, at_once, started
from tests.torture.restorers import restore_beside_writers, restore_until_killed, write_and_leave

SHORT_ROUNDS, LONG_ROUNDS = 8, 200
SHORT_SECONDS, LONG_SECONDS = 2.0, 30.0
TEXTS, LETTERS = 800, 2000  # some megabytes, so that a copy takes tens of milliseconds to be killed in
LONGEST_MOMENT = 0.15
WRITERS = 3

needs_kill = pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL on Windows")


def made(path: Path, letter: str) -> Path:
    store = SQLiteBackend(path)
    put(store, *((memory(f"{letter}{number}", letter * LETTERS), derived("word")) for number in range(TEXTS)))
    store.close()
    return path


def held(path: Path) -> set[str]:
    store = SQLiteBackend(path)
    try:
        assert store.health(thorough=True).problems == ()
        return {each.id for each in listed(store, SPACE)}
    finally:
        store.close()


def check_kills(folder: Path, rounds: int) -> None:
    store, copies = made(folder / "s.db", "a"), [made(folder / f"{letter}.db", letter) for letter in "ab"]
    wholes, random = [held(copy) for copy in copies], Random(rounds)
    for number in range(rounds):
        parent, child = PROCESSES.Pipe(duplex=False)
        process = started(restore_until_killed, str(store), list(map(str, copies)), child)
        child.close()
        parent.recv()
        time.sleep(random.uniform(0, LONGEST_MOMENT))
        process.kill()
        process.join()
        assert held(store) in wholes, f"round {number}"
        for kept in folder.glob("s.db-kept-*[0-9]"):
            assert held(kept) in wholes, f"round {number}"
            kept.unlink()


def check_writers(folder: Path, seconds: float, rounds: int) -> None:
    store, copy = folder / "s.db", made(folder / "copy.db", "c")
    SQLiteBackend(store).close()
    calls: list[Call[list[str]]] = [(restore_beside_writers, (str(store), str(copy), rounds))]
    calls += [(write_and_leave, (str(store), f"w{number}", seconds)) for number in range(WRITERS)]
    kept, *written = at_once(calls)
    found = set().union(held(store), *(held(Path(file)) for file in kept))
    lost = {id for ids in written for id in ids} - found
    assert not lost and any(written)


@pytest.mark.slow
@needs_kill
def test_wherever_it_is_killed_the_store_is_the_one_or_the_other(tmp_path: Path) -> None:
    check_kills(tmp_path, SHORT_ROUNDS)


@pytest.mark.slow
def test_no_write_that_was_acknowledged_is_lost_beside_restores(tmp_path: Path) -> None:
    check_writers(tmp_path, SHORT_SECONDS, SHORT_ROUNDS)


@needs_kill
@pytest.mark.slow
def test_wherever_it_is_killed_the_store_is_the_one_or_the_other_for_long(tmp_path: Path) -> None:
    check_kills(tmp_path, LONG_ROUNDS)


@pytest.mark.slow
def test_no_write_that_was_acknowledged_is_lost_beside_restores_for_long(tmp_path: Path) -> None:
    check_writers(tmp_path, LONG_SECONDS, LONG_ROUNDS)
