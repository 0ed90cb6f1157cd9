"""How long it takes to find the groups among 20,000 episodes, and how much memory."""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from nacre import MemoryStore
from nacre.lifecycle.clustering import by_seed
from nacre.lifecycle.reflection import ReflectionEngine
from nacre.protocols import Vectors

DIMENSIONS = 384
THRESHOLD = 0.75
TOGETHER = 10  # episodes that speak of one thing
NOISE = 0.4  # length of what each adds to its group's direction: their cosines lie around 0.86


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=20_000)
    given = parser.parse_args()
    print("| what | seconds | peak memory | found |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "episodes.db")
        alone(f"by_seed, groups of {TOGETHER}", seeded, given.memories, TOGETHER)
        alone("by_seed, nobody alike", seeded, given.memories, 1)
        alone("remembering them", fill, given.memories, file)
        alone("ReflectionEngine.clusters", grouped, given.memories, file)
        alone("ReflectionEngine.clusters, one new episode", grouped_since, given.memories, file)
        alone("ReflectionEngine.reflect(consolidate=True)", reflected, given.memories, file)


def alone(what: str, work: Callable[..., tuple[float, int]], *args: object) -> None:
    """In a process of its own, whose greatest size is then the work's."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        seconds, peak, found = pool.submit(measured, work, *args).result()
    print(f"| {what} | {seconds:.1f} | {peak / 2**20:.0f} MiB | {found:,} |", flush=True)


def measured(work: Callable[..., tuple[float, int]], *args: object) -> tuple[float, float, int]:
    seconds, found = work(*args)
    unit = 1 if sys.platform == "darwin" else 1024
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit, found


def seeded(count: int, together: int) -> tuple[float, int]:
    vectors = directions(count, together)
    start = time.perf_counter()
    groups = by_seed(vectors, THRESHOLD)
    return time.perf_counter() - start, len(groups)


def fill(count: int, file: str) -> tuple[float, int]:
    start = time.perf_counter()
    with opened(file) as store:
        kept = store.remember_many({"text": f"{number} was an episode", "type": "episodic"} for number in range(count))
    return time.perf_counter() - start, len(kept)


def grouped(_: int, file: str) -> tuple[float, int]:
    with opened(file) as store:
        start = time.perf_counter()
        groups = ReflectionEngine(store, THRESHOLD).clusters()
        return time.perf_counter() - start, len(groups)


def grouped_since(count: int, file: str) -> tuple[float, int]:
    with opened(file) as store:
        store.remember(f"{count} was an episode", type="episodic", on_conflict="ignore")
        start = time.perf_counter()
        groups = ReflectionEngine(store, THRESHOLD).clusters()
        return time.perf_counter() - start, len(groups)


def reflected(_: int, file: str) -> tuple[float, int]:
    with opened(file) as store:
        start = time.perf_counter()
        kept = ReflectionEngine(store, THRESHOLD).reflect(consolidate=True)
        return time.perf_counter() - start, len(kept)


def opened(file: str) -> MemoryStore:
    return MemoryStore(file, embedder=Grouped(), on_conflict="ignore")


def directions(count: int, together: int) -> Vectors:
    """Each number's own, near that of the others of its group; the groups are dealt out like cards."""
    groups = max(1, count // together) if together > 1 else 0
    return np.stack([direction(number, groups) for number in range(count)])


def direction(number: int, groups: int) -> Vectors:
    own = unit(number)
    return own if not groups else normal(unit(10_000_000 + number % groups) + np.float32(NOISE) * own)


def unit(seed: int) -> Vectors:
    return normal(np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32))


def normal(row: Vectors) -> Vectors:
    found: Vectors = row / np.float32(np.linalg.norm(row))
    return found


class Grouped:
    """Reads the number that a text begins with; other texts stand by themselves."""

    identity = "grouped-384"
    dimensions = DIMENSIONS
    token_limit = 10_000
    ready = True
    groups = 2_000

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        heads = [text.partition(" ")[0] for text in texts]
        rows = [direction(int(head), self.groups) if head.isdigit() else unit(len(head)) for head in heads]
        return np.stack(rows) if rows else np.zeros((0, DIMENSIONS), np.float32)


if __name__ == "__main__":
    main()
