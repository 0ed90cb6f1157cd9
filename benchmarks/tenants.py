"""Many spaces and many clients on one server, over PostgreSQL and over one SQLite file: benchmarks/TENANTS.md.

2,000 spaces of 1,000 memories and one of 200,000 (`--scale` makes them fewer) behind `nacre serve`, as a team runs it.
64 clients ask without a pause: spaces by Zipf's law, the large one most often; four recalls to each remember. The
embedder is hashing and no model judges or reranks, so that the store is measured and not a model.

The large space and the first small one are stored as a user stores them. The others are copies of the rows of the
first, with other ids and with their own mark in every text; their vectors are those of the first. PostgreSQL copies
them itself, table by table, while another process stores the large space. All spaces have the same words, so that only
the space keeps a question from the memories of another one.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from pathlib import Path
from statistics import quantiles
from typing import Any

import numpy as np

from growth_world import question, text
from nacre import MemoryStore
from nacre.protocols import ALL, Backend, EntryRow, MemoryRow, RowBatch, RowTransfer, SpaceRow, VersionRow
from nacre.server.users import Registry
from nacre.settings import Settings
from nacre.storage.tables import RECORD
from postgres import database, process_seconds, server_seconds
from results import machine

REPORT = Path(__file__).with_name("TENANTS.md")
SPACES, EACH, LARGE = 2_000, 1_000, 200_000
CLIENTS, SECONDS = 64, 180.0
REMEMBERS = 0.2  # of the calls
BATCH = 256
MARK = re.compile(r"\bmark(\d{5})\b")
SAMPLED, NEAREST = 100, 10  # questions that are compared with an exact search, and how many memories of each
EXACT = 2e-3  # cosines of 16 bits that are nearer than this are the same
READ_AT_ONCE = 2_000
COPIED_TOGETHER, COPIERS = 5, 2  # spaces, and how many connections do that
WANTED_RECALL, WANTED_SPREAD = 0.99, 10.0
ANSWER_SECONDS = 120.0
STORES = ("PostgreSQL", "SQLite")
SETTINGS = {"EMBEDDER": "hashing", "CONFLICT_JUDGE": "rules", "RERANK_MS": "0"}


@dataclass(frozen=True, slots=True)
class Sizes:
    spaces: int
    each: int
    large: int

    @property
    def memories(self) -> int:
        return self.spaces * self.each + self.large


@dataclass(slots=True)
class Measured:
    """Seconds of every call, and what went wrong."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {"recall": [], "remember": []})
    errors: Counter[str] = field(default_factory=Counter)
    foreign: int = 0  # memories of another space that were returned
    returned: int = 0
    taken: float = 0.0  # seconds in all
    recall: float = 0.0  # against an exact search
    filled: tuple[int, float] = (0, 0.0)  # memories, and seconds
    load: float = 0.0
    used: float = 0.0  # seconds of processor time of the servers
    used_there: float = 0.0  # ... and of the database


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of spaces and of the large one")
    parser.add_argument("--each", type=int, default=EACH, help="memories of a small space")
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--servers", type=int, default=1, help="instances of `nacre serve` over the store")
    parser.add_argument("--stores", nargs="+", choices=STORES, default=list(STORES))
    parser.add_argument("--server", default="", help="a PostgreSQL server that runs already, with its superuser")
    parser.add_argument("--report", type=Path, default=REPORT)
    given = parser.parse_args()
    sizes = Sizes(max(1, round(SPACES * given.scale)), given.each, max(1, round(LARGE * given.scale)))
    results: dict[str, Measured] = {}
    with tempfile.TemporaryDirectory() as folder:
        for store in given.stores:
            with address_of(store, given.server, Path(folder)) as address:
                results[store] = measure(address, Path(folder), sizes, given)
    given.report.write_text(report(results, sizes, given))
    print(given.report.read_text())


@contextmanager
def address_of(store: str, server: str, folder: Path) -> Iterator[str]:
    if store == "SQLite":
        yield str(folder / "store.db")
    else:
        with database(server, folder) as address:
            yield address


