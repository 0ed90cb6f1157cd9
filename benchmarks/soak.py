"""Eight kinds of users on one store for an hour, with kills, imports, undo and backups: benchmarks/SOAK.md.

Command line, MCP over stdio, REST, hooks, maintenance with backups, a reader of the page, imports that are undone, and
a program with the library. One of them is killed every few seconds. Each notes a memory only after it was acknowledged.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from mcp_speed import Pipe
from nacre import MemoryStore
from nacre.client import RemoteStore
from results import machine
from texts import memories

RESULTS = Path(__file__).parent / "SOAK.md"
SPACE = "soak"
LOOK_SECONDS = 5.0  # between two looks at memory, files and WAL
KILL_SECONDS = 12.0  # between two kills
WARM_SHARE = 0.25  # of the time, in which caches fill: not part of a slope
IMPORTED = 150  # memories that are stored and taken back as one operation
NACRE = [sys.executable, "-m", "nacre"]


class Notes:
    """What a worker was told is stored, in a file that survives its end."""

    def __init__(self, file: Path) -> None:
        self.file = file.open("a", encoding="utf-8")

    def add(self, kind: str, value: object) -> None:
        self.file.write(json.dumps([time.time(), kind, value]) + "\n")
        self.file.flush()

    def timed(self, work: Callable[[], str]) -> str:
        """The id of what was stored, with the seconds that it took."""
        began = time.perf_counter()
        id = work()
        self.add("remembered", [id, time.perf_counter() - began])
        return id


def texts(seed: int) -> Callable[[], str]:
    """Endless texts, none of them twice."""
    made = memories(500, seed)
    numbers = count(time.time_ns() % 10**12)
    return lambda: f"{random.choice(made)} Note {next(numbers)} of worker {seed}."


def command_line(notes: Notes, text: Callable[[], str], _: str) -> None:
    def remember() -> str:
        done = subprocess.run([*NACRE, "remember", text()], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    while True:
        notes.timed(remember)
        subprocess.run([*NACRE, "recall", "which vendor ends its support?"], capture_output=True, check=True)


def mcp(notes: Notes, text: Callable[[], str], _: str) -> None:
    pipe = Pipe([*NACRE, "mcp"])
    notes.add("process", pipe.process.pid)
    while True:
        said = text()
        began = time.perf_counter()
        pipe.call("remember", text=said)
        notes.add("said", [said, time.perf_counter() - began])
        pipe.call("recall", query="who raised the limit?")


def rest(notes: Notes, text: Callable[[], str], address: str) -> None:
    with RemoteStore(address, space=SPACE) as store:
        while True:
            id = notes.timed(lambda: store.remember(text()).id)
            store.recall("what broke on leap days?", k=5)
            if random.random() < 0.3:
                store.edit(id, tags=["edited"])


def hooks(notes: Notes, text: Callable[[], str], _: str) -> None:
    folder = Path.cwd()
    for number in count():
        payload = {"session_id": f"{os.getpid()}-{number}", "cwd": str(folder), "prompt": text()}
        subprocess.run(
            [*NACRE, "hook", "prompt"], input=json.dumps(payload), text=True, capture_output=True, check=True
        )
        notes.add("hook", number)


def maintenance(notes: Notes, _: Callable[[], str], __: str) -> None:
    while True:
        subprocess.run([*NACRE, "maintenance", "tick"], capture_output=True, check=True)
        subprocess.run([*NACRE, "backup", "create"], capture_output=True, check=True)
        notes.add("upkeep", 1)
        time.sleep(5)


def page_reader(notes: Notes, _: Callable[[], str], address: str) -> None:
    """As the page does: its files, a search, the journal."""
    headers = {"Authorization": f"Bearer {os.environ['NACRE_TOKEN']}"}
    paths = ("/", f"/v1/spaces/{SPACE}/journal?limit=20", f"/v1/spaces/{SPACE}/review", f"/v1/spaces/{SPACE}/stats")
    while True:
        for path in paths:
            with urllib.request.urlopen(urllib.request.Request(address + path, headers=headers)) as answer:
                answer.read()
        notes.add("page", 1)
        time.sleep(0.2)


def imports(notes: Notes, text: Callable[[], str], _: str) -> None:
    with MemoryStore(os.environ["NACRE_STORE"], space=SPACE, actor=f"import-{os.getpid()}") as store:
        while True:
            batch = [text() for _ in range(IMPORTED)]
            ids = [memory.id for memory in store.remember_many(batch)]
            if random.random() < 0.7:
                store.undo()
                notes.add("taken_back", ids)
            else:
                for id in ids:
                    notes.add("remembered", [id, 0.0])
            time.sleep(2)


def library(notes: Notes, text: Callable[[], str], _: str) -> None:
    with MemoryStore(os.environ["NACRE_STORE"], space=SPACE, actor=f"library-{os.getpid()}") as store:
        while True:
            id = notes.timed(lambda: store.remember(text()).id)
            store.recall("which version do we prefer?")
            if random.random() < 0.2:
                store.forget(id)
                notes.add("forgotten", id)


WORKERS: Mapping[str, Callable[[Notes, Callable[[], str], str], None]] = {
    "command line": command_line, "MCP": mcp, "REST": rest, "hooks": hooks, "maintenance": maintenance,
    "page": page_reader, "imports": imports, "library": library,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--worker", default="", help="only for the processes that this one starts")
    parser.add_argument("--address", default="")
    asked = parser.parse_args()
    if asked.worker:
        number = list(WORKERS).index(asked.worker)
        WORKERS[asked.worker](Notes(Path(f"notes-{number}.jsonl")), texts(number), asked.address)
        return
    with tempfile.TemporaryDirectory() as folder:
        report = Soak(Path(folder), 60 * asked.minutes).run()
    RESULTS.write_text(report, "utf-8")
    print(report)


class Soak:
    def __init__(self, home: Path, seconds: float) -> None:
        self.home, self.seconds = home, seconds
        self.store = home / "soak.db"
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("NACRE_")},
            "HOME": str(home), "NACRE_STORE": str(self.store), "NACRE_SPACE": SPACE,
            "XDG_STATE_HOME": str(home / "state"), "XDG_CONFIG_HOME": str(home / "config"),
        }  # fmt: skip
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.seen: list[dict[str, float]] = []
        self.kills = 0
        self.failures: list[str] = []

    def run(self) -> str:
        self.began, load = time.time(), os.getloadavg()[0]
        subprocess.run([*NACRE, "remember", "The soak begins."], env=self.environment, capture_output=True, check=True)
        server, address = self._serve()
        try:
            self.address = address
            for name in WORKERS:
                self._start(name)
            self._watch(server)
        finally:
            for process in [*self.processes.values(), server]:
                end_group(process)
        return self._report(load)

    def _serve(self) -> tuple[subprocess.Popen[bytes], str]:
        words = [*NACRE, "token", "create", "--user", "soak", "--role", "admin"]
        made = subprocess.run(words, env=self.environment, capture_output=True, text=True, check=True)
        self.environment["NACRE_TOKEN"] = made.stdout.strip()
        log = self.home / "server.log"
        with log.open("wb") as file:
            server = subprocess.Popen(
                [*NACRE, "serve", "--http", "127.0.0.1:0"], env=self.environment, stderr=file, start_new_session=True
            )
        until = time.monotonic() + 60
        while "Serving at" not in (said := log.read_text("utf-8", "replace")):
            if server.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"the server did not start: {said}")
            time.sleep(0.1)
        return server, next(line.split()[-1] for line in said.splitlines() if "Serving at" in line)

    def _start(self, name: str) -> None:
        words = [sys.executable, __file__, "--worker", name, "--address", self.address]
        with (self.home / f"{name}.err").open("ab") as errors:
            self.processes[name] = subprocess.Popen(
                words, env={**self.environment, "PYTHONPATH": str(Path(__file__).parent)}, cwd=self.home,
                stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True,
            )  # fmt: skip

    def _watch(self, server: subprocess.Popen[bytes]) -> None:
        end, next_kill = time.monotonic() + self.seconds, time.monotonic() + 2 * KILL_SECONDS
        while time.monotonic() < end:
            time.sleep(LOOK_SECONDS)
            for name, process in self.processes.items():
                if process.poll() is not None:
                    said = (self.home / f"{name}.err").read_text("utf-8", "replace").strip().splitlines()
                    self.failures.append(f"{name}: {said[-1] if said else process.returncode}")
                    self._start(name)
            self.seen.append(self._look(server))
            if time.monotonic() >= next_kill:
                name = random.choice(list(WORKERS))
                os.killpg(self.processes[name].pid, signal.SIGKILL)
                self.processes[name].wait()
                self.kills += 1
                self._start(name)
                next_kill = time.monotonic() + KILL_SECONDS

    def _look(self, server: subprocess.Popen[bytes]) -> dict[str, float]:
        wal = self.store.with_name(f"{self.store.name}-wal")
        return {
            "at": time.time() - self.began,
            "server's memory, MiB": resident(server.pid),
            "server's open files": float(len(list(Path(f"/proc/{server.pid}/fd").iterdir()))),
            "WAL, MiB": wal.stat().st_size / 2**20 if wal.exists() else 0.0,
            "store, MiB": self.store.stat().st_size / 2**20,
        }

    def _report(self, load: float) -> str:
        noted = [json.loads(line) for file in self.home.glob("notes-*.jsonl") for line in file.read_text().splitlines()]
        gone = {id for _, kind, value in noted if kind == "taken_back" for id in value}
        ids = {value[0] for _, kind, value in noted if kind == "remembered"}
        said = {value[0] for _, kind, value in noted if kind == "said"}
        took = sorted((at, value[1]) for at, kind, value in noted if kind in ("remembered", "said") and value[1])
        with MemoryStore(self.store, space=SPACE) as store:
            everything = {
                memory.id: memory.text for memory in store.iterate(include_superseded=True, include_trashed=True)
            }
            health = store.health(thorough=True)
        lost = len(ids - everything.keys()) + len(said - set(everything.values()))
        half_done = len(gone & everything.keys())
        lines = [
            "# Everybody at once, for long",
            "",
            f"`python benchmarks/soak.py --minutes {self.seconds / 60:g}`. {machine()}; load {load:.1f} at the "
            "beginning. Written by the program.",
            "",
            "| what | figure |",
            "|---|---|",
            f"| minutes | {self.seconds / 60:g} |",
            f"| memories acknowledged, and lost | {len(ids) + len(said):,}, {lost} |",
            f"| memories of imports that were undone, and still there | {len(gone):,}, {half_done} |",
            f"| hook calls, looks at the page, rounds of maintenance | {tally(noted, 'hook')}, {tally(noted, 'page')}, "
            f"{tally(noted, 'upkeep')} |",
            f"| kills -9 | {self.kills} |",
            f"| workers that ended with an error | {len(self.failures)} |",
            f"| problems that the doctor finds | {len(health.problems)} |",
            *(f"| {what} | {figure} |" for what, figure in latencies(took)),
            *(f"| {what} | {figure} |" for what, figure in slopes(self.seen)),
        ]
        errors = [f"- {line}" for line in sorted(set(self.failures))]
        return "\n".join([*lines, *(["", "Errors:", "", *errors] if errors else [])]) + "\n"


def tally(noted: list[Any], kind: str) -> str:
    return f"{sum(1 for _, each, _ in noted if each == kind):,}"


def latencies(took: list[tuple[float, float]]) -> list[tuple[str, str]]:
    """Of the first and of the last third, so that a slow decline shows."""
    third = len(took) // 3
    rows = []
    for name, part in (("first", took[:third]), ("last", took[-third:])):
        if part:
            p50, p99 = np.percentile([seconds for _, seconds in part], [50, 99])
            rows.append((f"remember in the {name} third, p50 / p99", f"{1_000 * p50:.0f} / {1_000 * p99:.0f} ms"))
    return rows


def slopes(seen: list[dict[str, float]]) -> list[tuple[str, str]]:
    """What each grows by in an hour, after the caches have filled, and its greatest value."""
    lasting = seen[int(WARM_SHARE * len(seen)) :]
    rows = []
    for name in lasting[0] if len(lasting) > 2 else ():
        if name != "at":
            values = [each[name] for each in lasting]
            slope = np.polyfit([each["at"] / 3_600 for each in lasting], values, 1)[0]
            rows.append((f"{name}: greatest, and growth in an hour", f"{max(values):.1f}, {slope:+.1f}"))
    return rows


def resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1_024


def end_group(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


if __name__ == "__main__":
    main()
