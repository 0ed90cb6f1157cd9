"""Files that are no store, disks that are full, folders that cannot be written."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from nacre import MemoryStore
from nacre.errors import NotAStore, SchemaTooNew, StorageError, StoreBusy, StoreFull, StoreReadOnly, StoreUnreachable
from nacre.storage.sqlite import SQLiteBackend, connection
from tests.embedders import WordBag


def opened(path: Path | str) -> MemoryStore:
    return MemoryStore(path, embedder=WordBag())


def filled(path: Path, count: int = 50) -> Path:
    with opened(path) as store:
        store.remember_many([f"memory number {i} " + "word " * 50 for i in range(count)])
    return path


def test_a_directory_gets_a_store_inside(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.remember("x")
    assert (tmp_path / "nacre.db").is_file()
    with opened(f"{tmp_path}/new/") as store:
        store.remember("x")
    assert (tmp_path / "new" / "nacre.db").is_file()


def test_the_backend_itself_refuses_a_directory(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable, match="it is a directory"):
        SQLiteBackend(tmp_path)


def test_missing_folders_are_made(tmp_path: Path) -> None:
    with opened(tmp_path / "a" / "b" / "s.db") as store:
        store.remember("x")
    assert (tmp_path / "a" / "b" / "s.db").is_file()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnreachable, match="Check the path"):
        opened(tmp_path / "file" / "s.db")


@pytest.mark.parametrize(
    "content",
    [b"just some text, longer than a header " * 99, b"short", b"\x00" * 5000, b"SQLite format 3\x00" + b"\xff" * 500],
)
def test_another_file_is_refused_and_left_as_it_was(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "s.db"
    file.write_bytes(content)
    with pytest.raises(NotAStore, match="Restore a backup, or choose another file"):
        opened(file)
    assert file.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == ["s.db"]


def test_a_foreign_database_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    with sqlite3.connect(file) as foreign:
        foreign.execute("CREATE TABLE memory(id)")
    foreign.close()
    content = file.read_bytes()
    with pytest.raises(NotAStore, match="another program"):
        opened(file)
    assert file.read_bytes() == content


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "s.db").touch()
    with opened(tmp_path / "s.db") as store:
        assert store.count() == 0


@pytest.mark.parametrize("share", [0.01, 0.1, 0.3, 0.5, 0.9])
def test_a_truncated_store_is_told_whatever_is_asked(tmp_path: Path, share: float) -> None:
    file = filled(tmp_path / "s.db", 200)
    with file.open("rb+") as raw:
        raw.truncate(int(file.stat().st_size * share))
    with pytest.raises(NotAStore), opened(file) as store:
        store.list_recent(1000)
        store.recall("memory")
        store.remember("x")
        problems = store.health(thorough=True).problems
        raise NotAStore(file, problems[0])


def test_a_damaged_page_is_told_by_the_examination(tmp_path: Path) -> None:
    file = filled(tmp_path / "s.db", 300)
    with file.open("rb+") as raw:
        raw.seek(4096 * 20)
        raw.write(os.urandom(4096 * 8))
    try:
        with opened(file) as store:
            problems = store.health(thorough=True).problems
    except NotAStore as error:
        problems = (str(error),)
    assert problems
    assert "nacre doctor --fix" in problems[0] and "backup" in problems[0]


def test_a_newer_schema_is_refused_and_the_upgrade_named(tmp_path: Path) -> None:
    file = filled(tmp_path / "s.db", 1)
    raw = apsw.Connection(str(file))
    raw.pragma("user_version", 99)
    raw.close()
    with pytest.raises(SchemaTooNew, match=r"schema 99.*Upgrade nacre"):
        opened(file)


def test_the_limit_of_pages_reads_as_a_full_disk_and_changes_nothing(tmp_path: Path) -> None:
    with opened(filled(tmp_path / "s.db")) as store:
        driver = store._store._connections.get()  # type: ignore[attr-defined]
        driver.pragma("max_page_count", driver.pragma("page_count"))
        before = (store.count(), store.journal(limit=None))
        with pytest.raises(StoreFull, match="nothing was changed"):
            store.remember_many(["another " * 100 for _ in range(100)])
        assert (store.count(), store.journal(limit=None)) == before
        driver.pragma("max_page_count", 1_000_000)
        store.remember("room again")
        assert store.count() == before[0] + 1
        assert store.health(thorough=True).problems == ()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if (
        not mount
        or subprocess.run([mount, "-t", "tmpfs", "-o", "size=400k", "tmpfs", disk], capture_output=True).returncode
    ):
        pytest.skip("this machine does not let a test mount a disk of its own")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def test_a_full_disk_says_so_and_keeps_what_was_there(small_disk: Path) -> None:
    with opened(small_disk / "s.db") as store:
        store.remember("the first")
        with pytest.raises(StoreFull, match="Free some space"):
            for number in range(1000):
                store.remember(f"filler {number} " + "word " * 500)
        assert store.recall("first")[0].memory.text == "the first"
        assert len(store.journal(limit=None)) == store.count()
        assert store.health(thorough=True).problems == ()


def test_a_store_cannot_be_made_on_a_full_disk(small_disk: Path) -> None:
    with pytest.raises(OSError, match="No space left"):
        (small_disk / "filler").write_bytes(b"x" * 1_000_000)
    with pytest.raises(StorageError):
        opened(small_disk / "s.db")


def test_a_read_only_disk_is_told_on_writing(small_disk: Path) -> None:
    filled(small_disk / "s.db", 3)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(StoreReadOnly, match="read-only"), opened(small_disk / "s.db") as store:
        store.remember("x")


def test_a_disk_made_read_only_under_an_open_store_still_answers(small_disk: Path) -> None:
    with opened(small_disk / "s.db") as store:
        kept = store.remember("something")
        store._store._connections.get().pragma("query_only", 1)  # type: ignore[attr-defined]
        assert store.recall("something")[0].memory.id == kept.id
        with pytest.raises(StoreReadOnly):
            store.remember("x")


def test_a_writer_that_never_ends_is_told_after_the_patience(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.2)
    with opened(filled(tmp_path / "s.db", 3)) as store:
        other = apsw.Connection(str(tmp_path / "s.db"))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="nothing was changed"):
            store.remember("x")
        assert store.recall("memory number 1", k=1)[0].memory.access_count == 0
        other.execute("ROLLBACK")
        other.close()
        store.remember("x")
        assert store.count() == 4


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = opened(tmp_path / "s.db")
    store.close()
    store.close()
    with pytest.raises(StorageError, match="closed; open it again"):
        store.count()


@pytest.mark.parametrize("call", ["get", "resolve_id", "purge", "restore", "journal", "forget"])
def test_an_id_that_no_text_can_hold_is_not_found_or_refused(tmp_path: Path, call: str) -> None:
    from nacre import NacreError

    with opened(filled(tmp_path / "s.db", 1)) as store:
        try:
            found = getattr(store, call)("\ud800")
        except NacreError:
            found = None
        assert not found
        assert store.count() == 1
