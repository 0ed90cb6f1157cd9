"""Copies in a folder: whole, named by time, the oldest going last."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput, StorageError
from nacre.lifecycle.backups import Backups, made_at
from tests.lifecycle.aged import DAY, NOW, Turned, opened


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return opened(tmp_path / "s.db")


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_backup_is_a_store_like_its_own(store: MemoryStore, tmp_path: Path) -> None:
    kept = store.remember("kept", tags=["a"])
    made = Backups(tmp_path / "deep" / "b").make(store, NOW)
    assert made.name == "nacre-20270115T080000Z.db"
    assert names(made.parent) == [made.name]
    with opened(made) as copy:
        assert copy.get(kept.id) == kept
        assert copy.health(thorough=True).problems == ()
        assert [hit.memory.id for hit in copy.recall("kept")] == [kept.id]
        assert copy.journal() == store.journal()


def test_the_oldest_goes_when_a_newer_one_stands(store: MemoryStore, tmp_path: Path) -> None:
    backups = Backups(tmp_path / "b", keep=2)
    made = [backups.make(store, NOW + day * DAY) for day in range(4)]
    assert backups.files() == made[2:]
    assert backups.newest_at() == made_at(made[3]) == NOW + 3 * DAY


def test_copies_that_a_clock_named_which_was_set_back_since_go_first(store: MemoryStore, tmp_path: Path) -> None:
    backups = Backups(tmp_path / "b", keep=3)
    for day in range(3):
        backups.make(store, NOW + (1000 + day) * DAY)
    made = [backups.make(store, NOW + day * DAY) for day in range(3)]
    assert backups.files() == made


def test_signs_in_the_name_of_a_store_are_no_pattern(store: MemoryStore, tmp_path: Path) -> None:
    backups = Backups(tmp_path / "b", keep=2, name="notes[1]*")
    made = [backups.make(store, NOW + day * DAY) for day in range(3)]
    assert backups.files() == made[1:] == sorted((tmp_path / "b").iterdir())


def test_a_backup_that_fails_costs_no_older_one(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backups = Backups(tmp_path / "b", keep=1)
    first = backups.make(store, NOW)

    def fail(_self: object, _path: object) -> Path:
        raise StorageError("no room")

    monkeypatch.setattr(MemoryStore, "backup", fail)
    with pytest.raises(StorageError):
        backups.make(store, NOW + DAY)
    assert backups.files() == [first]


def test_two_in_one_second_both_stand(store: MemoryStore, tmp_path: Path) -> None:
    backups = Backups(tmp_path / "b")
    assert backups.make(store, NOW) != backups.make(store, NOW)
    assert len(backups.files()) == 2


def test_other_files_of_the_folder_are_nobodys_business(store: MemoryStore, tmp_path: Path) -> None:
    folder = tmp_path / "b"
    folder.mkdir()
    others = [
        "nacre-notes.db",
        "other-20200101T000000Z.db",
        "nacre-x-20200101T000000Z.db",
        "nacre-20200101T000000Z.txt",
    ]
    for name in others:
        (folder / name).write_text("x")
    Backups(folder, keep=1).make(store, NOW)
    Backups(folder, keep=1).make(store, NOW + DAY)
    assert set(others) < set(names(folder)) and len(names(folder)) == len(others) + 1


def test_what_an_interrupted_copy_left_is_cleared_away_in_time(store: MemoryStore, tmp_path: Path) -> None:
    folder = tmp_path / "b"
    folder.mkdir()
    for name, age in (("old", 2 * DAY), ("new", 0)):
        left = folder / f".nacre-20200101T000000Z.db.{name}.part"
        left.write_text("x")
        os.utime(left, (time.time() - age,) * 2)
    Backups(folder).make(store, NOW)
    assert [name for name in names(folder) if name.endswith("part")] == [".nacre-20200101T000000Z.db.new.part"]


def test_none_can_be_kept_by_making_none(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="1 or more"):
        Backups(tmp_path, keep=0)
    assert Backups(tmp_path / "none").files() == [] and Backups(tmp_path).newest_at() is None
    with pytest.raises(InvalidInput, match="names those that do"):
        made_at(tmp_path / "nacre.db")


def test_the_face_copies_to_a_file_or_into_a_folder(tmp_path: Path) -> None:
    with opened(tmp_path / "s.db", Turned()) as store:
        store.remember("x")
        assert store.backup(tmp_path / "copy.db") == tmp_path / "copy.db"
        assert store.backup(f"{tmp_path}/new/") == tmp_path / "new" / "nacre-20270115T080000Z.db"
        with pytest.raises(InvalidInput, match="never replaces"):
            store.backup(tmp_path / "copy.db")
        with pytest.raises(InvalidInput, match="never replaces"):
            store.backup(tmp_path / "s.db")
        (tmp_path / "orphan.db-wal").write_text("of another file")
        with pytest.raises(InvalidInput, match=r"orphan\.db-wal"):
            store.backup(tmp_path / "orphan.db")
        (tmp_path / "file").write_text("x")
        with pytest.raises(StorageError, match="another place"):
            store.backup(tmp_path / "file" / "copy.db")
    assert not list(tmp_path.rglob("*.part*"))


@pytest.mark.skipif(os.name == "nt", reason="other permissions")
def test_a_copy_may_be_read_by_whoever_may_read_the_store(tmp_path: Path) -> None:
    with opened(tmp_path / "s.db") as store:
        (tmp_path / "s.db").chmod(0o600)
        assert store.backup(tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
