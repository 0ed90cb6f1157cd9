"""How long a recall takes on a store of 10,000 memories, beside a plain vector search in the same run."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import quantiles

from nacre import MemoryStore
from texts import memories, questions

STRATEGIES = ("auto", "semantic", "keyword", "rrf", "hybrid")
WARM_UP = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=300)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder) / "speed.db") as store:
        store.remember_many(memories(given.size, seed=1))
        report(measured(store, questions(given.questions + WARM_UP, seed=2)))


def measured(store: MemoryStore, asked: list[str]) -> dict[str, list[float]]:
    """Each question is asked every way in turn, so that a slow moment of the machine meets them all."""
    took: dict[str, list[float]] = {name: [] for name in STRATEGIES}
    for number, question in enumerate(asked):
        for name in STRATEGIES:
            start = time.perf_counter()
            store.recall(question, 5, strategy=name)
            if number >= WARM_UP:
                took[name].append(1000 * (time.perf_counter() - start))
    return took


def report(took: dict[str, list[float]]) -> None:
    plain = percentiles(took["semantic"])
    print("| strategy | p50 ms | p95 ms | p50 against plain vectors | p95 |\n|---|---|---|---|---|")
    for name, values in took.items():
        p50, p95 = percentiles(values)
        print(f"| {name} | {p50:.1f} | {p95:.1f} | {p50 / plain[0]:.2f}x | {p95 / plain[1]:.2f}x |")


def percentiles(values: list[float]) -> tuple[float, float]:
    cuts = quantiles(values, n=20)
    return cuts[9], cuts[18]


if __name__ == "__main__":
    main()