def measure(address: str, folder: Path, sizes: Sizes, given: argparse.Namespace) -> Measured:
    measured = Measured()
    with filled_store(address) as store:
        began = time.perf_counter()
        fill(store, address, sizes)
        measured.filled = sizes.memories, time.perf_counter() - began
        token = admin_token(store)
        say(f"{sizes.memories:,} memories were stored in {measured.filled[1]:.0f} s")
    with serving(address, folder, given.servers) as (urls, processes):
        warm_up(urls, token, sizes)
        used, used_there = sum(map(process_seconds, processes)), server_seconds(folder)
        run(urls, token, sizes, given, measured)
        measured.used = sum(map(process_seconds, processes)) - used
        measured.used_there = server_seconds(folder) - used_there
    with MemoryStore(address, embedder="hashing") as store:
        measured.recall = recall_of(store, sizes)
    measured.load = os.getloadavg()[0]
    return measured


# Filling


def name_of(number: int) -> str:
    return f"tenant {number}"


def mark_of(number: int) -> str:
    return f"mark{number:05d}"


def fill(store: MemoryStore, address: str, sizes: Sizes) -> None:
    """Space 0 is the large one, and 1 that of which the others are copies."""
    fill_space(store, 1, sizes.each)  # first, so that the store has its embedder
    rows = backend_of(store).rows
    assert rows is not None
    if not rows.keeps_images:  # one file, to which one writes at a time
        fill_space(store, 0, sizes.large)
        copy_spaces(rows, sizes)
        return
    large = multiprocessing.get_context("spawn").Process(target=fill_large, args=(address, sizes.large))
    large.start()
    copy_in_database(address, sizes)
    large.join()
    if large.exitcode:
        raise SystemExit("The large space could not be filled.")


def fill_large(address: str, size: int) -> None:
    with filled_store(address) as store:
        fill_space(store, 0, size)


def filled_store(address: str) -> MemoryStore:
    """Without the model that reads what looks like orders, which takes longer than storing."""
    return MemoryStore(address, embedder="hashing", on_conflict="ignore", settings=Settings(suspicious="allow"))


def fill_space(store: MemoryStore, number: int, size: int) -> None:
    own = store.in_space(name_of(number))
    for first in range(0, size, BATCH):
        numbers = range(first, min(first + BATCH, size))
        own.remember_many({"id": f"{mark_of(number)}-{n}", "text": marked(n, number)} for n in numbers)
    say(f"{name_of(number)} has {size:,} memories")


def marked(number: int, space: int) -> str:
    return f"{text(number)} That is in {mark_of(space)}."


def copy_spaces(rows: RowTransfer, sizes: Sizes) -> None:
    space = next(each for each in rows.spaces() if each.name == name_of(1))
    memories = list(rows.memories(space.name))
    entries = list(rows.entries(space.name, images=rows.keeps_images))
    marked = (mark_of(1) in str(row.versions[-1].content.words) for row in memories)
    assert all(marked), "the mark is a word of its own"
    for number in range(2, sizes.spaces + 1):
        named = SpaceRow(name_of(number), space.seq, space.last_at, space.dropped)
        rows.write_rows(RowBatch(named, memories=[memory_in(row, number) for row in memories]))
        rows.write_rows(RowBatch(named, entries=[entry_in(row, number) for row in entries]))
        if number % 50 == 0:
            say(f"{number} of {sizes.spaces} spaces")


def copy_in_database(address: str, sizes: Sizes) -> None:
    """As `copy_spaces`, within the server: every text column gets the mark of the new space."""
    parts = [
        range(first, min(first + COPIED_TOGETHER, sizes.spaces + 1))
        for first in range(2, sizes.spaces + 1, COPIED_TOGETHER)
    ]
    with ThreadPoolExecutor(COPIERS) as copiers:
        for done, _ in enumerate(copiers.map(partial(copy_part, address), parts), 1):
            if done % 20 == 0:
                say(f"{done * COPIED_TOGETHER} of {sizes.spaces} spaces")
    with connected(address) as connection:
        connection.execute("ANALYZE")


