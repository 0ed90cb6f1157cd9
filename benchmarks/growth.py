"""How every public operation grows with the store: fills stores of several sizes, times them and writes GROWTH.md.

Each size is measured in a process of its own, cold starts in fresh ones. Times are minima and medians of one run on
whatever machine this is; compare the sizes with each other. A fill is kept, and an interrupted one is continued.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import apsw

from growth_operations import WANTED, Operations, Timed, Wanted
from growth_world import BATCH, SumOfWords, fields_of, fill, id_of, open_store, question, text, time_of
from nacre import MemoryStore
from nacre.errors import SchemaMismatch, StoreBusy
from nacre.protocols import Embedder
from results import machine
from work import peak_bytes

SIZES = (2_000, 20_000, 100_000, 1_000_000)
REPORT = Path(__file__).with_name("GROWTH.md")
SECONDS_PER_OPERATION = 4.0  # after these an operation is not repeated again
COLD_STARTS = 3
MEGABYTE, KIBIBYTE = 1e6, 1024
BETWEEN_WRITES = 0.02  # seconds between two memories of the writer beside an import
IMPORT_FIGURES = (("min", "seconds"), ("p50", "seconds"), ("cpu", "cpu"))  # done once: there is nothing to choose from
CROWD, CROWD_SECONDS = 8, 60
TAGGED = 64  # memories whose tags are weighed
SPREAD = 7_919  # how far apart they are; a prime, so that none comes twice
MOST_IMPORTED = 100_000  # memories: the size that is asked for, and a million take an hour
LEAST_FIGURE = 1.0  # milliseconds: below this a ratio between sizes says nothing

Figures = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="separated by commas")
    parser.add_argument("--embedder", choices=["words", "multilingual"], default="words")
    parser.add_argument(
        "--stores", type=Path, default=Path(tempfile.gettempdir()) / "nacre-growth",
        help="where filled stores are kept, and used again while their schema is this one",
    )  # fmt: skip
    parser.add_argument("--report", type=Path, default=REPORT)
    parser.add_argument("--report-only", action="store_true", help="write the report from the figures of earlier runs")
    parser.add_argument("--only", default="", help="measure only operations whose name contains this")
    parser.add_argument("--task", choices=[*TASKS, *PARTS], help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.task:
        print(json.dumps((TASKS | PARTS)[given.task](given)))
        return
    sizes = [int(size) for size in given.sizes.split(",")]
    given.stores.mkdir(parents=True, exist_ok=True)
    for size in () if given.report_only else sizes:
        figures = measured(given, size)
        kept(given, size).write_text(json.dumps(figures, indent=1))
    if not given.only:
        table = report({size: json.loads(kept(given, size).read_text()) for size in sizes}, given)
        given.report.write_text(table + written_by_hand(given.report))
        print(f"Written to {given.report}.")


def kept(given: argparse.Namespace, size: int) -> Path:
    """Where the figures of a size stay for a later report."""
    return Path(given.stores) / f"figures-{given.embedder}-{size}.json"


def path_of(given: argparse.Namespace, size: int) -> Path:
    return Path(given.stores) / f"{given.embedder}-{size}" / "store.db"


def filled_path(given: argparse.Namespace, size: int) -> Path:
    """What the fill leaves; only copies are measured, because measuring writes."""
    return path_of(given, size).with_name("filled.db")


def embedder_of(given: argparse.Namespace) -> Embedder | str:
    return SumOfWords() if given.embedder == "words" else "multilingual"


def measured(given: argparse.Namespace, size: int) -> Figures:
    """All figures of one size, each task in a process of its own."""
    say(f"{size:,} memories")
    figures: Figures = {"load": os.getloadavg()[0], "machine": machine()}
    for task in TASKS:
        if given.only and task not in ("fill", "warm"):
            continue
        if task == "import" and size > MOST_IMPORTED:
            continue
        say(f"  {task}", end=" ")
        started = time.perf_counter()
        try:
            figures |= run_task(given, task, size)
        except subprocess.CalledProcessError as error:
            figures |= {f"{task}: FAILED with": error.returncode}  # the other figures are not lost for it
        say(f"{time.perf_counter() - started:.0f} s")
    return figures


def run_task(given: argparse.Namespace, task: str, size: int) -> Figures:
    command = [sys.executable, __file__, "--task", task, "--size", str(size)]
    options = ["--stores", str(given.stores), "--embedder", given.embedder, "--only", given.only]
    done = subprocess.run([*command, *options], check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def say(what: str, end: str = "\n") -> None:
    print(what, end=end, file=sys.stderr, flush=True)


# Tasks, each in its own process


def task_fill(given: argparse.Namespace) -> Figures:
    started = time.perf_counter()

    def progress(done: int, total: int, what: str) -> None:
        if done // BATCH % 20 == 0:
            say(f"\r  {what} {done:,} of {total:,} ({time.perf_counter() - started:.0f} s) ", end="")

    filled, measured_one = filled_path(given, given.size), path_of(given, given.size)
    remove_of_other_schema(filled, embedder_of(given))
    added = fill(filled, given.size, embedder_of(given), progress)
    for old in measured_one.parent.glob(f"{measured_one.name}*"):
        old.unlink()
    for part in filled.parent.glob(f"{filled.name}*"):
        shutil.copyfile(part, measured_one.with_name(part.name.replace(filled.name, measured_one.name)))
    if not added:
        return {}
    took = time.perf_counter() - started
    return {"fill: memories per second": added / took, "fill: peak memory, MB": peak_bytes() / MEGABYTE}


def remove_of_other_schema(filled: Path, embedder: Embedder | str) -> None:
    """It cannot be continued; nor can its figures be compared."""
    try:
        if filled.exists():
            MemoryStore(filled, embedder=embedder).close()
    except SchemaMismatch:
        for part in filled.parent.glob(f"{filled.name}*"):
            part.unlink()


def open_filled(given: argparse.Namespace) -> MemoryStore:
    return open_store(path_of(given, given.size), embedder_of(given), time_of(given.size, given.size) + 1)


def task_cold(given: argparse.Namespace) -> Figures:
    """The first recall and the first remember of a process, from opening the store on, with what is imported for it."""
    figures: Figures = {}
    for task, name in (("first_recall", "cold: first recall"), ("first_remember", "cold: first remember")):
        starts = [run_task(given, task, given.size) for _ in range(COLD_STARTS)]
        figures[name] = spread([each["ms"] for each in starts]) | {"cpu": min(each["cpu"] for each in starts)}
    return figures


def first(call: Callable[[MemoryStore], object]) -> Callable[[argparse.Namespace], Figures]:
    def task(given: argparse.Namespace) -> Figures:
        embedder = embedder_of(given)
        started, busy = time.perf_counter(), time.process_time()
        with open_store(path_of(given, given.size), embedder, time_of(given.size, given.size) + 2) as store:
            call(store)
            return {"ms": 1000 * (time.perf_counter() - started), "cpu": 1000 * (time.process_time() - busy)}

    return task


def task_warm(given: argparse.Namespace) -> Figures:
    figures: Figures = {}
    with open_filled(given) as store:
        store.recall(question(1))
        for operation in Operations(store, given.size).all():
            if given.only in operation.name:
                figures[operation.name] = timed(operation)
                if given.only:
                    say(f"\n    {operation.name}: {figures[operation.name]}", end="")
    return figures


def task_memory(given: argparse.Namespace) -> Figures:
    """What a process holds that recalls and remembers, and nothing else."""
    with open_filled(given) as store:
        for number in range(20):
            store.recall(question(number * 31))
            store.remember(text(number, "memory"))
        return {"resident memory, MB": resident() / MEGABYTE, "file, MB": size_of(path_of(given, given.size))}


def task_costs(given: argparse.Namespace) -> Figures:
    """What an operation does, whatever the time it takes: statements, and bytes that it writes to the log."""
    counter = StatementCounter()
    apsw.connection_hooks.append(counter.watch)
    with open_filled(given) as store:
        batch = [{**fields_of(each, given.size), "id": f"s{time.time_ns()}-{each}"} for each in range(BATCH)]
        store.recall(question(5))
        store.remember(text(5, "statement"))
        counts = {
            "statements: recall": counter.during(lambda: store.recall(question(7))),
            "statements: remember": counter.during(lambda: store.remember(text(7, "statements"))),
            "statements: remember_many(256)": counter.during(lambda: store.remember_many(batch)),
        }
        return counts | {
            "WAL of a tag, KiB": tag_bytes(store, given, lambda: "reviewed") / KIBIBYTE,
            "WAL of a tag of two new words, KiB": tag_bytes(store, given, lambda: f"weighed {time.time_ns()}")
            / KIBIBYTE,
        }


def task_import(given: argparse.Namespace) -> Figures:
    """Exports the store, imports it into a fresh one and takes that back, each beside another process that writes."""
    folder = path_of(given, given.size).parent
    with open_filled(given) as store:
        from nacre.transfer.export import export_archive

        started = time.perf_counter()
        count = export_archive(store, folder / "all.nacre").count
        figures: Figures = {"export: us per record": 1e6 * (time.perf_counter() - started) / count}
    copy = folder / "copy.db"
    for leftover in folder.glob("copy.*"):
        leftover.unlink()
    for task, name in (("bring", "import"), ("take_back", "undo of the import")):
        writer = [sys.executable, __file__, "--task", "write_beside", "--size", str(given.size)]
        stop = copy.with_suffix(".stop")
        with suppress(FileNotFoundError):
            stop.unlink()
        with subprocess.Popen(
            [*writer, "--stores", str(given.stores), "--embedder", given.embedder], stdout=subprocess.PIPE, text=True
        ) as beside:
            done = run_task(given, task, given.size)
            stop.touch()
            waits = json.loads(beside.communicate()[0].splitlines()[-1])
        figures |= {
            f"{name}: us per record": {each: 1e6 * done[key] / count for each, key in IMPORT_FIGURES},
            f"{name}: peak memory, MB": done["peak"] / MEGABYTE,
            f"{name}: longest wait of a writer": waits["longest"],
            f"{name}: p50 of a writer": waits["p50"],
            f"{name}: writers refused": waits["refused"],
        }
    return figures


def task_crowd(given: argparse.Namespace) -> Figures:
    """Eight processes that remember and recall on one file without a pause, for a minute."""
    command = [sys.executable, __file__, "--task", "one_of_many", "--size", str(given.size)]
    options = ["--stores", str(given.stores), "--embedder", given.embedder]
    crowd = [subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) for _ in range(CROWD)]
    ended = [(process.communicate()[0], process.returncode) for process in crowd]
    took = [each for out, code in ended if not code for each in json.loads(out.splitlines()[-1])["took"]]
    return {
        "eight processes: p99 of a remember": sorted(took)[int(0.99 * len(took))],
        "eight processes: remembers per second": len(took) / CROWD_SECONDS,
        "eight processes: ended by an error": sum(bool(code) for _, code in ended),
    }


def task_one_of_many(given: argparse.Namespace) -> Figures:
    took: list[float] = []
    with open_filled(given) as store:
        end = time.monotonic() + CROWD_SECONDS
        while time.monotonic() < end:
            started = time.perf_counter()
            store.remember(text(time.time_ns() % 10**12, "crowd"))
            took.append(1000 * (time.perf_counter() - started))
            store.recall(question(len(took)))
    return {"took": took}


def copy_of(given: argparse.Namespace) -> Path:
    return path_of(given, given.size).with_name("copy.db")


def task_bring(given: argparse.Namespace) -> Figures:
    from nacre.transfer.import_archive import import_archive

    with MemoryStore(copy_of(given), space="work", embedder=embedder_of(given)) as store:
        return worked(lambda: import_archive(store, copy_of(given).with_name("all.nacre")))


def task_take_back(given: argparse.Namespace) -> Figures:
    with MemoryStore(copy_of(given), space="work", embedder=embedder_of(given)) as store:
        entry = store.journal(operation="import", limit=1)[0]
        return worked(lambda: store.undo(entry))


def worked(call: Callable[[], object]) -> Figures:
    started, busy = time.perf_counter(), time.process_time()
    call()
    return {
        "seconds": time.perf_counter() - started,
        "cpu": time.process_time() - busy,
        "peak": peak_bytes(),
    }


def task_write_beside(given: argparse.Namespace) -> Figures:
    """Remembers every few milliseconds until told to stop."""
    took: list[float] = []
    refused = 0
    stop = copy_of(given).with_suffix(".stop")
    with MemoryStore(copy_of(given), space="beside", embedder=embedder_of(given)) as store:
        while not stop.exists():
            started = time.perf_counter()
            try:
                store.remember(text(len(took), "beside"), on_conflict="ignore")
            except StoreBusy:
                refused += 1
            took.append(1000 * (time.perf_counter() - started))
            time.sleep(BETWEEN_WRITES)
    return {"longest": max(took, default=0.0), "p50": median(took or [0.0]), "refused": refused}


TASKS: dict[str, Callable[[argparse.Namespace], Figures]] = {
    "fill": task_fill,
    "cold": task_cold,
    "memory": task_memory,
    "costs": task_costs,
    "warm": task_warm,
    "crowd": task_crowd,
    "import": task_import,
}
PARTS: dict[str, Callable[[argparse.Namespace], Figures]] = {
    "first_recall": first(lambda store: store.recall(question(time.time_ns() % 1000))),
    "first_remember": first(lambda store: store.remember(text(time.time_ns() % 10**9, "cold"))),
    "one_of_many": task_one_of_many,
    "bring": task_bring,
    "take_back": task_take_back,
    "write_beside": task_write_beside,
}


# Measuring


def timed(operation: Timed) -> dict[str, float]:
    """In milliseconds; `cpu` is the processor's time, which others on the machine hardly change."""
    took: list[float] = []
    worked: list[float] = []
    started = time.perf_counter()
    for number in range(operation.repeats):
        prepared = operation.prepare(number)
        begun, busy = time.perf_counter(), time.process_time()
        operation.run(prepared)
        took.append(1000 * (time.perf_counter() - begun))
        worked.append(1000 * (time.process_time() - busy))
        if time.perf_counter() - started > SECONDS_PER_OPERATION:
            break
    return spread(took) | {"cpu": min(worked)}


