"""Measures Nacre beside other memories for agents: `make bench-peers`, or `python -m peers` in benchmarks/.

Parts run one after the other and are written to results.json as they end, so that a long run may be done in pieces;
benchmarks/PEERS.md is made from that file.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from peers import durability, quality, speed
from peers.client import PeerFailed
from peers.environments import BENCHMARKS, FOLDER, PEERS, NotInstalled, Peer, installed, prepare
from peers.report import write_report
from results import machine

RESULTS = Path(__file__).with_name("results.json")
REPORT = BENCHMARKS / "PEERS.md"
STORES = FOLDER / "stores"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    data: Path | None
    conversations: int | None  # of each suite; all unless given
    quick: bool
    sizes: tuple[int, ...]
    repeats: int
    recalls: int  # timed in each run, as many as remembers
    kills: int
    writes: int  # of each of two writers

    @classmethod
    def of(cls, data: Path | None, conversations: int | None, sizes: Sequence[int], *, quick: bool) -> Plan:
        if quick:
            return cls(data, conversations, True, tuple(sizes or (200,)), 1, 10, 2, 10)
        return cls(data, conversations, False, tuple(sizes or (1_000, 10_000)), 3, 60, 20, 100)

    def file(self, suite: str) -> Path:
        assert self.data is not None
        return self.data / quality.FILES[suite]


class Results:
    """Figures by part and peer, kept in a file unless a run is a quick one."""

    def __init__(self, plan: Plan) -> None:
        self._file = None if plan.quick else RESULTS
        known = self._file is not None and self._file.exists()
        self.content: dict[str, Any] = json.loads(RESULTS.read_text("utf-8")) if known else {"parts": {}, "peers": {}}
        self.content["machine"] = machine()

    def put(self, part: str, peer: Peer, figures: object) -> None:
        entry = self.content["parts"].setdefault(part, {"figures": {}})
        entry["figures"][peer.name] = figures
        entry |= {"date": f"{datetime.now(UTC):%Y-%m-%d}"}
        entry["loads"] = [*entry.get("loads", []), speed.load()][-2 * len(PEERS) :]
        self.save()

    def save(self) -> None:
        if self._file is not None:
            self._file.write_text(json.dumps(self.content, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main() -> None:
    options = parsed()
    plan = Plan.of(options.data, options.conversations, options.sizes, quick=options.quick)
    results = Results(plan)
    chosen = [peer for name in options.peers if (peer := ready(PEERS[name], results))]
    for part in options.parts:
        if part in quality.FILES and (plan.data is None or not (plan.data / quality.FILES[part]).exists()):
            say(f"{part} is skipped: give the folder that holds {quality.FILES[part]} with --data.")
            continue
        say(f"{part}, load {speed.load()}")
        PARTS[part](plan, chosen, results)
    write_report(results.content, sys.stdout if plan.quick else REPORT)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a seeded part of everything; writes no file")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS), metavar="NAME", help=", ".join(PEERS))
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--data", type=Path, help="folder with " + ", ".join(quality.FILES.values()))
    parser.add_argument("--conversations", type=int, help="a seeded sample of so many of each suite (default: all)")
    parser.add_argument("--sizes", type=int, nargs="+", default=(), help="memories in a store (default: 1000 10000)")
    return parser.parse_args()


def ready(peer: Peer, results: Results) -> Peer | None:
    """The peer with its environment made; None, with a line that says why, where it cannot be."""
    entry = {"title": peer.title, "changes": import_module(f"peers.drivers.{peer.driver}").DRIVER.CHANGES}
    try:
        prepare(peer)
    except NotInstalled as reason:
        say(f"{peer.title} is skipped: {reason}.")
        results.content["peers"][peer.name] = {**entry, "skipped": str(reason)}
        results.save()
        return None
    results.content["peers"][peer.name] = {**entry, "installed": installed(peer)}
    results.save()
    return peer


def measured(results: Results, part: str, peers: Sequence[Peer], measure: Callable[[Peer], object]) -> None:
    """Each peer in turn; one that fails gets its own message instead of figures."""
    for peer in peers:
        try:
            results.put(part, peer, measure(peer))
        except PeerFailed as error:
            say(f"{peer.title} failed in {part}: {error}")
            results.put(part, peer, {"failed": str(error)})


def run_suite(name: str) -> Callable[[Plan, Sequence[Peer], Results], None]:
    def run(plan: Plan, peers: Sequence[Peer], results: Results) -> None:
        suite = quality.load_suite(name, plan.file(name), plan.conversations, quick=plan.quick)
        measured(results, name, peers, lambda peer: quality.measure_suite(peer, suite))

    return run


def run_notes(plan: Plan, peers: Sequence[Peer], results: Results) -> None:
    notes = quality.load_quick_notes(plan.file("notes"), quick=plan.quick)
    measured(results, "notes", peers, lambda peer: quality.measure_notes(peer, notes))


def run_fill(plan: Plan, peers: Sequence[Peer], results: Results) -> None:
    """Makes the stores that the part speed needs; a store that is there is kept, with the figures of its filling."""
    for size in plan.sizes:
        measured(results, f"fill {size}", peers, lambda peer, size=size: filled(peer, size))  # type: ignore[misc]


def filled(peer: Peer, size: int) -> dict[str, Any]:
    folder, stamp = store_of(peer, size), store_of(peer, size).with_suffix(".json")
    if stamp.exists():
        figures: dict[str, Any] = json.loads(stamp.read_text("utf-8"))
        return figures
    shutil.rmtree(folder, ignore_errors=True)
    figures = {**speed.fill(peer, folder, size), "load": speed.load()}
    stamp.write_text(json.dumps(figures), encoding="utf-8")
    return figures


def store_of(peer: Peer, size: int) -> Path:
    return STORES / f"{peer.name}-{size}"


def run_speed(plan: Plan, peers: Sequence[Peer], results: Results) -> None:
    for size in plan.sizes:
        there = [peer for peer in peers if store_of(peer, size).with_suffix(".json").exists()]
        runs: dict[str, list[dict[str, Any]]] = {}
        for seed in range(plan.repeats):
            for peer in there:
                try:
                    figures = timed(peer, size, plan.recalls, seed)
                    runs.setdefault(peer.name, []).append(figures)
                except PeerFailed as error:
                    say(f"{peer.title} failed at {size}: {error}")
        for peer in there:
            if peer.name in runs:
                parts = runs[peer.name]
                results.put(f"speed {size}", peer, {act: speed.best([run[act] for run in parts]) for act in parts[0]})


def timed(peer: Peer, size: int, count: int, seed: int) -> dict[str, dict[str, Any]]:
    folder = store_of(peer, size)
    recalled = speed.recall(peer, folder, count, seed)
    started = speed.cold(peer, folder, seed)
    with temporary() as place:
        shutil.copytree(folder, place / "store")
        remembered = speed.remember(peer, place / "store", count, seed + 2)
    return {"recall": recalled, "cold": started, "remember": remembered}


def run_kills(plan: Plan, peers: Sequence[Peer], results: Results) -> None:
    measured(results, "kills", peers, lambda peer: in_temporary(durability.kills, peer, plan.kills))


def run_two_writers(plan: Plan, peers: Sequence[Peer], results: Results) -> None:
    measured(results, "two writers", peers, lambda peer: in_temporary(durability.two_writers, peer, plan.writes))


def run_network(plan: Plan, peers: Sequence[Peer], results: Results) -> None:  # noqa: ARG001
    measured(results, "network", peers, lambda peer: in_temporary(durability.connections, peer))


def in_temporary(measure: Callable[..., object], peer: Peer, *arguments: int) -> object:
    with temporary() as place:
        return measure(peer, place / "store", *arguments)


@contextmanager
def temporary() -> Iterator[Path]:
    with TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


PARTS: dict[str, Callable[[Plan, Sequence[Peer], Results], None]] = {
    "notes": run_notes,
    "locomo": run_suite("locomo"),
    "beam": run_suite("beam"),
    "network": run_network,
    "kills": run_kills,
    "two-writers": run_two_writers,
    "fill": run_fill,
    "speed": run_speed,
}

if __name__ == "__main__":
    main()