def copy_part(address: str, numbers: Sequence[int]) -> None:
    from nacre.storage.postgres.transaction import TABLES_OF_SPACE

    values = {
        "names": [name_of(number) for number in numbers],
        "marks": [mark_of(number) for number in numbers],
        "first": name_of(1),
        "mark": mark_of(1),
    }
    with connected(address) as connection, connection.transaction():
        for table in ("spaces", *TABLES_OF_SPACE):
            connection.execute(copying(connection, table), values)


@contextmanager
def connected(address: str) -> Iterator[Any]:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("SET search_path = nacre, public")
        connection.execute("SELECT set_config('nacre.spaces', '*', false)")
        yield connection


def copying(connection: Any, table: str) -> str:
    columns = connection.execute(
        "SELECT attname, atttypid = 'text'::regtype FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
        " AND NOT attisdropped AND attname <> 'space_id' ORDER BY attnum",
        (table,),
    ).fetchall()
    own = [f"replace(old.{name}, %(mark)s, new.mark)" if is_text else f"old.{name}" for name, is_text in columns]
    names, new = [name for name, _ in columns], "unnest(%(names)s::text[], %(marks)s::text[]) AS new(name, mark)"
    if table == "spaces":
        own[names.index("name")] = "new.name"
        return (
            f"INSERT INTO spaces({', '.join(names)}) SELECT {', '.join(own)} FROM spaces AS old, {new}"
            " WHERE old.name = %(first)s"
        )
    return (
        f"INSERT INTO {table}(space_id, {', '.join(names)}) SELECT spaces.space_id, {', '.join(own)}"
        f" FROM {new} JOIN spaces ON spaces.name = new.name, {table} AS old"
        " WHERE old.space_id = (SELECT space_id FROM spaces WHERE name = %(first)s)"
    )


def memory_in(row: MemoryRow, space: int) -> MemoryRow:
    return MemoryRow(0, tuple(version_in(version, space) for version in row.versions))


def version_in(version: VersionRow, space: int) -> VersionRow:
    record = tuple(
        moved(value, space) if name in ("id", "text") else value
        for name, value in zip(RECORD, version.record, strict=True)
    )
    content = version.content._replace(words=moved(version.content.words or "", space))
    return version._replace(record=record, content=content, stems=moved(version.stems, space))


def entry_in(row: EntryRow, space: int) -> EntryRow:
    before, after = (None if image is None else moved(image, space) for image in (row.before, row.after))
    return row._replace(memory_id=moved(row.memory_id, space), before=before, after=after)


def moved(said: str, space: int) -> str:
    return said.replace(mark_of(1), mark_of(space))


# Serving


def backend_of(store: MemoryStore) -> Backend:
    return store.acting_as("benchmark").store


def admin_token(store: MemoryStore) -> str:
    users = Registry(backend_of(store), time.time)
    users.add_user("everybody")
    return users.create_token("everybody", "admin")[1]


