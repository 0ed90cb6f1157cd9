"""What the processes of the reader tests do: some write without a pause, the others look for halves of acts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from random import Random

from nacre import Memory, MemoryStore
from tests.torture import acts
from tests.torture.workers import BATCH, opened

BEACON = "beacon"  # a memory that is edited all the time and never absent
BEACON_WORDS = "lighthouse keeper polishes brass"
FORGOTTEN = "forgotten-"  # how the session of a batch begins that is forgotten later, in one operation
DECOYS = 300
LOOKED_AT = 400
LEAST_ROUNDS = 3  # also on a machine that gives a process no time of its own for seconds


def prepare(path: str) -> None:
    """Enough memories that the beacon must be found among others."""
    random = Random(0)
    with opened(path) as store:
        store.remember_many([acts.written(acts.new_id(random), random) for _ in range(DECOYS)])
        store.remember(f"{BEACON_WORDS} 0", id=BEACON)


def write_without_pause(path: str, seed: int, seconds: float) -> int:
    """Batches that carry one session, pairs of which the later supersedes the former, edits, forgettings, purges."""
    random, number = Random(seed), 0
    with opened(path) as store:
        end = time.monotonic() + seconds
        while time.monotonic() < end or number < LEAST_ROUNDS:
            number += 1
            session = random.choice(("", FORGOTTEN)) + f"{seed}-{number}"
            texts = (acts.written(acts.new_id(random), random) for _ in range(BATCH))
            made = store.remember_many([{"text": text, "session": session} for text in texts])
            store.edit(BEACON, text=f"{BEACON_WORDS} {seed} {number}")
            pair = store.remember_many([{"text": acts.written(acts.new_id(random), random)} for _ in range(2)])
            store.supersede(pair[0].id, pair[1].id)
            if session.startswith(FORGOTTEN):
                store.forget(*(memory.id for memory in made))
            if number % 10 == 0:
                store.purge(*(memory.id for memory in pair))
    return number


def read_all_the_while(path: str, seconds: float) -> list[str]:
    """Returns what should never be seen, in words."""
    rounds, seen = 0, list[str]()
    with opened(path) as store:
        end = time.monotonic() + seconds
        while (time.monotonic() < end or rounds < LEAST_ROUNDS) and not seen:
            rounds += 1
            seen += [*broken_acts(store), *broken_recalls(store), *store.health().problems]
    return seen


def broken_acts(store: MemoryStore) -> Iterator[str]:
    newest = store.list_recent(LOOKED_AT, include_superseded=True)
    yield from halves(newest, "list")
    yield from unequal_pairs(newest)
    # It reads page by page: what is written meanwhile may appear in part, what stood before must be there whole.
    stood = {memory.session for memory in newest if not memory.session.startswith(FORGOTTEN)} - {newest[-1].session}
    yield from halves([memory for memory in store.iterate() if memory.session in stood], "iterate")


def halves(memories: list[Memory], where: str) -> Iterator[str]:
    """A batch is there as a whole or not at all; the oldest one in view may have been cut by the limit."""
    cut = {memory.session for memory in memories[-BATCH:]}  # of several writers at once
    for session, count in Counter(memory.session for memory in memories if memory.session).items():
        if count != BATCH and session not in cut:
            yield f"{where} sees {count} of {BATCH} memories of {session}"


def unequal_pairs(memories: list[Memory]) -> Iterator[str]:
    known = {memory.id: memory for memory in memories}
    for memory in memories:
        heir = known.get(memory.superseded_by)
        if heir is not None and memory.id not in [link.to for link in heir.links]:
            yield f"{memory.id} is superseded, and {heir.id} does not say that it supersedes"
        for link in memory.links:
            if link.to in known and known[link.to].superseded_by != memory.id:
                yield f"{memory.id} supersedes {link.to}, which does not say so"


def broken_recalls(store: MemoryStore) -> Iterator[str]:
    for strategy in ("semantic", "keyword", "auto"):
        found = [hit.memory.id for hit in store.recall(BEACON_WORDS, strategy=strategy)]
        if BEACON not in found:
            yield f"the {strategy} search misses the beacon; it finds {found}"
