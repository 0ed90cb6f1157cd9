"""What the processes of the torture tests of encryption do. Every body takes plain values and opens the store."""

from __future__ import annotations

import time
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from nacre.errors import NotEncrypted, StoreBusy, WrongKey
from nacre.storage.sqlite import Key, SQLiteBackend
from nacre.storage.sqlite.backup import rekey
from tests.samples import derived, memory, put
from tests.torture.crowd import together

# Raw keys: to derive one from a passphrase takes a fifth of a second, and only the creation below is about that.
KEYS = (None, Key("5a" * 32), Key("7c" * 32), Key("6b" * 32))
PASSPHRASE = Key("walnut under the snow")
TURN_SECONDS = 120.0  # for a writer on a machine whose cores are all busy
PAUSE_SECONDS = 0.005
PAUSES = 4


def opened(path: str) -> tuple[SQLiteBackend, int]:
    """The store and which key it was."""
    for number, key in enumerate(KEYS):
        try:
            return SQLiteBackend(Path(path), key), number
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
    """Returns a word for every time that the key was changed. Between two changes some writer has written: a key is
    changed once in a while, and whoever waits for it then opens the store; back to back, it would be chance."""
    changed = list[str]()
    written = 0
    try:
        for before, after in pairwise(number % 2 + 1 for number in range(rounds + 1)):
            while True:
                try:
                    rekey(Path(path), KEYS[before], KEYS[after])
                    break
                except StoreBusy:
                    continue
            changed.append(f"{before} to {after}")
            written = wait_for_a_write(path, KEYS[after], written)
    finally:
        ended(path).touch()  # also where it fails: the writers would go on for ever
    return changed


def wait_for_a_write(path: str, key: Key | None, before: int) -> int:
    """How many memories there are, once they are more than `before`."""
    deadline = time.monotonic() + TURN_SECONDS
    while time.monotonic() < deadline:
        store = SQLiteBackend(Path(path), key)
        try:
            now = store.health().memories
        finally:
            store.close()
        if now > before:
            return now
        time.sleep(PAUSE_SECONDS)
    raise AssertionError("after a change of key no writer got its turn")


def ended(path: str) -> Path:
    """The file that tells the writers that the last key was changed."""
    return Path(f"{path}.ended")


def write_with_whatever_key(path: str, name: str) -> list[str]:
    """Opens, writes once and closes, again and again until the last change; returns what was acknowledged."""
    kept = list[str]()
    while not (kept and ended(path).exists()):
        begun = time.monotonic()
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
        # Closed four times as long as open, however slow the machine is: so the store is often nobody's for a moment,
        # which a change of key needs, and the writers still come in the middle of it.
        time.sleep(PAUSES * (time.monotonic() - begun))
    return kept


def create_encrypted(paths: list[str], name: str) -> list[str]:
    """One memory in each store, in step with everyone else who does the same."""
    for path in paths:
        together()
        store = SQLiteBackend(Path(path), PASSPHRASE)
        put(store, (memory(name), derived("word")))
        store.close()
    return [name]
