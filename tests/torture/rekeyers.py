"""What the processes of the torture tests of encryption do. Every body takes plain values and opens the store."""

from __future__ import annotations

import time
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from nacre.errors import NotEncrypted, StoreBusy, WrongKey
from nacre.storage.sqlite import Key, SQLiteStore
from nacre.storage.sqlite.rekeying import rekey
from tests.samples import derived, memory, put
from tests.torture.crowd import together

KEYS = (None, Key("5a" * 32), Key("walnut under the snow"), Key("6b" * 32))


def opened(path: str) -> tuple[SQLiteStore, int]:
    """The store and which key it was."""
    for number, key in enumerate(KEYS):
        try:
            return SQLiteStore(Path(path), key), number
        except (WrongKey, NotEncrypted):
            continue
    raise AssertionError("the store opens with none of its keys")


def rekey_until_killed(path: str, before: int, seed: int, acknowledge: Connection) -> None:
    """Says which key it begins with, and then each that the store has got."""
    random = Random(seed)
    acknowledge.send(before)
    while True:
        after = random.choice([number for number in range(len(KEYS)) if number != before])
        rekey(Path(path), KEYS[before], KEYS[after])
        acknowledge.send(after)
        before = after


def rekey_beside_writers(path: str, rounds: int) -> list[str]:
    """Returns a word for every time that the key was changed."""
    changed = list[str]()
    for before, after in pairwise(number % 2 + 1 for number in range(rounds + 1)):
        while True:
            try:
                rekey(Path(path), KEYS[before], KEYS[after])
                break
            except StoreBusy:
                continue
        changed.append(f"{before} to {after}")
        time.sleep(0.01)  # for those who wait: the lock goes to who asks first
    return changed


def write_with_whatever_key(path: str, name: str, seconds: float) -> list[str]:
    """Opens, writes once and closes, again and again; returns the ids of what was acknowledged."""
    kept, end = list[str](), time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            store, _ = opened(path)
        except (StoreBusy, AssertionError):  # or it had each key just when another was tried
            continue
        try:
            id = f"{name}-{len(kept)}"
            put(store, (memory(id), derived(f"word {name}")))
            kept.append(id)
        finally:
            store.close()
        time.sleep(0.005)
    return kept


def create_encrypted(paths: list[str], name: str) -> list[str]:
    """One memory in each store, in step with everyone else who does the same."""
    for path in paths:
        together()
        store = SQLiteStore(Path(path), KEYS[2])
        put(store, (memory(name), derived("word")))
        store.close()
    return [name]