def spread(values: Sequence[float]) -> dict[str, float]:
    return {"min": min(values), "p50": median(values)}


class StatementCounter:
    """Counts the statements of every connection; the repeats of an `executemany` are one."""

    def __init__(self) -> None:
        self.statements: list[str] = []

    def watch(self, connection: apsw.Connection) -> None:
        connection.exec_trace = self.note

    def note(self, _cursor: object, sql: str, _bindings: object) -> bool:
        if not self.statements or self.statements[-1] != sql:
            self.statements.append(sql)
        return True

    def during(self, call: Callable[[], object]) -> int:
        self.statements.clear()
        call()
        if os.environ.get("GROWTH_STATEMENTS"):
            say("\n".join(" ".join(sql.split())[:150] for sql in self.statements) + "\n")
        return len(self.statements)


def tag_bytes(store: MemoryStore, given: argparse.Namespace, tag: Callable[[], str]) -> int:
    """The median over some memories, spread over the store, each into an empty log: now and then a page is divided, and
    a few tags would say little. The first is not counted, because it meets a new name."""
    path = path_of(given, given.size)
    wal = path.with_name(path.name + "-wal")
    written = []
    emptier = apsw.Connection(str(path))
    emptier.pragma("schema_version")  # a connection that has read nothing knows of no log
    numbers = (each * SPREAD % given.size for each in range(TAGGED))
    for memory in store.get_many([id_of(number) for number in numbers]):
        emptier.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        store.tag(memory.id, add=[tag()])
        written.append(wal.stat().st_size)
    emptier.close()
    return int(median(written[1:]))


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def size_of(path: Path) -> float:
    return sum(part.stat().st_size for part in path.parent.glob(path.name + "*") if part.is_file()) / MEGABYTE


