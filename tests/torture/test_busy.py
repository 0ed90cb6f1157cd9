"""A process that keeps the write lock too long: the others say so and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.errors import StoreBusy
from nacre.storage.sqlite import connection
from tests.torture.acts import observed
from tests.torture.crowd import PROCESSES, started
from tests.torture.workers import hold_write_lock, opened

PATIENCE = 0.2  # seconds, instead of the ten that a user gets


@contextmanager
def lock_held_elsewhere(path: str) -> Iterator[None]:
    here, there = PROCESSES.Pipe()
    process = started(hold_write_lock, path, there)
    try:
        here.recv_bytes()
        yield
    finally:
        here.send_bytes(b"enough")
        process.join()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryStore]:
    monkeypatch.setattr(connection, "BUSY_SECONDS", PATIENCE)
    with opened(str(tmp_path / "memory.db")) as store:
        store.remember("the granite quarry closes in winter", id="old")
        store.remember("the granite quarry is open all year", id="new")
        yield store


def path_of(tmp_path: Path) -> str:
    return str(tmp_path / "memory.db")


def test_every_act_on_a_store_that_is_held_elsewhere_says_busy_and_changes_nothing(
    store: MemoryStore, tmp_path: Path
) -> None:
    before = observed(store)
    with lock_held_elsewhere(path_of(tmp_path)):
        for act in (
            lambda: store.remember("a raven nests in the quarry"),
            lambda: store.remember_many(["one raven", "two ravens"]),
            lambda: store.edit("old", text="the quarry is gone"),
            lambda: store.supersede("old", "new"),
            lambda: store.forget("old"),
            lambda: store.purge("old"),
            lambda: store.undo(),
        ):
            with pytest.raises(StoreBusy, match=r"nothing was changed"):
                act()
        assert observed(store) == before
    assert observed(store) == before
    assert store.health(thorough=True).problems == ()


def test_a_store_that_was_held_elsewhere_takes_acts_again_once_it_is_free(store: MemoryStore, tmp_path: Path) -> None:
    with lock_held_elsewhere(path_of(tmp_path)), pytest.raises(StoreBusy):
        store.supersede("old", "new")
    store.supersede("old", "new")
    assert [hit.memory.id for hit in store.recall("granite quarry")] == ["new"]


def test_reading_goes_on_while_the_store_is_held_elsewhere(store: MemoryStore, tmp_path: Path) -> None:
    with lock_held_elsewhere(path_of(tmp_path)):
        assert {hit.memory.id for hit in store.recall("granite quarry")} == {"old", "new"}
        assert {memory.id for memory in store.iterate()} == {"old", "new"}
        with opened(path_of(tmp_path)) as another:
            assert another.count() == 2


def test_a_lost_touch_leaves_later_acts_as_durable_as_before(store: MemoryStore, tmp_path: Path) -> None:
    with lock_held_elsewhere(path_of(tmp_path)):
        store.recall("granite quarry")
    with store._store.transaction(), store._store._connected() as held:  # type: ignore[attr-defined]
        assert held.pragma("synchronous") == 2  # full
