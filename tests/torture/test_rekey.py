"""A store whose key is changed: killed at any moment, beside writers, and created by many at once."""

from __future__ import annotations

import os
import time
from pathlib import Path
from random import Random

import pytest

from nacre.storage.sqlite import SQLiteBackend
from tests.samples import SPACE, derived, ids, listed, memory, put
from tests.torture.crowd import PROCESSES, Call, at_once, started
from tests.torture.rekeyers import (
    KEYS,
    PASSPHRASE,
    create_encrypted,
    opened,
    rekey_beside_writers,
    rekey_until_killed,
    write_with_whatever_key,
)

SHORT_ROUNDS = 15
LONG_ROUNDS = 200
TEXTS = 1500
LETTERS = 2000  # in a text: some megabytes in all, so that a copy takes tens of milliseconds to be killed in
MOST_CHANGES = 2
LONGEST_MOMENT = 0.12  # seconds; a change takes some 0.08 here
WRITERS = 3

needs_kill = pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL on Windows")


def killed_while_rekeying(path: str, before: int, seed: int, changes: int, moment: float) -> set[int]:
    """The keys that the store may have: the last one acknowledged, or the one that was under way."""
    parent, child = PROCESSES.Pipe(duplex=False)
    process = started(rekey_until_killed, path, before, seed, child)
    child.close()
    told = 1 + changes
    for _ in range(told):
        parent.recv()
    time.sleep(moment)
    assert process.is_alive(), "the worker ended by itself: its own error is on stderr"
    process.kill()
    process.join()
    process.close()
    while True:
        try:
            parent.recv()
        except EOFError:
            parent.close()
            return set(succession(before, seed, told + 1)[-2:])
        told += 1


def succession(first: int, seed: int, length: int) -> list[int]:
    """The keys as the process chooses them."""
    random, keys = Random(seed), [first]
    while len(keys) < length:
        keys.append(random.choice([number for number in range(len(KEYS)) if number != keys[-1]]))
    return keys


def check_rounds(folder: Path, rounds: int) -> set[int]:
    path, random, key, seen = str(folder / "s.db"), Random(rounds), 0, set[int]()
    store = SQLiteBackend(Path(path))
    put(store, *((memory(f"m{number}", "x" * LETTERS), derived("word")) for number in range(TEXTS)))
    everything = listed(store, SPACE)
    store.close()
    for number in range(rounds):
        changes, moment = random.randint(0, MOST_CHANGES), random.uniform(0, LONGEST_MOMENT)
        expected = killed_while_rekeying(path, key, number, changes, moment)
        store, key = opened(path)
        assert key in expected, f"round {number}"
        assert listed(store, SPACE) == everything, f"round {number}"
        assert store.health(thorough=True).problems == (), f"round {number}"
        store.close()
        assert b"SQLite format" not in (b"" if key == 0 else Path(path).read_bytes())
        seen.add(key)
    return seen


@pytest.mark.slow
@needs_kill
def test_a_change_of_key_killed_at_any_moment_leaves_the_whole_store_with_one_of_the_keys(tmp_path: Path) -> None:
    assert len(check_rounds(tmp_path, SHORT_ROUNDS)) > 1


@needs_kill
@pytest.mark.slow
def test_two_hundred_kills_leave_the_whole_store_with_one_of_the_keys(tmp_path: Path) -> None:
    assert check_rounds(tmp_path, LONG_ROUNDS) == set(range(len(KEYS)))


def check_writers(folder: Path, changes: int) -> None:
    path = str(folder / "s.db")
    SQLiteBackend(Path(path), KEYS[1]).close()
    calls: list[Call[list[str]]] = [(rekey_beside_writers, (path, changes))]
    calls += [(write_with_whatever_key, (path, f"w{number}")) for number in range(WRITERS)]
    changed, *kept = at_once(calls)
    store, _ = opened(path)
    assert set(ids(listed(store, SPACE))) == {id for each in kept for id in each}
    assert len(changed) == changes and all(kept)
    assert store.health(thorough=True).problems == ()
    store.close()


@pytest.mark.slow
def test_no_write_is_lost_while_the_key_changes_under_the_writers(tmp_path: Path) -> None:
    check_writers(tmp_path, 10)


@pytest.mark.slow
def test_no_write_is_lost_in_two_hundred_changes_of_the_key(tmp_path: Path) -> None:
    check_writers(tmp_path, 200)


@pytest.mark.slow
def test_processes_that_create_a_store_with_a_passphrase_at_once_agree_on_its_salt(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{number}.db") for number in range(8)]
    made = at_once([(create_encrypted, (paths, f"p{number}")) for number in range(4)])
    for path in paths:
        store = SQLiteBackend(Path(path), PASSPHRASE)
        assert sorted(ids(listed(store, SPACE))) == [name for (name,) in made]
        store.close()
