"""What a hook costs a client: the first, which starts the helper, the next ones, and one without a helper.

Whole processes; medians and minima in a table.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

from nacre import MemoryStore
from nacre.files import file_lock
from nacre.hooks.channel import HelperFiles
from nacre.hooks.client import end_helper, helper_at
from nacre.settings import choose_space
from texts import memories

QUESTION = "Which decision did we take about the harbour database and its nightly copies?"
ANSWER = "We took the decision to give the harbour database nightly copies, kept for a month."
STARTING_SECONDS = 60.0
EMPTY = [sys.executable, "-c", "pass"]
NO_MORE_WAITING = 10.0  # seconds since the helper began to start, after which a question does not wait for it


class Cost(NamedTuple):
    """Milliseconds of the clock and of the processor, of each call."""

    waited: list[float]
    used: list[float]

    def __str__(self) -> str:
        return f"{median(self.waited):.0f} / {median(self.used):.0f} (least {min(self.used):.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=2_000)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--embedder", default="multilingual")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        os.environ |= {
            "NACRE_STORE": str(home / "s.db"),
            "NACRE_EMBEDDER": asked.embedder,
            "NACRE_HOOK_LIMIT": "60",
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CONFIG_HOME": str(home / "config"),
        }
        for line in measured(home, asked.memories, asked.repeats, asked.embedder):
            print(line)


def measured(home: Path, count: int, repeats: int, embedder: str) -> list[str]:
    store = home / "s.db"
    space = choose_space(home).space
    with MemoryStore(store, space=space, embedder=embedder) as filled:
        filled.remember_many([*memories(count, seed=1), ANSWER])
    places = HelperFiles.of(store)

    def without() -> None:
        """As if a helper were being started since a while: none is, and nobody waits for it."""
        places.starting.touch()
        os.utime(places.starting, (time.time() - NO_MORE_WAITING,) * 2)

    def end() -> None:
        end_helper({"store": str(store)})
        if not waited(lambda: free(places.lock)):
            raise SystemExit("the helper did not end")
        places.starting.unlink(missing_ok=True)

    def status() -> Mapping[str, object]:
        return helper_at(store, "status") or {}

    alone = {event: costs(repeats, partial(call, home, event), before=without) for event in ("prompt", "stop")}
    first = {event: costs(repeats, partial(call, home, event), before=end) for event in alone}
    if not waited(lambda: bool(status().get("ready"))):
        raise SystemExit("the helper did not load its model")
    pid = int(str(status()["pid"]))
    start = 1_000 * processor_seconds(pid) - 1_000 * processor_seconds(None)
    warm = {event: costs(repeats, partial(call, home, event), pid) for event in alone}
    end()
    bare = costs(repeats, lambda: subprocess.run(EMPTY, check=True))
    return [
        "Whole process, milliseconds to wait / of processor time, medians, and the least processor time;",
        f"{repeats} calls each, {count:,} memories, {embedder}; an empty Python takes {bare}.",
        "",
        "| hook | the first, which starts the helper | with the helper, its time included | without (words alone) |",
        "|---|---|---|---|",
        *(f"| {event} | {first[event]} | {warm[event]} | {alone[event]} |" for event in alone),
        "",
        f"The helper takes {start:.0f} ms of processor time once, to start and to load its model, beside the client.",
    ]


def free(lock: Path) -> bool:
    try:
        with file_lock(lock, exclusive=True, patience=0.0):
            return True
    except BlockingIOError:
        return False


def call(home: Path, event: str) -> None:
    """A new session each time: what was given once is not given again."""
    transcript = home / "t.jsonl"
    session = str(time.monotonic_ns())
    if event == "stop":
        entry = {"type": "user", "sessionId": "s", "uuid": session, "cwd": str(home), "message": {"content": session}}
        with transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
    payload = {"session_id": session, "transcript_path": str(transcript), "cwd": str(home), "prompt": QUESTION}
    words = [sys.executable, "-m", "nacre", "hook", event]
    done = subprocess.run(words, input=json.dumps(payload), text=True, capture_output=True, check=True, cwd=home)
    if event == "prompt" and "<memories>" not in done.stdout:
        raise SystemExit(f"nothing was injected: {(home / 'state' / 'nacre' / 'hooks.log').read_text()}")


def costs(
    repeats: int, work: Callable[[], object], helper: int | None = None, before: Callable[[], object] = lambda: None
) -> Cost:
    """With the time of the helper, where its process is given; `before` each call is not counted."""
    all_costs = Cost([], [])
    for _ in range(repeats):
        before()
        began, used = time.perf_counter(), processor_seconds(helper)
        work()
        all_costs.waited.append(1_000 * (time.perf_counter() - began))
        all_costs.used.append(1_000 * (processor_seconds(helper) - used))
    return all_costs


def processor_seconds(helper: int | None) -> float:
    """Of the processes that were started and have ended, and of the helper."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = ended.ru_utime + ended.ru_stime
    if helper is not None:
        fields = Path(f"/proc/{helper}/stat").read_text("ascii").rpartition(") ")[2].split()
        used += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return used


def waited(held: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + STARTING_SECONDS
    while not held():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


if __name__ == "__main__":
    main()
