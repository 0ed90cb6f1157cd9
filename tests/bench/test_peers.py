"""The comparison with other memories in benchmarks/peers: its worker process, its counting and its report."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Imports a module of the comparison, as a run in benchmarks/ does."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield lambda name: importlib.import_module(f"peers.{name}")
    for name in [name for name in sys.modules if name == "peers" or name.startswith("peers.") or name == "texts"]:
        del sys.modules[name]


@pytest.fixture
def nacre(peers: Any, tmp_path: Path) -> Any:
    """Nacre as a peer, in the environment of the tests."""

    class Here(peers("environments").Peer):  # type: ignore[misc]
        @property
        def interpreter(self) -> Path:
            return Path(sys.executable)

        @property
        def home(self) -> Path:
            return tmp_path / "home"

    return Here("nacre", "Nacre", "nacre", ())


@pytest.mark.slow
def test_a_worker_stores_finds_and_tells_errors_and_its_texts_survive_a_kill(
    peers: Any, nacre: Any, tmp_path: Path
) -> None:
    client, item = peers("client"), peers("drivers").Item
    first, second = item("a", "The printer is in the cellar."), item("b", "Lunch is at noon.", 1.7e9)
    worker = client.Worker(nacre, tmp_path / "store")
    assert worker.add(first)["result"] == "a"
    assert worker.add_many([second])["result"] == ["b"]
    assert worker.search("where is the printer?", 5)["result"][0] == "a"
    with pytest.raises(client.PeerFailed, match="KeyError"):
        worker.ask("dance")
    assert worker.resident_bytes() > 1_000_000
    worker.kill()
    with pytest.raises(client.PeerFailed, match="process ended"):
        worker.search("where is the printer?", 5)
    missing = dataclasses.replace(first, id="c", text="This was never stored by anyone.")
    assert peers("durability").lost(nacre, tmp_path / "store", [first, second, missing]) == {"lost": 1}


def test_a_worker_that_cannot_open_its_memory_says_why(peers: Any, nacre: Any, tmp_path: Path) -> None:
    broken = dataclasses.replace(nacre, driver="no_such_driver")
    with pytest.raises(peers("client").PeerFailed, match="no_such_driver"):
        peers("client").Worker(broken, tmp_path / "store")


def test_a_hit_counts_under_the_name_that_the_question_knows(peers: Any) -> None:
    item, standing = peers("drivers").Item, peers("quality").Standing()
    for id, text, stand_in in (("old", "It is red.", "old"), ("copy", "It is red.", "copy"), ("new", "Blue.", "old")):
        standing.stored(item(id, text), stand_in)
    assert standing.keys(["old", "x", "old"], {"copy"}) == ("copy", "x")
    assert standing.keys(["old"], {"new"}) == ("new",)
    assert standing.keys(["old"], {"new", "old"}) == ("old",), "what holds the outdated text counts as outdated"


def test_connections_to_other_machines_are_told_from_those_on_this_one(peers: Any) -> None:
    durability = peers("durability")
    trace = (
        'connect(3, {sa_family=AF_UNIX, sun_path="/run/x"}, 110) = 0\n'
        'connect(3, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("127.0.0.53")}, 16) = 0\n'
        'connect(3, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("127.0.0.1")}, 16) = 0\n'
        'connect(4, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("192.0.2.7")}, 16) = 0\n'
        "connect(4, {sa_family=AF_INET6, sin6_port=htons(443), sin6_flowinfo=htonl(0),"
        ' inet_pton(AF_INET6, "2001:db8::1", &sin6_addr), sin6_scope_id=0}, 28) = 0\n'
    )
    assert durability.addresses_outside(trace) == ["127.0.0.53", "192.0.2.7", "2001:db8::1"]


def test_the_report_says_where_another_memory_is_better_and_what_is_missed(peers: Any) -> None:
    def timed(recall: float, cold: float) -> dict[str, Any]:
        times = {"p50_ms": recall, "p95_ms": 2 * recall}
        return {"recall": {**times, "resident_bytes": 1e8}, "remember": times, "cold": {"seconds": cold}}

    content = {
        "machine": "a machine",
        "peers": {
            "nacre": {"title": "Nacre", "changes": "none", "installed": {"packages": 9, "bytes": 1e8, "versions": {}}},
            "mem0": {"title": "mem0", "changes": "some", "installed": {"packages": 8, "bytes": 2e8, "versions": {}}},
            "chroma": {"title": "Chroma", "changes": "some", "skipped": "it is not there"},
        },
        "parts": {
            "notes": {"date": "2026-01-01", "loads": [1.0, 3.0], "figures": {"nacre": {"n": 3, "any@1": 50.0}}},
            "speed 1000": {"date": "2026-01-01", "figures": {"nacre": timed(10, 1), "mem0": timed(1, 1)}},
            "speed 10000": {"date": "2026-01-01", "figures": {"nacre": timed(10, 1), "mem0": timed(60, 3)}},
            "kills": {"date": "2026-01-01", "figures": {"mem0": {"rounds": 2, "lost": None, "error": "it\nbroke"}}},
        },
    }
    lines = list(peers("report").report(content))
    assert "- Installation, packages: mem0 8; Nacre 9." in lines
    assert "- 1,000 memories, recall, p50: mem0 1.0 ms; Nacre 10.0 ms." in lines
    assert not [line for line in lines if line.startswith("- 10,000 memories")]
    assert "| recall, p50, beside mem0 | 6.0x | 5x | met |" in lines
    assert "| cold start, beside mem0 | 3.0x | 8x | MISSED |" in lines
    assert "- mem0: it broke" in lines
    assert "| Chroma |  | Skipped: it is not there. |" in lines
    assert any("notes 2026-01-01, load 1.0-3.0" in line for line in lines)
