"""How long a client waits for a hook: without the helper and with it, as whole processes; minima in a table."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from nacre import MemoryStore
from nacre.hooks.channel import HelperFiles
from nacre.hooks.client import end_helper, helper_at
from nacre.settings import choose_space
from texts import memories

QUESTION = "Which decision did we take about the harbour database and its nightly copies?"
ANSWER = "We took the decision to give the harbour database nightly copies, kept for a month."
STARTING_SECONDS = 60.0
EMPTY = [sys.executable, "-c", "pass"]


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
            "NACRE_HOOK_MIN_RELEVANCE": "0.001",
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
    places.starting.touch()  # as if a helper were being started: none is
    cold = {event: least(repeats, lambda event=event: call(home, event)) for event in ("prompt", "stop")}  # type: ignore[misc]
    places.starting.unlink()
    call(home, "session-start")
    if not waited(lambda: bool(helper_at(store, "status").get("ready"))):
        raise SystemExit("the helper did not load its model")
    warm = {event: least(repeats, lambda event=event: call(home, event)) for event in cold}  # type: ignore[misc]
    end_helper({"store": str(store)})
    bare = least(repeats, lambda: subprocess.run(EMPTY, check=True))
    return table(cold, warm, bare, count, embedder)


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


def least(repeats: int, work: Callable[[], object]) -> float:
    """Milliseconds; the least of all is what the work itself takes."""
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return 1_000 * min(times)


def waited(held: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + STARTING_SECONDS
    while not held():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def table(cold: Mapping[str, float], warm: Mapping[str, float], bare: float, count: int, embedder: str) -> list[str]:
    rows = [f"| {event} | {cold[event]:.0f} | {warm[event]:.0f} |" for event in cold]
    return [
        f"Whole process, milliseconds, minima; {count:,} memories, {embedder}; an empty Python takes {bare:.0f}.",
        "",
        "| hook | by itself (words alone) | with the helper |",
        "|---|---|---|",
        *rows,
    ]


if __name__ == "__main__":
    main()
