"""Two worlds that differ only in what an agent must not see: whoever is narrowed cannot tell them apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from nacre import Link, MemoryStore
from nacre.access.capabilities import AgentCapabilities, ScopeLevel
from nacre.errors import NacreError
from nacre.settings import Settings
from tests.samples import Clock

START = Clock().now
# The last digits of a cosine depend on how many vectors were multiplied together.
FLOATS = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
# Ids that were made at random.
NAMES = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}|(?<![0-9a-f])[0-9a-f]{8}(?![0-9a-f])|0x[0-9a-f]+")


def world(path: Path | str, clock: Clock, *, shared: bool) -> MemoryStore:
    """Ada's memories of the session "one"; where it is shared, also those of another agent and of her other session."""
    store = MemoryStore(path, clock=clock, settings=Settings(embedder="hashing"))
    store.remember(
        "The harbour crane lifts forty tons", id="a1", tags=["crane"], entities=["Harbour"], agent="ada", session="one"
    )
    store.remember(
        "The harbour crane is painted green",
        id="a2",
        links=[Link("a1", "related", weight=0.1)],
        agent="ada",
        session="one",
    )
    store.remember("The night shift begins at ten", id="a3", on_conflict="ignore", agent="ada", session="one")
    clock.now += 10
    store.edit("a3", text="The night shift begins at eleven", why="moved")
    store.forget("a3")
    if shared:
        others(store)
    clock.now += 10
    return store


def others(store: MemoryStore) -> None:
    store.remember(
        "The harbour crane lifts fifty tons",
        id="b1",
        tags=["crane", "hidden"],
        entities=["Pier"],
        agent="bea",
        session="one",
    )
    store.remember(
        "Zebra stripes confuse the harbour flies", id="b2", links=[Link("a1", "smuggles")], agent="bea", session="one"
    )
    store.remember("Bea's plan for the harbour crane", id="b3", pinned=True, agent="bea", session="one")
    store.remember("The harbour crane lifts forty tons", id="a9", agent="ada", session="two")
    store.supersede("b1", "b3")
    store.link("b2", "b3", "depends_on")
    store.edit("b2", text="Zebra stripes attract the harbour flies")
    store.forget("a9")
    store.restore("a9")


def capabilities(scope: ScopeLevel = ScopeLevel.SESSION_ONLY) -> AgentCapabilities:
    return AgentCapabilities(scope)


def outcome(act: Callable[..., object], *given: object) -> str:
    """What came of it as one can see it: the answer, or the error with its sentence."""
    try:
        answer = act(*given)
    except NacreError as error:
        answer = f"{type(error).__name__}: {error}"
    return NAMES.sub("…", FLOATS.sub(lambda found: f"{float(found[0]):.6f}", shown(answer)))


def shown(answer: object) -> str:
    if isinstance(answer, Mapping):
        return "{" + ", ".join(f"{key}: {shown(value)}" for key, value in answer.items()) + "}"
    if isinstance(answer, str | bytes) or not hasattr(answer, "__iter__"):
        return repr(answer)
    return type(answer).__name__ + "[" + ", ".join(map(shown, answer)) + "]" + repr(answer)
