"""Starts real processes, lets them begin at the same moment, and hands back what they return or raise."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from typing import TypeVar

Result = TypeVar("Result")
Call = tuple[Callable[..., Result], tuple[object, ...]]

# A fork server imports once and holds no store: processes that start in milliseconds and inherit nothing of ours.
METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
PROCESSES = multiprocessing.get_context(METHOD)
if METHOD == "forkserver":
    PROCESSES.set_forkserver_preload(
        ["nacre.storage.sqlite", "nacre.memory_store", "nacre.factory", "tests.torture.workers"]
    )
STARTING_SECONDS = 60

_barrier: Barrier | None = None


def started(body: Callable[..., None], *given: object) -> BaseProcess:
    process: BaseProcess = PROCESSES.Process(target=body, args=given)  # type: ignore[attr-defined]
    process.start()
    return process


def at_once(calls: Sequence[Call[Result]]) -> list[Result]:
    """Each call in a process of its own, all begun together; raises what any of them raises."""
    barrier = PROCESSES.Barrier(len(calls))
    with ProcessPoolExecutor(len(calls), PROCESSES, initializer=meet_at, initargs=(barrier,)) as pool:
        waiting = [pool.submit(begin, body, given) for body, given in calls]
        return [each.result() for each in waiting]


def meet_at(barrier: Barrier) -> None:
    global _barrier
    _barrier = barrier


def begin(body: Callable[..., Result], given: tuple[object, ...]) -> Result:
    together()
    return body(*given)


def together() -> None:
    """Inside a body: waits until every process of the crowd has come as far."""
    if _barrier is not None:
        _barrier.wait(STARTING_SECONDS)
