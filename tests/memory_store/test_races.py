"""What another writer does between a check and the transaction that relies on it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nacre import MemoryStore
from nacre.engine import engine
from nacre.errors import InvalidInput, StorageError, UndoBlocked
from nacre.model import Memory
from nacre.protocols import Committed, Expected, Outdated, Reader
from tests.overtaken import Overtaken
from tests.prepared_stores import empty_store


def overtaken(store: MemoryStore, meanwhile: Callable[[MemoryStore], object]) -> MemoryStore:
    """A view of the store whose next operation is overtaken by another one."""
    view = store.as_actor("slow")
    backend = Overtaken(store.backend, lambda: meanwhile(store))
    view._engine = replace(view._engine, store=backend)  # type: ignore[arg-type]
    return view


@pytest.fixture(params=["sqlite", pytest.param("in_memory", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    place = empty_store(tmp_path / "s.db") if request.param == "sqlite" else ":memory:"
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
        now[0] = 3_000.0
        assert store.list_recent(as_of=1_500.0) == []


def test_an_edit_of_what_somebody_else_edits_meanwhile_keeps_both(store: MemoryStore) -> None:
    slow = overtaken(store, lambda other: other.edit("a", text="The kettle is red", tags=["theirs"]))
    edited = slow.edit("a", importance=0.9)
    (memory,) = store.get_many(["a"])
    assert (memory.text, memory.tags, memory.importance) == ("The kettle is red", ("theirs",), 0.9)
    assert (edited, edited.version) == (memory, memory.version) and memory.version == 3
    assert store.recall("red kettle", strategy="keyword", touch=False)[0].memory.id == "a"


def test_an_edit_of_a_memory_that_is_replaced_by_another_with_its_id_changes_the_new_one(store: MemoryStore) -> None:
    def replaced(other: MemoryStore) -> None:
        other.purge("a")
        other.remember("The kettle is new", id="a", on_conflict="ignore")

    overtaken(store, replaced).edit("a", importance=0.9)
    (memory,) = store.get_many(["a"])
    assert (memory.text, memory.importance, memory.version) == ("The kettle is new", 0.9, 2)


def test_an_id_that_somebody_else_takes_meanwhile_is_refused(store: MemoryStore) -> None:
    slow = overtaken(store, lambda other: other.remember("Tom likes tea", id="b", on_conflict="ignore"))
    with pytest.raises(InvalidInput, match="'b' exists already"):
        slow.remember("Tom likes coffee", id="b", on_conflict="ignore")
    assert [memory.text for memory in store.get_many(["b"])] == ["Tom likes tea"]


def test_a_relation_that_is_registered_meanwhile_keeps_what_was_said_of_it(store: MemoryStore) -> None:
    store.remember("Tom likes tea", id="b", on_conflict="ignore")
    overtaken(store, lambda other: other.register_relation("warms", "makes hot")).link("a", "b", "warms")
    assert store.relations()["warms"] == "makes hot"
    assert [entry.kind for entry in store.journal(limit=2)] == ["memory", "relation"]


def test_a_purge_removes_the_link_that_somebody_makes_meanwhile(store: MemoryStore) -> None:
    store.remember("Tom likes tea", id="b", on_conflict="ignore")
    assert overtaken(store, lambda other: other.link("b", "a")).purge("a") == 1
    assert [memory.links for memory in store.get_many(["b"])] == [()]


def test_an_undo_is_refused_where_somebody_builds_on_its_operation_meanwhile(store: MemoryStore) -> None:
    slow = overtaken(store, lambda other: other.edit("a", text="The kettle is red"))
    with pytest.raises(UndoBlocked):
        slow.undo(store.journal()[0].operation.batch)
    assert [memory.text for memory in store.get_many(["a"])] == ["The kettle is red"]


def test_a_use_that_is_counted_meanwhile_is_kept(store: MemoryStore) -> None:
    overtaken(store, lambda other: other.recall("kettle")).edit("a", importance=0.9)
    assert [(memory.access_count, memory.importance) for memory in store.get_many(["a"])] == [(1, 0.9)]


class TornReads(Overtaken):
    """Somebody writes after a plan has read its first memories."""

    def observed(self, expected: Expected) -> Reader:
        reader = self._below.observed(expected)
        read = reader.get_many

        def torn(space: str, ids: Sequence[str]) -> list[Memory]:
            memories = read(space, ids)
            if self._meanwhile:
                self._meanwhile.pop()()
            return memories

        reader.get_many = torn  # type: ignore[method-assign]
        return reader

    def commit(self, *given: Any) -> Committed | Outdated:
        return self._below.commit(*given)


def test_an_error_that_rests_on_what_was_never_so_at_one_time_is_not_raised(store: MemoryStore) -> None:
    """The plan reads that `b` replaced `a`, and then that `c` replaced `b`, which was so only after `a` was free."""
    for id in ("b", "c"):
        store.remember(f"Tom likes {id}", id=id, on_conflict="ignore")
    store.supersede("a", "b")

    def meanwhile() -> None:
        store.restore("a")
        store.supersede("b", "c")

    view = store.as_actor("slow")
    view._engine = replace(view._engine, store=TornReads(store.backend, meanwhile))  # type: ignore[arg-type]
    view.supersede("c", "a")
    assert [memory.superseded_by for memory in store.get_many(["a", "b", "c"])] == ["", "c", "a"]


def test_a_write_that_is_overtaken_again_and_again_gives_up_with_a_clear_error(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "ATTEMPTS", 3)
    monkeypatch.setattr(engine, "PATIENCE_SECONDS", 0.0)
    numbers = iter(range(1_000))
    slow = overtaken(store, lambda other: other.edit("a", tags=[f"t{next(numbers)}"]))
    slow._engine.store._meanwhile *= 100  # type: ignore[attr-defined]
    with pytest.raises(StorageError, match=r"3 times .* nothing was written"):
        slow.edit("a", importance=0.9)
    assert [memory.tags for memory in store.get_many(["a"])] == [("t2",)]


@pytest.mark.slow
def test_many_threads_that_edit_one_memory_lose_nothing(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "s.db", embedder="hashing") as store:
        store.remember("The kettle is blue", id="a")

        def tagged(tag: str, memory: Memory) -> Memory:
            return replace(memory, tags=(*memory.tags, tag))

        def add(name: int) -> None:
            with MemoryStore(tmp_path / "s.db", embedder="hashing") as own:
                for number in range(10):
                    own.write("tag", edits={"a": partial(tagged, f"{name}-{number}")})

        threads = [threading.Thread(target=add, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (memory,) = store.get_many(["a"])
        assert len(set(memory.tags)) == 40 and memory.version == 41
        assert [entry.seq for entry in store.journal(limit=None)] == list(range(41, 0, -1))