# The report


def report(figures: Mapping[int, Figures], given: argparse.Namespace) -> str:
    sizes = list(figures)
    names = list(dict.fromkeys(name for each in figures.values() for name in each if name not in ("load", "machine")))
    rows = [row(name, figures) for name in names]
    head = f"| operation | {' | '.join(f'{size:,}' for size in sizes)} | growth | wanted | |"
    missed = [each for each in rows if "MISSED" in each]
    load = max(each["load"] for each in figures.values())
    return "\n".join([
        "# How cost grows with the number of memories",
        "",
        "Written by `make bench-growth` (benchmarks/growth.py). Milliseconds unless the row says otherwise: the least "
        "of the repeats / the median / the least processor time. `growth` is the exponent of the size between the "
        "first and the last column: 0 is constant, 1 linear. Each store holds so many memories in the measured space, "
        "and a tenth more in two others.",
        "",
        f"{next(iter(figures.values()))['machine']}; embedder: {EMBEDDERS[given.embedder]}; "
        f"load of the machine up to {load:.1f}.",
        "",
        head,
        f"|---|{'---|' * len(sizes)}---|---|---|",
        *rows,
        "",
        f"{len(missed)} of the wanted figures are missed." if missed else "No wanted figure is missed.",
        "",
    ])  # fmt: skip


