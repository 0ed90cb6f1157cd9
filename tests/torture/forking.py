"""What the processes of the fork tests do: each scenario returns everything that anyone in it was acknowledged."""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from random import Random
from uuid import uuid4

from nacre import MemoryStore
from tests.torture.acts import written
from tests.torture.workers import Kept, opened

Scenario = Callable[[str], list[Kept]]
EACH = 10
THREADS = 3


def kept_in(store: MemoryStore, count: int = EACH) -> list[Kept]:
    random = Random()
    made = [store.remember(written(str(uuid4()), random)) for _ in range(count)]
    for memory in made:
        assert memory.id in [hit.memory.id for hit in store.recall(memory.text, 3)]
    return [(memory.id, memory.text) for memory in made]


class Child:
    """A forked process that does `body` when it is told to, and reports what it kept."""

    def __init__(self, body: Callable[[], list[Kept]]) -> None:
        told, self._tell = os.pipe()
        self._report, report = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._tell)
            run_and_exit(body, told, report)
        os.close(told)
        os.close(report)

    def go(self) -> None:
        os.write(self._tell, b"!")

    def kept(self) -> list[Kept]:
        with os.fdopen(self._report) as report:
            reported = report.read()
        assert os.waitpid(self._pid, 0)[1] == 0, "the child failed: its error is on stderr"
        return [(id, text) for id, text in json.loads(reported)]


def run_and_exit(body: Callable[[], list[Kept]], told: int, report: int) -> None:
    status = 1
    try:
        os.read(told, 1)
        kept = json.dumps(body()).encode()
        with os.fdopen(report, "wb") as file:
            file.write(kept)
        status = 0
    except Exception:  # noqa: BLE001 - a forked child must not return into its parent's code
        traceback.print_exc(file=sys.stderr)
    finally:
        sys.stderr.flush()
        os._exit(status)


def side_by_side(path: str) -> list[Kept]:
    store = opened(path)
    before = kept_in(store)
    child = Child(lambda: kept_in(store))
    child.go()
    during = kept_in(store)
    return before + during + child.kept() + kept_in(store)


def child_goes_on_after_parent_closes(path: str) -> list[Kept]:
    store = opened(path)
    before = kept_in(store)
    between, wait = os.pipe()

    def body() -> list[Kept]:
        first = kept_in(store)
        os.write(wait, b"!")
        os.read(again, 1)
        return first + kept_in(store)

    again, resume = os.pipe()
    child = Child(body)
    child.go()
    os.read(between, 1)
    store.close()
    with opened(path) as another:  # the last one to close a file that nobody else seems to hold tidies it up
        after = kept_in(another)
    os.write(resume, b"!")
    return before + after + child.kept()


def child_outlives_everything(path: str) -> list[Kept]:
    """The child closes what it inherited when a file left by a crash is all that holds the last writes."""
    store = opened(path)
    before = kept_in(store)

    def close_only() -> list[Kept]:
        store.close()
        return []

    child = Child(close_only)
    store.close()
    crashed = Child(lambda: kept_in(opened(path)))  # ends without closing: its writes stay in the write-ahead log
    crashed.go()
    lost_with_care = crashed.kept()
    child.go()
    return before + lost_with_care + child.kept()


def with_threads(path: str) -> list[Kept]:
    """Threads that have a connection each and rest at the moment of the fork, and go on after it.

    A fork while another thread is inside the database is not promised: no lock of any library survives that.
    """
    store, kept = opened(path), list[Kept]()
    meeting = threading.Barrier(THREADS + 1)

    def work() -> None:
        kept.extend(kept_in(store))
        meeting.wait()
        meeting.wait()
        kept.extend(kept_in(store))

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    meeting.wait()
    child = Child(lambda: kept_in(store))
    meeting.wait()
    child.go()
    for thread in threads:
        thread.join()
    return kept + child.kept()
