"""The only place that imports onnxruntime: its telemetry is switched off before the library is loaded."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxruntime import InferenceSession as InferenceSession

ERRORS_ONLY = 3  # onnxruntime's scale; its warnings would go to the user's terminal
# Read once, when the library is loaded: calling its API afterwards is too late, a device id has been written by then.
TELEMETRY_SWITCH = "ORT_DISABLE_TELEMETRY"
BATCH_THREADS = 2


def open_session(file: Path) -> InferenceSession:
    """A session that uses one thread per run; safe to run from several threads. Raises what onnxruntime raises."""
    os.environ.setdefault(TELEMETRY_SWITCH, "1")  # a value set by the user stays
    # numpy first, as a whole: onnxruntime asks for a part of it, and Python then does not wait for another thread that
    # is importing numpy, so that one of the two fails on a half of it.
    import numpy  # noqa: F401

    # Imported here: it takes a fifth of a second, and most commands need no model.
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # One thread a run: several runs at once use the cores better than several threads in one run do.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = ERRORS_ONLY
    # Memory plans for every input length would take 20 MB after a bulk load and save no time.
    options.enable_mem_pattern = False
    # Planning which buffers share a place takes a third of the time of opening, and saves neither memory nor time here.
    options.enable_mem_reuse = False
    # The shipped graphs are drawn as the optimiser would leave them.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])


def runs(lengths: Sequence[int], tokens_a_run: int) -> Iterator[list[int]]:
    """Groups the positions of inputs of equal length, longest first.

    Nothing is padded, so that a result does not depend on its batch, and the cores end at about the same time.
    """
    by_length = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    for length, positions in groupby(by_length, key=lengths.__getitem__):
        group = list(positions)
        size = max(1, tokens_a_run // length)
        yield from (group[start : start + size] for start in range(0, len(group), size))


def in_parallel(execute: Callable[[list[int]], None], batches: Sequence[list[int]]) -> float:
    """Calls `execute` for every batch: one at once, several on two threads, so that other work has cores too.

    Returns the seconds that this takes where nothing else runs, by the processor time of the threads.
    """

    def timed(batch: list[int]) -> float:
        began = time.thread_time()
        execute(batch)
        return time.thread_time() - began

    if len(batches) < 2:
        return sum(map(timed, batches))
    from concurrent.futures import ThreadPoolExecutor

    threads = min(BATCH_THREADS, _cores())
    with ThreadPoolExecutor(threads, "nacre-model") as pool:
        return sum(pool.map(timed, batches)) / threads


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # a container often has fewer than the machine
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
