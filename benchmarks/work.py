"""The work that both sides do, timed by the same code; each task runs in a process of its own and prints JSON."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Protocol

from texts import memories, questions

RECALLED = 5
WARM_UP = 3
BYTES_A_KIB = 1024


class Side(Protocol):
    def remember(self, text: str) -> None: ...

    def remember_many(self, texts: Sequence[str]) -> None: ...

    def recall(self, question: str, k: int) -> int:
        """Counts as a use of what is found; returns how many were."""

    def close(self) -> None: ...


def do(opened: Callable[[Path], Side]) -> None:
    """Command line: TASK FOLDER COUNT SEED."""
    task, folder, count, seed = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    side = opened(folder)
    for question in questions(WARM_UP, -1):
        side.recall(question, RECALLED)  # loads the model and the index, which is not what is timed here
    measured = TASKS[task](side, count, seed)
    peak = peak_bytes()
    side.close()
    print(json.dumps(measured | {"peak_bytes": peak, "disk_bytes": size_of(folder)}))


def fill(side: Side, count: int, seed: int) -> dict[str, float]:
    texts = memories(count, seed)
    start = time.perf_counter()
    side.remember_many(texts)
    return {"texts_per_second": count / (time.perf_counter() - start)}


def remember(side: Side, count: int, seed: int) -> dict[str, float]:
    return {"seconds": median(timed(side.remember, text) for text in memories(count, seed))}


def recall(side: Side, count: int, seed: int) -> dict[str, float]:
    return {"seconds": median(timed(lambda asked: side.recall(asked, RECALLED), q) for q in questions(count, seed))}


def timed(act: Callable[[str], object], given: str) -> float:
    start = time.perf_counter()
    act(given)
    return time.perf_counter() - start


def peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * BYTES_A_KIB


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


TASKS = {"fill": fill, "remember": remember, "recall": recall}