@contextmanager
def serving(address: str, folder: Path, servers: int) -> Iterator[tuple[list[str], list[int]]]:
    """Their addresses and processes. Settings of whoever runs this count for nothing."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("NACRE_")}
    env |= {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"), "XDG_DATA_HOME": str(folder / "data")}
    env |= {f"NACRE_{name}": value for name, value in SETTINGS.items()}
    limits = ("--limit-requests", "0", "--limit-writes", "0", "--limit-bytes", "0")
    command = [sys.executable, "-m", "nacre", "--store", address, "serve", "--http", "127.0.0.1:0", *limits]
    logs = [folder / f"server-{time.monotonic_ns()}-{number}.log" for number in range(servers)]
    running = []
    try:
        for log in logs:
            with log.open("w") as file:
                running.append(subprocess.Popen(command, stderr=file, env=env, cwd=folder))
        addresses = [first_address(log, process) for log, process in zip(logs, running, strict=True)]
        yield addresses, [process.pid for process in running]
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(ANSWER_SECONDS)


def first_address(log: Path, process: subprocess.Popen[bytes]) -> str:
    until = time.monotonic() + ANSWER_SECONDS
    while time.monotonic() < until and process.poll() is None:
        line, end, _ = log.read_text().partition("\n")
        if end:
            return line.rpartition("//")[2].strip()
        time.sleep(0.05)
    raise SystemExit(f"The server did not start: {log.read_text()}")


def warm_up(urls: Sequence[str], token: str, sizes: Sizes) -> None:
    """What is loaded with the first calls is not what is measured."""
    for url in urls:
        client = Client(url, token, 0, sizes, (1.0,), 0.0)
        for call in ("recall", "remember", "recall"):
            client.ask(call, 0)


def run(urls: Sequence[str], token: str, sizes: Sizes, given: argparse.Namespace, measured: Measured) -> None:
    shares = list(accumulate(1 / rank for rank in range(1, sizes.spaces + 2)))  # the large space is the first
    lock, began = threading.Lock(), time.perf_counter()
    clients = [
        Client(urls[number % len(urls)], token, number, sizes, shares, began + given.seconds)
        for number in range(given.clients)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
        with lock:
            for call, seconds in client.measured.seconds.items():
                measured.seconds[call] += seconds
            measured.errors += client.measured.errors
            measured.foreign += client.measured.foreign
            measured.returned += client.measured.returned
    measured.taken = time.perf_counter() - began


class Client(threading.Thread):
    """One connection, one request after the other; an error is counted and not repeated."""

    def __init__(self, url: str, token: str, number: int, sizes: Sizes, shares: Sequence[float], until: float) -> None:
        super().__init__(daemon=True)
        self._number, self._sizes, self._shares, self._until = number, sizes, shares, until
        self._connection = http.client.HTTPConnection(url, timeout=ANSWER_SECONDS)
        self._random, self._headers = random.Random(number), {"Authorization": f"Bearer {token}"}
        self.measured, self._stored = Measured(), 0

    def run(self) -> None:
        while time.perf_counter() < self._until:
            space = bisect(self._shares, self._random.random() * self._shares[-1])
            self.ask("remember" if self._random.random() < REMEMBERS else "recall", space)
        self._connection.close()

    def ask(self, call: str, space: int) -> None:
        path, body = self._asked(call, space)
        began = time.perf_counter()
        try:
            self._connection.request("POST", path, json.dumps(body).encode(), self._headers)
            answer = self._connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.measured.errors[type(error).__name__] += 1
            self._connection.close()
            return
        self.measured.seconds[call].append(time.perf_counter() - began)
        if answer.status >= 400:
            self.measured.errors[f"{answer.status}: {json.loads(content).get('detail', '')}"] += 1
        elif call == "recall":
            self._look(json.loads(content), space)

    def _asked(self, call: str, space: int) -> tuple[str, dict[str, Any]]:
        path = f"/v1/spaces/{name_of(space).replace(' ', '%20')}"
        if call == "recall":
            known = self._sizes.large if space == 0 else self._sizes.each
            return f"{path}/recall", {"query": question(self._random.randrange(known)), "k": 5}
        self._stored += 1
        new = 1_000_000 * (self._number + 1) + self._stored
        return f"{path}/memories", {"text": marked(new, space)}

    def _look(self, answer: Any, space: int) -> None:
        for hit in answer["hits"]:
            memory = hit["memory"]
            self.measured.returned += 1
            self.measured.foreign += memory["space"] != name_of(space) or set(MARK.findall(memory["text"])) != {
                f"{space:05d}"
            }


# Recall against an exact search


def recall_of(store: MemoryStore, sizes: Sizes) -> float:
    """Half of the questions in the large space, the others each in another one."""
    backend, chance = backend_of(store), random.Random("sample")
    few = [chance.randrange(1, sizes.spaces + 1) for _ in range(SAMPLED // 2)]
    found = wanted = 0
    for space, times in ((0, SAMPLED - len(few)), *((each, 1) for each in few)):
        name, known = name_of(space), sizes.large if space == 0 else sizes.each
        vectors = all_vectors(backend, name)
        for _ in range(times):
            asked = store.embedder.embed([question(chance.randrange(known))])[0]
            exact = np.sort(vectors @ asked)[-NEAREST:]
            matches = backend.by_vector(name, asked, ALL, NEAREST)
            found += sum(match.score >= exact[0] - EXACT for match in matches)
            wanted += len(exact)
    return found / wanted


def all_vectors(backend: Backend, space: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    ids = [str(id) for (id,) in backend.values(space, ALL, ["id"])]
    parts = [backend.vectors(space, ids[first : first + READ_AT_ONCE]) for first in range(0, len(ids), READ_AT_ONCE)]
    return np.vstack([rows for part in parts for rows in part.values()])


# The report


def report(results: dict[str, Measured], sizes: Sizes, given: argparse.Namespace) -> str:
    lines = [
        "# Many spaces, many clients",
        "",
        f"{sizes.spaces:,} spaces of {sizes.each:,} memories and one of {sizes.large:,}; {given.clients} clients for"
        f" {given.seconds:.0f} s over {given.servers} `nacre serve`. What is measured, and how the spaces are filled,"
        " is said at the top of `tenants.py`.",
        "",
        machine() + ", which the clients, the server and the database share with other work (the load is given).",
        "",
        f"| | {' | '.join(results)} | wanted |",
        f"|---|{'---:|' * len(results)}---|",
    ]
    for name, wanted, cells in figures(list(results.values())):
        lines.append(f"| {name} | {' | '.join(cells)} | {wanted} |")
    for store, measured in results.items():
        lines += [f"- {store}: {times} × {sentence}" for sentence, times in measured.errors.most_common(5)]
    return "\n".join([*lines, ""])


def figures(results: Sequence[Measured]) -> Iterator[tuple[str, str, list[str]]]:
    calls = [sum(map(len, each.seconds.values())) for each in results]
    yield "stored before, memories/s", "", [f"{each.filled[0] / each.filled[1]:,.0f}" for each in results]
    yield "calls", "", [f"{each:,}" for each in calls]
    yield "calls/s", "", [f"{n / each.taken:,.1f}" for n, each in zip(calls, results, strict=True)]
    pairs = list(zip(calls, results, strict=True))
    yield "of a call: processor time of the servers, ms", "", [f"{1e3 * each.used / n:,.1f}" for n, each in pairs]
    yield "of a call: that of the database, ms", "", [f"{1e3 * each.used_there / n:,.1f}" for n, each in pairs]
    for call in ("recall", "remember"):
        parts = [hundredths(each.seconds[call]) for each in results]
        for share in (50, 95, 99):
            yield f"{call}, p{share}, ms", "", [f"{1e3 * part[share - 1]:,.0f}" for part in parts]
        wanted = f"at most {WANTED_SPREAD:g}" if call == "recall" else ""
        yield f"{call}, p95 / p50", wanted, [f"{part[94] / part[49]:.1f}" for part in parts]
    yield "errors", "0", [f"{each.errors.total():,}" for each in results]
    yield "memories returned", "", [f"{each.returned:,}" for each in results]
    yield "of them of another space", "0", [f"{each.foreign:,}" for each in results]
    yield (
        f"nearest {NEAREST}, found of those of an exact search", f"at least {WANTED_RECALL:g}",
        [f"{each.recall:.4f}" for each in results],
    )  # fmt: skip
    yield "load of the machine", "", [f"{each.load:.1f}" for each in results]


def hundredths(seconds: Sequence[float]) -> list[float]:
    return quantiles(seconds, n=100) if len(seconds) > 1 else [0.0] * 99


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
