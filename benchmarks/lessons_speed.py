"""How long it takes to find a lesson among 10,000: with filters and without, in one run."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import quantiles

import numpy as np

from nacre import MemoryStore
from nacre.factory import embedder_from
from nacre.lessons import LessonBook
from nacre.lessons.recall import LessonFilters
from nacre.model.levels import LEVELS, NAMES
from nacre.model.memory import LESSON
from nacre.protocols import Embedder, Vectors
from nacre.settings import settings
from texts import memories, questions

AREAS = ("api", "db", "build", "ui", "security", "network")
TOPICS = ("auth", "cache", "limits", "errors", "tests", "deploy")
PLACES = ("team", "team.shared", "team.shared.branch", "solo", "night", "office")
SOURCES = ("tested", "tested.unit", "documented", "observed", "inferred", "hearsay")
ALIASES = 300  # more than most books will ever be taught
WARM_UP = 10
PLAIN = "no filter"
WAYS: dict[str, LessonFilters] = {
    PLAIN: {},
    "tag and confidence": {"tags": ["api"], "confidence_min": "medium"},
    "tag, confidence, context": {"tags": ["api"], "confidence_min": "medium", "contexts": ["team.shared"]},
    "two tags, all of": {"tags": ["api", "db"], "match": "all"},
    "a tag nobody knows": {"tags": ["apj"]},
}
CLOCKS = {"on the wall": time.perf_counter, "of one processor": time.thread_time}  # others may use the machine as well
Times = dict[str, dict[str, tuple[float, float]]]  # p50 and p95 in milliseconds, by clock and way


class SeenBefore:
    """An embedder that knows every question already, so that what is measured is the search alone."""

    def __init__(self, embedder: Embedder, asked: Sequence[str]) -> None:
        self.identity, self.dimensions, self.token_limit = embedder.identity, embedder.dimensions, embedder.token_limit
        self.ready = True
        self._embedder = embedder
        self._rows = dict(zip(asked, embedder.embed(asked), strict=True))

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._embedder.count_tokens(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._rows[text] for text in texts])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--embedder", default="multilingual")
    given = parser.parse_args()
    asked = questions(given.questions + WARM_UP, seed=2)
    embedder = embedder_from(given.embedder, settings())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lessons.db"
        with MemoryStore(path, embedder=embedder) as store:
            fill(store, given.size)
            report("embedding included", [measured(LessonBook(store=store), asked) for _ in range(given.repeats)])
        with MemoryStore(path, embedder=SeenBefore(embedder, asked)) as store:
            report("search alone", [measured(LessonBook(store=store), asked) for _ in range(given.repeats)])


def fill(store: MemoryStore, size: int) -> None:
    random = Random("lessons")
    store.register_type(LESSON)
    store.remember_many(
        {
            "text": text, "title": text.split(",")[0][:60], "type": LESSON,
            "tags": sorted({f"{random.choice(AREAS)}.{random.choice(TOPICS)}" for _ in range(2)}),
            "contexts": random.sample(PLACES, random.randint(0, 2)),
            "anti_contexts": random.sample(PLACES, random.randint(0, 1)),
            "confidence": LEVELS[random.choice(NAMES)].value, "source": random.choice(SOURCES),
        }
        for text in memories(size, seed=1)
    )  # fmt: skip
    names = [f"{area}.{topic}" for area in AREAS for topic in TOPICS]
    aliases = {f"other-{number}": {"alias_of": names[number % len(names)]} for number in range(ALIASES)}
    store.write("teach", terms={("tag", name): lambda _, data=data: data for name, data in aliases.items()})  # type: ignore[misc]


def measured(book: LessonBook, asked: list[str]) -> Times:
    """Each question is asked every way in turn, so that a slow moment of the machine meets them all."""
    took: dict[str, dict[str, list[float]]] = {clock: {name: [] for name in WAYS} for clock in CLOCKS}
    for number, question in enumerate(asked):
        for name, narrowing in WAYS.items():
            starts = {clock: read() for clock, read in CLOCKS.items()}
            book.recall(question, **narrowing)
            for clock, read in CLOCKS.items():
                if number >= WARM_UP:
                    took[clock][name].append(1000 * (read() - starts[clock]))
    return {clock: {name: percentiles(each) for name, each in ways.items()} for clock, ways in took.items()}


def percentiles(values: list[float]) -> tuple[float, float]:
    cuts = quantiles(values, n=20)
    return cuts[9], cuts[18]


def report(what: str, repeats: list[Times]) -> None:
    """The best of the repeats: what else runs on the machine only ever adds."""
    for clock in CLOCKS:
        best = {name: tuple(min(each[clock][name][at] for each in repeats) for at in (0, 1)) for name in WAYS}
        print(f"\n{what}, milliseconds {clock}, least of {len(repeats)} repeats\n")
        print("| filters | p50 | p95 | p50 against none | p95 |\n|---|---|---|---|---|")
        for name, (p50, p95) in best.items():
            print(f"| {name} | {p50:.1f} | {p95:.1f} | {p50 / best[PLAIN][0]:.2f}x | {p95 / best[PLAIN][1]:.2f}x |")


if __name__ == "__main__":
    main()