REASONS = "## Why figures are missed"


def written_by_hand(path: Path) -> str:
    """The reasons, which nothing here can know; they stay when the table is written again."""
    old = path.read_text() if path.exists() else ""
    return f"\n{REASONS}{old.partition(REASONS)[2]}" if REASONS in old else ""


EMBEDDERS = {
    "words": "sums of random word directions, 384 dimensions",
    "multilingual": "the shipped embedder, 576 dimensions",
}


def row(name: str, figures: Mapping[int, Figures]) -> str:
    cells = [cell(each.get(name)) for each in figures.values()]
    wanted = wanted_of(name, figures)
    verdicts = [verdict(name, size, each, figures) for size, each in wanted.items()]
    said = "; ".join(f"{size // 1000}k: {each}" for size, each in wanted.items())
    return f"| {name} | {' | '.join(cells)} | {exponent(name, figures)} | {said} | {' '.join(verdicts)} |"


def wanted_of(name: str, figures: Mapping[int, Figures]) -> dict[int, Wanted]:
    return {size: wanted for size, wanted in WANTED.get(name, {}).items() if name in figures.get(size, {})}


def cell(value: object) -> str:
    if isinstance(value, dict):
        return " / ".join(short(value[each]) for each in ("min", "p50", "cpu") if each in value)
    return "" if value is None else short(float(str(value)))


