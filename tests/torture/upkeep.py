"""Stores that each job of the maintenance has something to do in, and the process that does it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from nacre import MemoryStore
from nacre.lifecycle.scheduler import MaintenanceScheduler, TickResult
from nacre.protocols import EmbedderBound, EmbedderIdentity
from nacre.settings import Settings
from tests.torture.acts import WORDS
from tests.torture.workers import EMBEDDER

DAY = 86_400.0
LONG_AGO = time.time() - 500 * DAY
MANY = 250
GROUPS, GROUP = 12, 4


@dataclass(frozen=True, slots=True)
class Chore:
    """`act` is the name of its act, and `entries` how many the journal tells of it; both empty where it is none."""

    prepare: Callable[[MemoryStore], None]
    operation: str = ""
    entries: int = 0


def opened(path: str, at: float | None = None) -> MemoryStore:
    clock = time.time if at is None else lambda: at
    return MemoryStore(path, embedder=EMBEDDER, clock=clock, on_conflict="ignore")


def remember_old(store: MemoryStore, **fields: object) -> None:
    old = {"created_at": LONG_AGO, "last_accessed": LONG_AGO, "importance": 0.2, **fields}
    store.remember_many([{"text": f"{WORDS[i % 25]} {WORDS[i % 24]} note {i}", **old} for i in range(MANY)])


def remember_worthy(store: MemoryStore) -> None:
    """As many as a consolidation takes at once, each alone in what it says."""
    felt = {"valence": 1.0, "arousal": 1.0, "access_count": 10, "created_at": time.time() - DAY}
    store.remember_many([{"text": " ".join(f"{word}{i}" for word in WORDS[:6]), **felt} for i in range(50)])


def remember_episodes(store: MemoryStore) -> None:
    texts = [" ".join(f"{word}{group}" for word in WORDS[:8]) for group in range(GROUPS) for _ in range(GROUP)]
    store.remember_many([{"text": text, "type": "episodic"} for text in texts])


def forget_long_ago(store: MemoryStore) -> None:
    remember_old(store)
    store.forget(*(memory.id for memory in store.iterate()))


def forget_vectors(store: MemoryStore) -> None:
    remember_old(store)
    bound = EmbedderIdentity(store.embedder.identity, store.embedder.dimensions)
    store.acting_as("test").store.commit([EmbedderBound(bound, anew=True)])


CHORES: Mapping[str, Chore] = {
    "decay": Chore(remember_old, "decay", MANY),
    "reflect": Chore(remember_episodes, "reflect", GROUPS * (1 + GROUP)),
    "consolidate": Chore(remember_worthy, "consolidate", 50),
    "retain": Chore(lambda store: remember_old(store, expires_at=LONG_AGO + DAY), "retain", MANY),
    "trash": Chore(forget_long_ago, "purge", MANY),
    "compact": Chore(remember_old, "compact", 1),
    "backup": Chore(remember_old),
    "reindex": Chore(forget_vectors),
}
AT = {"trash": LONG_AGO, "compact": LONG_AGO, "backup": LONG_AGO}  # when it was done; the others are filled now


def fill(path: str, job: str) -> None:
    with opened(path, AT.get(job)) as store:
        CHORES[job].prepare(store)


def ticked(path: str, job: str) -> TickResult:
    with opened(path) as store:
        return scheduler_for(store, path, job).tick()


def scheduler_for(store: MemoryStore, path: str, job: str) -> MaintenanceScheduler:
    settings = Settings(store=path, reflect_apply=True, journal_days=30)
    scheduler = MaintenanceScheduler(store, settings)
    scheduler.every = {job: DAY}
    return scheduler


def tick_until_killed(path: str, job: str, telling: Connection) -> None:
    """Says when it begins, and when it is done if it lives so long."""
    import numpy  # noqa: F401 - what is imported before the start cannot be interrupted by the end

    scheduler = scheduler_for(opened(path), path, job)
    telling.send_bytes(b"!")
    started = time.perf_counter()
    scheduler.tick()
    telling.send_bytes(str(time.perf_counter() - started).encode())
    time.sleep(60)


def copies(path: str) -> list[Path]:
    return sorted((Path(path).parent / "backups" / "automatic").glob("*.db"))
