"""What another writer does between a check and the transaction that relies on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput
from nacre.protocols import Backend, Transaction


class Overtaken:
    """A backend to which somebody else writes just before its next transaction."""

    def __init__(self, below: Backend, meanwhile: Callable[[], object]) -> None:
        self._below = below
        self._meanwhile: list[Callable[[], object]] = [meanwhile]

    def transaction(self) -> AbstractContextManager[Transaction]:
        if self._meanwhile:
            self._meanwhile.pop()()
        return self._below.transaction()

    def __getattr__(self, name: str) -> object:
        return getattr(self._below, name)


def overtaken(store: MemoryStore, meanwhile: Callable[[MemoryStore], object]) -> MemoryStore:
    """A view of the store whose next operation is overtaken by another one."""
    view = store.as_actor("slow")
    backend = Overtaken(store._store, lambda: meanwhile(store))
    view._engine = replace(view._engine, store=backend)  # type: ignore[arg-type]
    return view


@pytest.fixture(params=["sqlite", pytest.param("in_memory", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    place = tmp_path / "s.db" if request.param == "sqlite" else ":memory:"
    with MemoryStore(place, embedder="hashing") as opened:
        opened.remember("The kettle is blue", id="a", confidence=0.2)
        yield opened


def status(store: MemoryStore) -> str:
    memory = store.get("a")
    assert memory is not None
    return memory.status


@pytest.mark.parametrize("mark", ["archive", "pin"])
def test_marking_a_memory_that_is_forgotten_meanwhile_leaves_it_in_the_trash(store: MemoryStore, mark: str) -> None:
    slow = overtaken(store, lambda other: other.forget("a"))
    assert getattr(slow, mark)("a") == []
    assert status(store) == "trashed"
    assert [entry.operation.name for entry in store.journal()] == ["forget", "remember"]


def test_forgetting_a_memory_that_is_purged_meanwhile_forgets_nothing(store: MemoryStore) -> None:
    assert overtaken(store, lambda other: other.purge("a")).forget("a") is False


def test_forgetting_a_memory_that_is_forgotten_meanwhile_is_not_journaled_twice(store: MemoryStore) -> None:
    assert overtaken(store, lambda other: other.forget("a")).forget("a") is False
    assert [entry.operation.name for entry in store.journal()] == ["forget", "remember"]


def test_a_decision_on_a_memory_that_is_forgotten_meanwhile_is_refused(store: MemoryStore) -> None:
    (item,) = store.review(kinds="unvalidated")
    with pytest.raises(InvalidInput, match="trashed"):
        overtaken(store, lambda other: other.forget("a")).decide(item, "validate")
    assert [entry.operation.name for entry in store.journal()] == ["forget", "remember"]


def test_renaming_a_space_that_is_renamed_meanwhile_is_refused(store: MemoryStore) -> None:
    slow = overtaken(store, lambda other: other.rename_space("second"))
    with pytest.raises(InvalidInput, match="no space 'default'"):
        slow.rename_space("third")
    assert store.spaces() == {"second": 1}


def test_the_times_of_operations_follow_the_order_in_which_they_were_written(tmp_path: Path) -> None:
    ticks = iter(range(1_000, 2_000))
    with MemoryStore(tmp_path / "s.db", embedder="hashing", clock=lambda: float(next(ticks))) as store:
        overtaken(store, lambda other: other.remember("The kettle is blue", id="second")).remember("Tea", id="first")
        entries = store.journal(newest_first=False)
        assert [entry.memory_id for entry in entries] == ["second", "first"]
        times = [entry.operation.at for entry in entries]
        assert times == sorted(times)
        assert [memory.id for memory in store.list_recent(as_of=times[0])] == ["second"]


def test_a_clock_that_runs_backwards_does_not_change_what_was_known_at_a_moment(tmp_path: Path) -> None:
    now = [2_000.0]
    with MemoryStore(tmp_path / "s.db", embedder="hashing", clock=lambda: now[0]) as store:
        store.remember("The kettle is blue", id="a")
        now[0] = 1_000.0
        store.remember("The kettle is red", id="b", on_conflict="ignore")
        store.purge("a")
        assert {entry.operation.at for entry in store.journal()} == {2_000.0}
        assert store.list_recent(as_of=1_500.0) == []
