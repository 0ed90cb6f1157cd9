"""Measures Nacre and a memory over Chroma on the same work, in turns, and sets the ratio beside what it must be."""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from results import Row, table, write
from texts import questions
from work import RECALLED

HERE = Path(__file__).parent
NACRE = Path(sys.executable).with_name("nacre")
SIZES = (1_000, 10_000)
SEED_OF_STORES = 1
BUSY = 0.5  # load average; torch computes on all cores and suffers more from company than we do

SPACE = "default"  # where a `MemoryStore` stores; a command would look into the project's

# How many times better Nacre must be; agreed before the models that are shipped now were measured. Chroma does nothing
# like reading the best hits together with the question.
READING, RECALL, REMEMBER, BULK, COLD_RECALL, MEMORY = 1.3, 7.7, 5.0, 2.8, 16.0, 3.0
NOTHING_READ = {"NACRE_RERANK_MS": "0"}


@dataclass(frozen=True, slots=True)
class Plan:
    sizes: tuple[int, ...]
    repeats: int
    single_acts: int  # in each run

    @classmethod
    def from_command_line(cls) -> Plan:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--sizes", type=int, nargs="+", help="memories in the store (default: 1000 10000)")
        parser.add_argument(
            "--quick", action="store_true", help="the smaller size, one run, fewer acts; writes no file"
        )
        given = parser.parse_args()
        sizes = tuple(given.sizes or (SIZES[:1] if given.quick else SIZES))
        return cls(sizes, 1, 20) if given.quick else cls(sizes, 3, 60)


@dataclass(frozen=True, slots=True)
class Both:
    """The same figure of both sides, in the order Nacre, Chroma."""

    nacre: float
    chroma: float


class Stores:
    """A folder for each side."""

    def __init__(self, folder: Path) -> None:
        self.nacre, self.chroma = folder / "nacre", folder / "chroma"

    def emptied(self) -> None:
        for folder in (self.nacre, self.chroma):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)

    def task(self, name: str, count: int, seed: int) -> tuple[dict[str, float], dict[str, float]]:
        return self.ours(name, count, seed), answered("chroma_side.py", name, self.chroma, count, seed)

    def ours(self, name: str, count: int, seed: int, settings: Mapping[str, str] = NOTHING_READ) -> dict[str, float]:
        return answered("nacre_side.py", name, self.nacre, count, seed, settings)


def answered(
    script: str, task: str, folder: Path, count: int, seed: int, settings: Mapping[str, str] | None = None
) -> dict[str, float]:
    said = output(sys.executable, HERE / script, task, folder, count, seed, **(settings or {}))
    figures: dict[str, float] = json.loads(said.splitlines()[-1])
    return figures


def output(*command: object, **settings: str) -> str:
    # An installed package has compiled modules; where a shell forbids to write them, each command would compile ours.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= settings
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    return done.stdout


def measured_at(size: int, plan: Plan, folder: Path) -> Iterator[Row]:
    stores = Stores(folder)
    say(f"{size:,} memories: filling both stores")
    fills = [filled(stores, size) for _ in range(plan.repeats)]
    yield Row("remember many", size, "texts/s", *higher([rate for rate, _ in fills]), BULK)
    yield Row("on disk", size, "MB", *lower([disk for _, disk in fills]))
    say(f"{size:,} memories: recalling")
    recalls = [recalled(stores, plan.single_acts, seed) for seed in range(plan.repeats)]
    ours, theirs = lower([seconds for seconds, _, _ in recalls])
    reading = min(seconds for _, seconds, _ in recalls)
    yield Row(f"recall {RECALLED}, warm, nothing read", size, "ms", ours, theirs, RECALL)
    yield Row(f"recall {RECALLED}, warm, best hits read", size, "ms", reading, theirs, READING)
    yield Row("resident memory, best hits read", size, "MB", *lower([peak for _, _, peak in recalls]), MEMORY)
    say(f"{size:,} memories: starting cold")
    colds = [cold(stores, seed) for seed in range(plan.repeats)]
    ours, theirs = lower([without for without, _ in colds])
    yield Row("recall, cold command line, nothing read", size, "ms", ours, theirs, COLD_RECALL)
    yield Row("recall, cold command line, best hits read", size, "ms", min(each for _, each in colds), theirs)
    say(f"{size:,} memories: remembering one by one")
    singles = [remembered(stores, plan.single_acts, SEED_OF_STORES + 1 + seed) for seed in range(plan.repeats)]
    yield Row("remember one", size, "ms", *lower(singles), REMEMBER)


def filled(stores: Stores, size: int) -> tuple[Both, Both]:
    stores.emptied()
    ours, theirs = stores.task("fill", size, SEED_OF_STORES)
    return of("texts_per_second", ours, theirs), of("disk_bytes", ours, theirs)


def recalled(stores: Stores, count: int, seed: int) -> tuple[Both, float, Both]:
    """Seconds where nothing is read, seconds of ours where the best hits are, and the memory of the latter."""
    ours, theirs = stores.task("recall", count, seed)
    reading = stores.ours("recall", count, seed, {})
    return of("seconds", ours, theirs), reading["seconds"], of("peak_bytes", reading, theirs)


def remembered(stores: Stores, count: int, seed: int) -> Both:
    return of("seconds", *stores.task("remember", count, seed))


def of(figure: str, ours: dict[str, float], theirs: dict[str, float]) -> Both:
    return Both(ours[figure], theirs[figure])


def cold(stores: Stores, seed: int) -> tuple[Both, float]:
    """Where nothing is read, and ours where the best hits are."""
    (question,) = questions(1, 1_000 + seed)
    ours = (NACRE, "--store", stores.nacre / "memory.db", "recall", "--space", SPACE, question)
    theirs = wall(sys.executable, HERE / "chroma_cli.py", stores.chroma, question)
    return Both(wall(*ours, **NOTHING_READ), theirs), wall(*ours)


def wall(*command: object, **settings: str) -> float:
    start = time.perf_counter()
    output(*command, **settings)
    return time.perf_counter() - start


def help_cpu(repeats: int) -> Row:
    return Row("nacre --help, processor time", None, "ms", min(cpu(NACRE, "--help") for _ in range(1 + repeats)))


def cpu(*command: object) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output(*command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def lower(runs: Sequence[Both]) -> tuple[float, float]:
    return min(run.nacre for run in runs), min(run.chroma for run in runs)


def higher(runs: Sequence[Both]) -> tuple[float, float]:
    return max(run.nacre for run in runs), max(run.chroma for run in runs)


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="nacre-bench-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def main() -> None:
    plan, load = Plan.from_command_line(), os.getloadavg()[0]
    if load > BUSY:
        say(f"The machine is busy (load {load:.1f}), which slows the two sides unequally; take no figure from this.")
    with folder() as place:
        rows = [row for size in plan.sizes for row in measured_at(size, plan, place / str(size))]
    rows.append(help_cpu(plan.repeats))
    print(table(rows))
    if plan.repeats > 1:
        write(HERE / "RESULTS.md", rows, date=f"{datetime.now(UTC):%Y-%m-%d}", repeats=plan.repeats, load=load)


if __name__ == "__main__":
    main()