def short(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def least(value: Any, kind: str = "min") -> float:
    return float(value[kind if kind in value else "min"]) if isinstance(value, dict) else float(value)


def verdict(name: str, size: int, wanted: Wanted, figures: Mapping[int, Figures]) -> str:
    """By the least time; on a busy machine processor time may show that others took it."""
    for kind, said in (("min", "met"), ("cpu", "met by processor time")):
        if least(figures[size][name], kind) <= limit(name, size, wanted, figures, kind):
            return said
    return f"MISSED ({short(least(figures[size][name]))} > {short(limit(name, size, wanted, figures, 'min'))})"


def limit(name: str, size: int, wanted: Wanted, figures: Mapping[int, Figures], kind: str) -> float:
    if wanted.times_smallest:
        return max(LEAST_FIGURE, wanted.times_smallest * least(figures[min(figures)][name], kind))
    if wanted.of:
        return max(LEAST_FIGURE, wanted.times * least(figures[size][wanted.of], kind))
    return wanted.at_most


def exponent(name: str, figures: Mapping[int, Figures]) -> str:
    points = [(size, least(each[name])) for size, each in figures.items() if name in each]
    if len(points) < 2 or points[0][1] <= 0 or points[-1][1] <= 0:
        return ""
    return f"{math.log(points[-1][1] / points[0][1]) / math.log(points[-1][0] / points[0][0]):.2f}"


if __name__ == "__main__":
    main()
