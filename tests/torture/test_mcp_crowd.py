"""Many agents on one store at once, over HTTP and stdio: no error, and nothing that was acknowledged is lost."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from nacre.memory_store import MemoryStore
from tests.mcp.agents import HttpServer
from tests.torture.agents import lived, resident_mebibytes

LARGEST = 400.0  # MiB of a server without a model: it holds the store's vectors and a connection for each worker


def check_crowd(tmp_path: Path, *, sessions: int, servers: int, rounds: int) -> None:
    file = tmp_path / "store.db"
    served = HttpServer(file, tmp_path, new_interpreter=True)
    try:
        crowd = anyio.run(lived, served, file, tmp_path, sessions, servers, rounds)
        resident = resident_mebibytes(served.process.pid)
    finally:
        served.stop()
    print(f"{sessions} sessions, {servers} servers: p95 recall {crowd.p95 * 1000:.0f} ms, resident {resident} MiB")
    assert crowd.faults == []
    assert len(crowd.seconds) == (sessions + servers) * rounds
    assert resident is None or resident < LARGEST
    with MemoryStore(file, embedder="hashing") as store:
        health = store.health(thorough=True)
        assert store.count(include_superseded=True) == (sessions + servers) * rounds
        assert (health.problems, health.pending) == ((), 0)


@pytest.mark.slow
def test_ten_sessions_and_two_servers_share_a_store(tmp_path: Path) -> None:
    check_crowd(tmp_path, sessions=10, servers=2, rounds=2)


@pytest.mark.slow
def test_fifty_sessions_and_eight_servers_share_a_store(tmp_path: Path) -> None:
    check_crowd(tmp_path, sessions=50, servers=8, rounds=40)
