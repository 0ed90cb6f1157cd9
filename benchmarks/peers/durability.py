"""What a memory keeps: through kills during writes, with two writers at once, and whether it talks to the network."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from threading import Thread
from typing import Any

from peers.client import PeerFailed, Worker
from peers.drivers import Item
from peers.environments import Peer
from peers.speed import items

SEED = 20261118
# A text counts as kept if searching for it finds it among this many.
SEARCHED = 10
FEWEST, MOST = 3, 25  # acknowledged writes before a kill
LONGEST_WAIT = 0.02  # seconds into the write that the kill interrupts
CONNECT = re.compile(
    r"connect\(\d+, \{sa_family=AF_INET6?, sin6?_port=htons\((\d+)\)"
    r".*?(?:inet_addr\(\"|inet_pton\(AF_INET6, \")([0-9a-f.:]+)"
)
LOOPBACK = re.compile(r"127\.|::1$|::ffff:127\.")
NAMES = "53"  # a question to a name server, also one on this machine, comes before a connection to another


def kills(peer: Peer, folder: Path, rounds: int) -> dict[str, Any]:
    """Kills the process during a write, many times on one store; then looks for every acknowledged text."""
    dice = random.Random(SEED)
    acknowledged: list[Item] = []
    texts = iter(items(rounds * (MOST + 1), SEED, "k"))
    for number in range(rounds):
        try:
            worker = Worker(peer, folder)
        except PeerFailed as error:
            return {"rounds": number, "acknowledged": len(acknowledged), "lost": None, "error": str(error)}
        try:
            for _ in range(dice.randint(FEWEST, MOST)):
                item = next(texts)
                if stored_itself(worker, item):
                    acknowledged.append(item)
            worker.send("add", item=asdict(next(texts)))
            wait_within_write(worker, dice.uniform(0, LONGEST_WAIT))
        except PeerFailed as error:
            return {"rounds": number, "acknowledged": len(acknowledged), "lost": None, "error": str(error)}
        finally:
            worker.kill()
    return {"rounds": rounds, "acknowledged": len(acknowledged), **lost(peer, folder, acknowledged)}


def stored_itself(worker: Worker, item: Item) -> bool:
    """False where the memory took the text as a duplicate of another, which is no promise to keep it."""
    return bool(worker.add(item)["result"] == item.id)


def wait_within_write(worker: Worker, seconds: float) -> None:
    """The moment of the kill is random; an answer that comes first only makes the round a late one."""
    try:
        worker.receive(seconds)
    except PeerFailed:
        return


def lost(peer: Peer, folder: Path, acknowledged: Sequence[Item]) -> dict[str, Any]:
    copies: dict[str, set[str]] = {}
    for item in acknowledged:
        copies.setdefault(item.text, set()).add(item.id)
    try:
        with Worker(peer, folder) as worker:
            missing = [
                item.id
                for item in acknowledged
                if not copies[item.text] & set(worker.search(item.text, SEARCHED)["result"])
            ]
    except PeerFailed as error:
        return {"lost": None, "error": f"The store cannot be read: {error}"}
    return {"lost": len(missing)}


def two_writers(peer: Peer, folder: Path, count: int) -> dict[str, Any]:
    """Two processes write to one store at the same time."""
    results: dict[str, tuple[list[Item], list[str]]] = {}

    def write(name: str, seed: int) -> None:
        results[name] = written(peer, folder, items(count, seed, name))

    threads = [Thread(target=write, args=(name, seed)) for seed, name in enumerate(("a", "b"), SEED)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = [item for done, _ in results.values() for item in done]
    errors = [error for _, some in results.values() for error in some]
    figures = {"tried": 2 * count, "acknowledged": len(kept), "errors": len(errors)}
    return {**figures, **lost(peer, folder, kept), **({"first_error": errors[0]} if errors else {})}


def written(peer: Peer, folder: Path, texts: Sequence[Item]) -> tuple[list[Item], list[str]]:
    done: list[Item] = []
    errors: list[str] = []
    try:
        worker = Worker(peer, folder)
    except PeerFailed as error:
        return done, [str(error)] * len(texts)
    with worker:
        for item in texts:
            try:
                if stored_itself(worker, item):
                    done.append(item)
            except PeerFailed as error:
                errors.append(str(error))
    return done, errors


def connections(peer: Peer, folder: Path) -> dict[str, Any] | None:
    """Attempts to connect to another machine while a memory opens, stores and is asked, with its own settings for
    usage reports. None where strace is missing."""
    strace = shutil.which("strace")
    if strace is None:
        return None
    trace = folder.with_suffix(".strace")
    prefix = (strace, "-f", "-qq", "-e", "trace=connect", "-o", str(trace))
    with Worker(peer, folder, quiet=False, prefix=prefix) as worker:
        for item in items(5, SEED):
            worker.add(item)
            worker.search(item.text, SEARCHED)
    outside = addresses_outside(trace.read_text("utf-8", errors="replace"))
    return {"attempts": len(outside), "addresses": sorted(set(outside))}


def addresses_outside(trace: str) -> list[str]:
    return [address for port, address in CONNECT.findall(trace) if port == NAMES or not LOOPBACK.match(address)]
