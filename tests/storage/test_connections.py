"""Threads, descriptors and races on one file."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nacre import MemoryStore
from tests.embedders import WordBag


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts descriptors where Linux shows them")
def test_many_stores_opened_and_closed_leave_no_descriptor_behind(tmp_path: Path) -> None:
    for number in range(3):
        with MemoryStore(tmp_path / f"{number}.db", embedder=WordBag()) as store:
            store.remember("x")
    before = descriptors()
    for number in range(120):
        with MemoryStore(tmp_path / f"{number}.db", embedder=WordBag()) as store:
            store.remember("x")
    assert descriptors() <= before


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts descriptors where Linux shows them")
def test_threads_that_end_take_their_connections_with_them(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "s.db", embedder=WordBag()) as store:
        before = descriptors()
        for _ in range(60):
            thread = threading.Thread(target=store.remember, args=("x",))
            thread.start()
            thread.join()
        assert store.count() == 60
        assert descriptors() <= before + 6


def test_threads_remember_recall_and_forget_at_once_without_losing_anything(tmp_path: Path) -> None:
    faults: list[BaseException] = []
    with MemoryStore(tmp_path / "s.db", embedder=WordBag()) as store:

        def work(number: int) -> None:
            try:
                for step in range(15):
                    kept = store.remember(f"thread {number} step {step} unique{number}x{step}")
                    found = store.recall(f"unique{number}x{step}", k=3)
                    assert kept.id in [hit.memory.id for hit in found]
                    if step % 3 == 0:
                        store.forget(kept.id)
            except BaseException as fault:  # noqa: BLE001 - a thread's failure must reach the test
                faults.append(fault)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        assert (store.count(), store.count(include_trashed=True)) == (60, 90)
        assert store.health(thorough=True).problems == ()


OPEN_AT_ONCE = """
import sys
from nacre import MemoryStore
with MemoryStore(sys.argv[1], embedder="hashing") as store:
    store.remember(f"from process {sys.argv[2]}")
"""


def test_processes_that_create_one_store_at_the_same_moment_all_succeed(tmp_path: Path) -> None:
    started = [
        subprocess.Popen([sys.executable, "-c", OPEN_AT_ONCE, tmp_path / "s.db", str(i)], stderr=subprocess.PIPE)
        for i in range(6)
    ]
    assert [(process.communicate()[1], process.returncode) for process in started] == [(b"", 0)] * 6
    with MemoryStore(tmp_path / "s.db", embedder="hashing") as store:
        assert store.count() == 6


FORKED = """
import os, sys
from nacre import MemoryStore
with MemoryStore(sys.argv[1], embedder="hashing") as store:
    store.remember("from the parent before")
    child = os.fork()
    if child == 0:
        store.remember("from the child")
        os._exit(0 if store.recall("child", strategy="keyword") else 1)
    store.remember("from the parent after")
    assert os.waitpid(child, 0)[1] == 0
    assert store.count() == 3
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_and_its_parent_both_go_on_writing(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", FORKED, tmp_path / "s.db"], capture_output=True)
    assert (done.stderr, done.returncode) == (b"", 0)
    with MemoryStore(tmp_path / "s.db", embedder="hashing") as store:
        assert store.count() == 3
        assert store.health(thorough=True).problems == ()
