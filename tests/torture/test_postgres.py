"""PostgreSQL that is killed, cut off or replaced by its replica while processes write: whatever was acknowledged is
there, nothing is there twice, and the numbers of the journal have no gaps."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.errors import NacreError
from tests.server.running import Caller, serving, tokens
from tests.torture.databases import PATIENCE, CuttingProxy, Database, own_database

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="for POSIX systems")]
WRITERS = 4
KILLS = 6  # of the postmaster, and as many of backends
STEPS = 120  # places at which a connection is cut, for each direction
WORDS = ("harbour", "lantern", "kettle", "orchard", "violin", "glacier", "saddle", "mirror")


@pytest.fixture
def database() -> Iterator[Database]:
    with own_database() as made:
        with MemoryStore(made.address, space="w0", embedder="hashing") as store:
            store.remember("The store is made")
        yield made


def write(address: str, writer: int, say: Connection, stop: Connection) -> None:
    """Remembers numbered texts until it is told to stop, and says each number before and after."""
    with MemoryStore(address, space=f"w{writer % 2}", embedder="hashing", on_conflict="ignore") as store:
        number = 0
        while not stop.poll():
            number += 1
            text = f"{WORDS[number % len(WORDS)]} {writer}-{number}"
            try:
                store.remember(text)
            except NacreError as error:
                say.send((writer, number, f"failed: {error}"))
                stop.poll(0.1)
            else:
                say.send((writer, number, ""))


class Writers:
    """Processes that write, and what they said."""

    def __init__(self, address: str) -> None:
        context = get_context("spawn")
        self.acknowledged: Counter[str] = Counter()
        self.failed: list[str] = []
        self._ears, self._stops, self._processes = [], [], []
        for writer in range(WRITERS):
            ear, say = context.Pipe(duplex=False)
            stopped, stop = context.Pipe(duplex=False)
            process = context.Process(target=write, args=(address, writer, say, stopped), daemon=True)
            process.start()
            say.close()
            self._ears.append(ear)
            self._stops.append(stop)
            self._processes.append(process)

    def listen(self, more: int) -> None:
        """Until so many more were acknowledged."""
        target, until = self.acknowledged.total() + more, time.monotonic() + PATIENCE
        while self.acknowledged.total() < target:
            assert time.monotonic() < until, f"nothing is written any more: {self.failed[-3:]}"
            self._hear(1.0)

    def _hear(self, seconds: float) -> None:
        for ear in wait(self._ears, seconds):
            assert isinstance(ear, Connection)
            try:
                writer, number, failure = ear.recv()
            except EOFError:
                self._ears.remove(ear)
                continue
            text = f"{WORDS[number % len(WORDS)]} {writer}-{number}"
            if failure:
                self.failed.append(f"{text}: {failure}")
            else:
                self.acknowledged[text] += 1

    def stop(self) -> None:
        for stop in self._stops:
            stop.send(True)
        until = time.monotonic() + PATIENCE
        while self._ears:
            assert time.monotonic() < until, "a writer does not end"
            self._hear(1.0)
        for process in self._processes:
            process.join(PATIENCE)
            assert process.exitcode == 0


def check(address: str, acknowledged: Counter[str]) -> int:
    """All that was acknowledged is there once, nothing is there twice, and each journal counts without a gap."""
    texts: Counter[str] = Counter()
    for space in ("w0", "w1"):
        with MemoryStore(address, space=space, embedder="hashing") as store:
            texts.update(memory.text for memory in store.iterate())
            entries = store.journal(limit=None, newest_first=False)
            assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
            assert len({entry.operation.batch for entry in entries}) == len(entries)  # one memory to an operation
    assert not (lost := set(acknowledged) - set(texts)), f"{len(lost)} lost, such as {sorted(lost)[:3]}"
    assert not (twice := {text for text, count in texts.items() if count > 1}), f"twice: {sorted(twice)[:3]}"
    return texts.total()


def report(what: str, writers: Writers, stored: int) -> None:
    print(
        f"{what}: {writers.acknowledged.total()} acknowledged, 0 lost, 0 twice; {len(writers.failed)} refused with an "
        f"error; {stored} stored"
    )


@pytest.mark.parametrize("whole", [True, False], ids=["all processes", "the postmaster alone"])
def test_what_was_acknowledged_survives_a_killed_server(database: Database, whole: bool) -> None:
    writers = Writers(database.address)
    for _ in range(KILLS):
        writers.listen(40)
        (database.kill if whole else database.kill_postmaster)()
        database.start()
    writers.listen(20)
    writers.stop()
    report(f"{KILLS} kills", writers, check(database.address, writers.acknowledged))


def test_a_backend_that_is_killed_in_a_commit_loses_nothing(database: Database) -> None:
    writers, killed = Writers(database.address), 0
    until = time.monotonic() + PATIENCE
    while killed < KILLS and time.monotonic() < until:
        writers.listen(15)
        killed += database.kill_backend()
    assert killed == KILLS
    writers.listen(20)
    writers.stop()
    report(f"{killed} backends killed", writers, check(database.address, writers.acknowledged))


@pytest.mark.parametrize("direction", ["sent", "received"])
def test_a_connection_that_is_cut_anywhere_stores_an_operation_once(database: Database, direction: str) -> None:
    acknowledged: Counter[str] = Counter()
    with CuttingProxy(database.port) as proxy:
        with MemoryStore(
            database.address_at(proxy.port), space="w1", embedder="hashing", on_conflict="ignore"
        ) as store:
            store.remember("the first")
            proxy.plan()
            store.remember("the second")
            length = getattr(proxy, direction)
            for step in range(STEPS):
                text = f"{WORDS[step % len(WORDS)]} at {step}"
                proxy.plan(direction, 1 + step * length // STEPS)
                with suppress(NacreError):
                    store.remember(text)
                    acknowledged[text] += 1
        proxy.plan()
        assert proxy.cuts > STEPS * 0.8
        stored = check(database.address, acknowledged)
        assert len(acknowledged) == STEPS, "a connection that comes back at once is no error"
        print(f"{proxy.cuts} cuts of what is {direction}: {len(acknowledged)} acknowledged, {stored} stored")


def test_a_replica_that_takes_over_has_all_that_was_acknowledged(database: Database) -> None:
    replica = database.replica()
    both = f"127.0.0.1:{database.port},127.0.0.1:{replica.port}"
    address = database.address.replace(f"127.0.0.1:{database.port}", both) + "&target_session_attrs=read-write"
    try:
        writers = Writers(address)
        writers.listen(150)
        database.kill()
        replica.promote()
        with replica.admin("postgres") as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
            connection.execute("SELECT pg_reload_conf()")
        writers.listen(60)
        writers.stop()
        report("1 promotion", writers, check(replica.address, writers.acknowledged))
    finally:
        replica.remove()


def test_servers_that_are_killed_carry_out_each_request_once(database: Database, tmp_path: Path) -> None:
    """The client repeats a request with its key at another server, as `RemoteStore` does."""
    (token,) = tokens(database.address, ("ada", "writer", ()))  # type: ignore[arg-type]
    acknowledged: Counter[str] = Counter()
    requests, kills = 60, 0
    number = 0
    while number < requests:
        with (
            serving(database.address, tmp_path, new_interpreter=True) as one,  # type: ignore[arg-type]
            serving(database.address, tmp_path) as two,  # type: ignore[arg-type]
        ):
            callers = [one.caller(token), two.caller(token)]
            for step in range(requests // 3):
                number += 1
                text = f"{WORDS[number % len(WORDS)]} {number}"
                if step == requests // 6:
                    os.kill(one.process.pid, signal.SIGKILL)
                    kills += 1
                if sent_until_answered(callers, text, key=f"request-number-{number:06}"):
                    acknowledged[text] += 1
    assert len(acknowledged) == requests
    stored = check(database.address, acknowledged)
    print(f"{kills} servers killed: {len(acknowledged)} acknowledged, 0 lost, 0 twice; {stored} stored")


def sent_until_answered(callers: list[Caller], text: str, key: str) -> bool:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        for caller in callers:
            with suppress(OSError):
                reply = caller("POST", "/v1/spaces/w1/memories", {"text": text}, Idempotency_Key=key)
                if reply.status == 201:
                    return True
                assert reply.status in (409, 500, 503), reply.body  # another try may succeed
    return False
