"""Waiting memories are embedded beside the calls of others, and never in their way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.access.capabilities import AgentCapabilities, ScopeLevel
from nacre.engine import indexing
from nacre.errors import StorageError
from tests.embedders import Moody
from tests.waiting import wait_for

LIMIT = 60.0  # seconds; what is waited for takes milliseconds


@pytest.fixture
def pending(store: MemoryStore, embedder: Moody) -> MemoryStore:
    embedder.well = False
    store.remember_many([f"memory {number}" for number in range(5)])
    embedder.well = True
    return store


def waits_for(condition: Callable[[], bool]) -> bool:
    return wait_for(condition, "the embedding")


@pytest.mark.parametrize("call", [lambda store: store.recall("memory"), lambda store: store.remember("another")])
def test_a_call_lets_waiting_memories_be_embedded(pending: MemoryStore, call: Callable[[MemoryStore], object]) -> None:
    call(pending)
    assert waits_for(lambda: pending.stats().waiting_for_model == 0)
    assert len(pending.recall("memory", strategy="semantic")) == 5


def test_conflicts_of_what_was_stored_without_the_model_are_noted_with_its_vector(
    store: MemoryStore, embedder: Moody, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.conflicts.candidates.LEAST_SHARED_WORDS", 2.0)  # words alone compare nothing
    store.remember("The deploy day is Tuesday", id="old")
    embedder.well = False
    store.remember("We ship on Thursday; the deploy day moved", id="new")
    embedder.well = True
    assert store.review(kinds="conflict") == []
    store.recall("deploy day", touch=False)
    assert waits_for(lambda: bool(store.review(kinds="conflict")))
    assert [item.id for item in store.review(kinds="conflict")] == ["new:old"]
    assert {entry.operation.name for entry in store.journal(limit=None)} == {"remember"}
    store.undo()
    assert store.get("new") is None and store.get("old") is not None


@pytest.mark.parametrize("policy", ["ignore", "note"])
def test_what_was_not_to_be_compared_is_not_compared_later(
    embedder: Moody, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.conflicts.candidates.LEAST_SHARED_WORDS", 2.0)
    with MemoryStore(":memory:", embedder=embedder, on_conflict=policy) as store:
        store.remember("The deploy day is Tuesday")
        embedder.well = False
        if policy == "ignore":
            store.remember("We ship on Thursday; the deploy day moved")
        else:
            store.remember_many(["We ship on Thursday; the deploy day moved", "The lamp is green"])
        embedder.well = True
        assert store.catch_up() and store.review(kinds="conflict") == []


def test_no_thread_is_started_where_nothing_waits(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[threading.Thread] = []
    monkeypatch.setattr(threading.Thread, "start", started.append)
    store.remember("The kettle is blue")
    store.recall("kettle")
    assert [each.name for each in started if each.name == "nacre-catch-up"] == []


def test_a_step_for_which_another_process_left_nothing_does_nothing(store: MemoryStore, embedder: Moody) -> None:
    store.remember("The kettle is blue")
    embedder.well = False
    assert indexing.catch_up(store._engine) == 0


def test_where_nothing_waits_no_call_looks_for_it(
    store: MemoryStore, embedder: Moody, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.remember("The teapot is red")
    looked: list[int] = []
    backend = type(store.backend)
    pending_of = backend.pending

    def counted(self: object, limit: int) -> object:
        looked.append(limit)
        return pending_of(self, limit)  # type: ignore[arg-type]

    monkeypatch.setattr(backend, "pending", counted)
    for _ in range(3):
        store.recall("kettle")
    assert looked == []
    embedder.well = False
    store.remember("The kettle is blue")
    embedder.well = True
    store.recall("kettle")
    assert waits_for(lambda: store.stats().waiting_for_model == 0)


def test_a_recall_does_not_wait_while_somebody_writes(embedder: Moody) -> None:
    with MemoryStore(":memory:", embedder=embedder) as store:
        embedder.well = False
        store.remember("The kettle is blue")
        embedder.well = True
        answered: list[object] = []
        with store.backend.transaction():  # type: ignore[attr-defined]
            reader = threading.Thread(target=lambda: answered.append(store.recall("kettle", touch=False)))
            reader.start()
            reader.join(LIMIT)
            assert len(answered) == 1
        assert waits_for(lambda: store.stats().waiting_for_model == 0)


def test_an_agent_is_not_refused_because_somebody_elses_memory_waits(tmp_path: Path, embedder: Moody) -> None:
    can = AgentCapabilities(ScopeLevel.GLOBAL_READ)
    with (
        MemoryStore(tmp_path / "s.db", embedder=embedder) as everybody,
        MemoryStore(tmp_path / "s.db", embedder=embedder, agent="ada", session="s", capabilities=can) as ada,
    ):
        embedder.well = False
        everybody.remember("The kettle is blue")
        embedder.well = True
        assert [hit.memory.text for hit in ada.recall("kettle")] == ["The kettle is blue"]
        ada.remember("The teapot is red")
        assert ada.catch_up() == 0
        assert waits_for(lambda: everybody.stats().waiting_for_model == 0)


def test_a_model_that_fails_meanwhile_disturbs_nobody(pending: MemoryStore, embedder: Moody) -> None:
    embedder.well = False
    assert len(pending.recall("memory")) == 5
    assert pending.remember("another").text == "another"
    assert pending.stats().waiting_for_model == 6


@pytest.fixture
def held(pending: MemoryStore, embedder: Moody) -> Iterator[threading.Event]:
    """The model takes its time until it is released."""
    begun, released = threading.Event(), threading.Event()
    embed = embedder.embed

    def slow(texts: list[str]) -> object:
        if threading.current_thread() is not threading.main_thread():
            begun.set()
            released.wait(LIMIT)
        return embed(texts)

    embedder.embed = slow  # type: ignore[method-assign,assignment]
    pending.recall("memory")
    assert begun.wait(LIMIT)
    yield released
    released.set()


def test_closing_a_store_lets_the_step_that_is_under_way_end(pending: MemoryStore, held: threading.Event) -> None:
    held.set()
    pending.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "nacre-catch-up"]


def test_a_store_that_closes_during_a_long_step_is_closed_by_that_step(
    pending: MemoryStore, held: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "CLOSING_SECONDS", 0.0)
    pending.close()
    held.set()
    assert waits_for(lambda: not [each for each in threading.enumerate() if each.name == "nacre-catch-up"])
    if hasattr(pending.backend, "path"):
        with pytest.raises(StorageError, match="closed"):
            pending.count()


@pytest.mark.usefixtures("held")
def test_only_one_step_is_under_way_at_a_time(pending: MemoryStore) -> None:
    pending.recall("memory")
    assert len([thread for thread in threading.enumerate() if thread.name == "nacre-catch-up"]) == 1


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "STEP", 1)


@pytest.mark.usefixtures("small_steps")
def test_a_call_beside_a_step_lets_another_step_follow(pending: MemoryStore, held: threading.Event) -> None:
    for _ in range(3):
        pending.recall("memory")
    held.set()
    assert waits_for(lambda: not [each for each in threading.enumerate() if each.name == "nacre-catch-up"])
    assert pending.stats().waiting_for_model == 3
