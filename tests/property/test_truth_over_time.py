"""Whatever is done to a store, it can say how it stood at any moment, and go back there act by act."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings

from nacre import MemoryStore
from nacre.protocols import Health
from tests import postgres_server
from tests.embedders import WordBag
from tests.property.acting import Choice, Rising, choices, perform, told

Place = Callable[[], Path | str]

SOME = settings().max_examples // 2  # each example is a whole life


@dataclass(frozen=True, slots=True)
class Moment:
    """How a store stood at a time, when so many acts were in its journal."""

    at: float
    acts: int
    memories: dict[str, str]
    words: dict[str, object]


@pytest.fixture(params=["sqlite", "in_memory", pytest.param("postgres", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    numbers = count()
    places: dict[str, Place] = {
        "sqlite": lambda: tmp_path / f"{next(numbers)}.db",
        "in_memory": lambda: ":memory:",
        "postgres": postgres_server.empty_database,
    }
    return places[request.param]


def content(store: MemoryStore, at: float | None = None) -> dict[str, str]:
    found = store.list_recent(10_000, include_trashed=True, include_superseded=True, include_expired=True, as_of=at)
    return {memory.id: told(memory) for memory in sorted(found, key=lambda memory: memory.id)}


def batches(store: MemoryStore) -> list[str]:
    """Oldest first."""
    return list(dict.fromkeys(entry.operation.batch for entry in store.journal(limit=None, newest_first=False)))


def now(store: MemoryStore, clock: Rising) -> Moment:
    return Moment(clock(), len(batches(store)), content(store), dict(store.backend.terms("relation")))


def make_experience(store: MemoryStore, clock: Rising, acts: list[Choice]) -> list[Moment]:
    moments = [now(store, clock)]
    for choice in acts:
        perform(store, choice)
        moments.append(now(store, clock))
    return moments


def whole(health: Health) -> bool:
    return health.problems == () and health.pending == 0


@pytest.mark.slow
@settings(max_examples=SOME)
@given(acts=choices)
def test_every_earlier_moment_can_be_looked_at_as_it_was(place: Place, acts: list[Choice]) -> None:
    clock = Rising()
    with MemoryStore(place(), embedder=WordBag(16), clock=clock) as store:
        for moment in make_experience(store, clock, acts):
            assert content(store, moment.at) == moment.memories
            for id in (*moment.memories, "nobody"):
                found = store.get(id, as_of=moment.at)
                assert (found and told(found)) == moment.memories.get(id)
        assert whole(store.health(thorough=True))


@pytest.mark.slow
@settings(max_examples=SOME)
@given(acts=choices)
def test_undoing_act_by_act_goes_back_through_every_moment_to_the_start(place: Place, acts: list[Choice]) -> None:
    clock = Rising()
    with MemoryStore(place(), embedder=WordBag(16), clock=clock) as store:
        moments = {moment.acts: moment for moment in make_experience(store, clock, acts)}
        done = batches(store)
        for left in range(len(done), 0, -1):
            assert_stands(store, moments.get(left))
            store.undo(done[left - 1])
        assert_stands(store, moments[0])
        health = store.health(thorough=True)
        assert whole(health)
        assert health.memories == 0


def assert_stands(store: MemoryStore, moment: Moment | None) -> None:
    if moment is not None:
        assert content(store) == moment.memories
        assert dict(store.backend.terms("relation")) == moment.words
