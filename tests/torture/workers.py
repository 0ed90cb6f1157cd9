"""What the processes of the torture tests do. Every body takes plain values and opens the store itself."""

from __future__ import annotations

import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from random import Random

from nacre import MemoryStore
from tests.torture import acts
from tests.torture.crowd import together

EMBEDDER = "hashing"  # no model: these tests are about the file, and must run anywhere
PAUSE_SECONDS = 0.01  # between two acts of a process: leaves a minute's work in a size that can be verified one by one
BATCH = 7

Kept = tuple[str, str]  # id and text


def opened(path: str) -> MemoryStore:
    return MemoryStore(path, embedder=EMBEDDER)


def write_and_recall(path: str, seed: int, seconds: float) -> list[Kept]:
    """Remembers singly and in batches, and recalls what it kept before; returns all that was acknowledged."""
    random, kept = Random(seed), list[Kept]()
    end = time.monotonic() + seconds
    with opened(path) as store:
        while time.monotonic() < end:
            fresh = [acts.written(acts.new_id(random), random) for _ in range(random.choice((1, 1, 1, BATCH)))]
            made = [store.remember(fresh[0])] if len(fresh) == 1 else store.remember_many(fresh)
            kept += [(memory.id, memory.text) for memory in made]
            id, text = random.choice(kept)
            assert id in [hit.memory.id for hit in store.recall(text, 3)], f"{id} was acknowledged and is not recalled"
            time.sleep(PAUSE_SECONDS)
    return kept


def missing(path: str, kept: Sequence[Kept]) -> list[str]:
    """Ids that are not the first answer to their own unique word, or to their own exact text."""
    with opened(path) as store:
        return [
            id
            for id, text in kept
            if [id] != first(store, text.split()[0], "keyword") or [id] != first(store, text, "semantic")
        ]


def first(store: MemoryStore, query: str, strategy: str) -> list[str]:
    return [hit.memory.id for hit in store.recall(query, 1, strategy=strategy, touch=False)]


def create(paths: Sequence[str]) -> list[Kept]:
    """One memory in each store, in step with everyone else who does the same."""
    random, kept = Random(), list[Kept]()
    for path in paths:
        together()
        with opened(path) as store:
            memory = store.remember(acts.written(acts.new_id(random), random))
            kept.append((memory.id, memory.text))
    return kept


def act_until_killed(path: str, seed: int, acknowledge: Connection) -> None:
    """Says once that it is about to open the store, and then once for every act that has returned."""
    acknowledge.send_bytes(b"!")
    store = opened(path)
    for step, _ in acts.steps(acts.observed(store), Random(seed)):
        acts.perform(store, step)
        acknowledge.send_bytes(b"!")


def hold_write_lock(path: str, holding: Connection) -> None:
    """Begins a transaction, says so, and ends it without a trace when it is told to."""
    import apsw

    connection = apsw.Connection(path)
    connection.execute("BEGIN IMMEDIATE")
    holding.send_bytes(b"held")
    holding.recv_bytes()
    connection.execute("ROLLBACK")
    connection.close()
