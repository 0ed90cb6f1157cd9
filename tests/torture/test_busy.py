"""A process that keeps the write lock too long: the others say so and change nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.errors import StoreBusy, StoreUnreachable
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


def test_an_act_waits_for_the_disk_and_a_use_does_not(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(str(Path(f"/proc/self/fd/{handle}").readlink())))
    with lock_held_elsewhere(path_of(tmp_path)):
        store.recall("granite quarry")
    store.recall("granite quarry")
    assert synced == []
    store.tag("old", add=["stone"])
    assert synced == [f"{path_of(tmp_path)}-wal"]


def test_an_act_that_cannot_reach_the_disk_says_so(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(StoreUnreachable, match="may not be on the disk: Input/output error"):
        store.tag("old", add=["stone"])
