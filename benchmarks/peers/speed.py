"""How fast each memory is, and what it takes: filling, remembering, recalling, starting, memory and disk."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nacre.bench.metrics import percentile
from peers.client import Worker
from peers.drivers import Item
from peers.environments import Peer, size_of
from texts import memories, questions

FIRST_DAY = 1_700_000_000.0  # any fixed time: the texts get one a minute from here
MINUTE = 60.0
RECALLED = 5
WARM_UP = 3
BATCH = 500
SEED_OF_STORES = 1
TIMED_FILL = 1_000


def items(count: int, seed: int, name: str = "m") -> list[Item]:
    texts = memories(count, seed)
    return [Item(f"{name}{number}", text, FIRST_DAY + MINUTE * number) for number, text in enumerate(texts)]


def fill(peer: Peer, folder: Path, size: int) -> dict[str, Any]:
    """Fills the store in batches. Only a small store is filled as the memory does it by default, and timed: a large
    one would take hours in some. The memory is loaded by a few questions before anything is timed."""
    seconds, timed = 0.0, size <= TIMED_FILL
    texts = items(size, SEED_OF_STORES)
    with Worker(peer, folder) as worker:
        if not timed:
            worker.ask("lean")
        warm_up(worker)
        for start in range(0, size, BATCH):
            seconds += worker.add_many(texts[start : start + BATCH])["seconds"]
    return {**({"texts_per_second": size / seconds} if timed else {}), "disk_bytes": size_of(folder)}


def recall(peer: Peer, folder: Path, count: int, seed: int) -> dict[str, Any]:
    with Worker(peer, folder) as worker:
        warm_up(worker)
        took = [worker.search(question, RECALLED)["seconds"] for question in questions(count, seed)]
        return {**percentiles(took), "resident_bytes": worker.resident_bytes()}


def remember(peer: Peer, folder: Path, count: int, seed: int) -> dict[str, Any]:
    with Worker(peer, folder) as worker:
        warm_up(worker)
        return percentiles([worker.add(item)["seconds"] for item in items(count, seed, f"r{seed}-")])


def cold(peer: Peer, folder: Path, seed: int) -> dict[str, Any]:
    """From the start of a process to its first answer."""
    (question,) = questions(1, 1_000 + seed)
    start = time.perf_counter()
    worker = Worker(peer, folder)
    with worker:
        worker.search(question, RECALLED)
        return {"seconds": time.perf_counter() - start}


def warm_up(worker: Worker) -> None:
    for question in questions(WARM_UP, -1):
        worker.search(question, RECALLED)


def percentiles(took: Sequence[float]) -> dict[str, Any]:
    ranked = sorted(1000 * seconds for seconds in took)
    return {"p50_ms": percentile(ranked, 50), "p95_ms": percentile(ranked, 95)}


def best(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The least of each figure, the most of a rate: company on the machine only ever adds time."""
    return {name: (max if name == "texts_per_second" else min)(run[name] for run in runs) for name in runs[0]}


def load() -> float:
    return round(os.getloadavg()[0], 1)
