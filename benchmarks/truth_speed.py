"""How long ties, the past and a scan for conflicts take: two hops over half a million links, 10,000 memories."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
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
        writing(Path(folder) / "writing.db", min(1_000, given.scanned))
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
        print_figure(f"two hops, {count:,} memories, {links:,} links", hops)
        print_figure("memories reached by two hops, median", f"{median(reached):.0f}")
        pairs = zip(asked[:50], asked[50:100], strict=True)
        print_figure("a path between two memories", timed([partial(store.path, one, other) for one, other in pairs]))
        moment = time.time()
        store.edit(ids[0], text="another text")
        print_figure("recall as of a moment ago", timed([partial(store.recall, "note 0", as_of=moment)] * 5))


def writing(file: Path, count: int) -> None:
    """One text kept as it is, and one that is appraised and compared with what stands, in turns."""
    texts = list(memories(count + 2 * HOPS, seed=5))
    plain, compared = texts[count : count + HOPS], texts[count + HOPS :]
    with MemoryStore(file) as store:
        store.remember_many(texts[:count])
        store.remember("to load what is needed")
        works: list[Callable[[], object]] = []
        for one, other in zip(plain, compared, strict=True):
            works.append(partial(store.remember, one, on_conflict="ignore", importance=0.5, valence=None))
            works.append(partial(store.remember, other))
        took = each_timed(works)
        print_figure(f"remember one among {count:,}, as it is", summed_up(took[::2]))
        print_figure(f"remember one among {count:,}, appraised and compared", summed_up(took[1::2]))


def scan(file: Path, count: int) -> None:
    with MemoryStore(file) as store:
        store.remember_many(memories(count, seed=3))
        start = time.perf_counter()
        found = store.find_conflicts()
        print_figure(
            f"scan of {count:,} memories for conflicts", f"{time.perf_counter() - start:.1f} s, {len(found):,} pairs"
        )


def timed(works: Sequence[Callable[[], object]]) -> str:
    return summed_up(each_timed(works))


def each_timed(works: Sequence[Callable[[], object]]) -> list[float]:
    took = []
    for work in works:
        start = time.perf_counter()
        work()
        took.append(1000 * (time.perf_counter() - start))
    return took


def summed_up(took: list[float]) -> str:
    return f"{median(took):.1f} ms median, {sorted(took)[int(0.95 * (len(took) - 1))]:.1f} ms p95"


def print_figure(what: str, figure: str) -> None:
    print(f"| {what} | {figure} |", flush=True)


if __name__ == "__main__":
    main()
