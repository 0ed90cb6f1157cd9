"""How long ties, the past and a scan for conflicts take: two hops over half a million links, 10,000 memories."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from statistics import median

from nacre import Link, MemoryStore
from texts import memories

HOPS = 200  # walks that are timed
PLAIN = "hashing"  # ties need no meaning; a quick embedder fills the store in a tenth of the time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--links", type=int, default=500_000)
    parser.add_argument("--scanned", type=int, default=10_000)
    given = parser.parse_args()
    print("| what | figure |\n|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        ties(Path(folder) / "ties.db", given.memories, given.links)
        scan(Path(folder) / "scan.db", given.scanned)


def ties(file: Path, count: int, links: int) -> None:
    chance = Random(4)
    ids = [f"m{number}" for number in range(count)]
    each = links // count
    texts = (f"note {number} of the store" for number in range(count))
    drafts = [
        {"id": id, "text": text, "links": [Link(other) for other in chance.sample(ids, each) if other != id]}
        for id, text in zip(ids, texts, strict=True)
    ]
    with MemoryStore(file, embedder=PLAIN) as store:
        store.remember_many(drafts)
        asked = [chance.choice(ids) for _ in range(HOPS)]
        reached = [len(store.neighbors(id, depth=2)) for id in asked]  # warm
        hops = timed([partial(store.neighbors, id, depth=2) for id in asked])
        told(f"two hops, {count:,} memories, {links:,} links", hops)
        told("memories reached by two hops, median", f"{median(reached):.0f}")
        pairs = zip(asked[:50], asked[50:100], strict=True)
        told("a path between two memories", timed([partial(store.path, one, other) for one, other in pairs]))
        moment = time.time()
        store.edit(ids[0], text="another text")
        told("recall as of a moment ago", timed([partial(store.recall, "note 0", as_of=moment)] * 5))


def scan(file: Path, count: int) -> None:
    with MemoryStore(file) as store:
        store.remember_many(memories(count, seed=3))
        start = time.perf_counter()
        found = store.find_conflicts()
        told(f"scan of {count:,} memories for conflicts", f"{time.perf_counter() - start:.1f} s, {len(found):,} pairs")


def timed(works: list[Callable[[], object]]) -> str:
    took = []
    for work in works:
        start = time.perf_counter()
        work()
        took.append(1000 * (time.perf_counter() - start))
    took.sort()
    return f"{median(took):.1f} ms median, {took[int(0.95 * (len(took) - 1))]:.1f} ms p95"


def told(what: str, figure: str) -> None:
    print(f"| {what} | {figure} |", flush=True)


if __name__ == "__main__":
    main()
