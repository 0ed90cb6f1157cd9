"""One at a time: taken, renewed, released, and taken over from the dead."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.lifecycle.daemon import Process, is_alive, start_time, this_host, this_process
from nacre.lifecycle.scheduler import LEASE_KIND, LEASE_SECONDS, Lease, holder_of
from nacre.model.memory import Json
from nacre.protocols import TermSet
from tests.lifecycle.aged import Turned, opened
from tests.prepared_stores import empty_store
from tests.waiting import wait_for


@pytest.fixture(params=["sqlite", pytest.param("in_memory", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    with opened(empty_store(tmp_path / "s.db") if request.param == "sqlite" else ":memory:") as found:
        yield found


@pytest.fixture
def clock() -> Turned:
    return Turned()


def write(store: MemoryStore, clock: Turned, **given: Json) -> None:
    me = this_process()
    told: dict[str, Json] = {"owner": "x", "pid": me.pid, "host": me.host, "born": me.born, "until": clock.at + 60}
    store.acting_as("test").store.commit([TermSet(LEASE_KIND, "maintenance", {**told, **given})])


def dead() -> int:
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    return int(ended.stdout)


def test_only_one_holds_it(store: MemoryStore, clock: Turned) -> None:
    first, second = Lease(store, clock=clock), Lease(store, clock=clock)
    assert first.acquire()
    assert not second.acquire()
    assert first.acquire()  # again: it lasts longer
    found = second.holder()
    assert found is not None and found.owner == first.owner and found.process == this_process()
    assert f"process {os.getpid()} on" in str(found)


def test_leases_of_other_names_do_not_meet(store: MemoryStore, clock: Turned) -> None:
    assert Lease(store, clock=clock).acquire() and Lease(store, "tick", clock=clock).acquire()


def test_it_ends_with_its_time(store: MemoryStore, clock: Turned) -> None:
    first, second = Lease(store, clock=clock), Lease(store, clock=clock)
    first.acquire()
    clock.at += LEASE_SECONDS - 1
    assert not second.acquire()
    clock.at += 1
    assert second.holder() is None
    assert second.acquire()
    assert not first.acquire()


def test_it_is_released_by_its_owner_alone(store: MemoryStore, clock: Turned) -> None:
    first, second = Lease(store, clock=clock), Lease(store, clock=clock)
    first.acquire()
    second.release()
    assert not second.acquire()
    first.release()
    assert second.acquire()


def test_a_dead_holder_on_this_machine_is_followed_at_once(store: MemoryStore, clock: Turned) -> None:
    write(store, clock, pid=dead())
    assert Lease(store, clock=clock).holder() is None
    assert Lease(store, clock=clock).acquire()


def test_a_number_that_now_means_another_process_is_a_dead_holder(store: MemoryStore, clock: Turned) -> None:
    if not start_time(os.getpid()):
        pytest.skip("this system does not tell when a process began")
    write(store, clock, born="long ago")
    assert Lease(store, clock=clock).acquire()


def test_the_holder_on_another_machine_is_waited_for(store: MemoryStore, clock: Turned) -> None:
    write(store, clock, pid=dead(), host="elsewhere")
    assert not Lease(store, clock=clock).acquire()
    clock.at += 61
    assert Lease(store, clock=clock).acquire()


@pytest.mark.parametrize("given", [{"pid": "many"}, {"until": None}, {"owner": 5}, {"until": 1e18}])
def test_what_cannot_be_a_lease_binds_nobody(store: MemoryStore, clock: Turned, given: dict[str, Json]) -> None:
    write(store, clock, **given)
    assert Lease(store, clock=clock).acquire()


def test_of_many_at_once_one_gets_it(store: MemoryStore, clock: Turned) -> None:
    leases, got = [Lease(store, clock=clock) for _ in range(8)], list[bool]()
    threads = [threading.Thread(target=lambda lease=lease: got.append(lease.acquire())) for lease in leases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == [False] * 7 + [True]


def test_while_it_is_held_it_is_renewed_and_then_free(store: MemoryStore, clock: Turned) -> None:
    lease, other = Lease(store, seconds=0.3, clock=clock), Lease(store, clock=clock)
    with lease.held() as mine:
        assert mine
        for _ in range(2):  # longer, together, than it lasts without being renewed
            clock.at += 0.2
            wait_for(lambda: (found := other.holder()) is not None and found.until >= clock.at + 0.3, "the renewal")
        assert not other.acquire() and not lease.lost.is_set()
        with other.held() as its:
            assert not its
    assert other.holder() is None and other.acquire()


def test_who_loses_it_is_told(store: MemoryStore) -> None:
    lease, other = Lease(store, seconds=0.2), Lease(store)
    with lease.held():
        store.acting_as("test").store.commit([TermSet(LEASE_KIND, "maintenance", None)])
        assert other.acquire()
        assert lease.lost.wait(60)
    assert other.holder() is not None  # what another holds is not released


def test_processes_are_told_apart() -> None:
    me = this_process()
    assert me.here and not me.gone and is_alive(me.pid) and me.host == this_host()
    assert replace(me, pid=dead()).gone
    assert not is_alive(0) and not is_alive(-1)
    assert not Process(dead(), "elsewhere", "").gone
    assert holder_of(None) is None


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_process_that_nobody_waited_for_is_not_alive() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    wait_for(lambda: not is_alive(process.pid), "the end of the process")
    process.wait()
