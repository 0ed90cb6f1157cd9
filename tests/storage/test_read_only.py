"""A store on a disk or in a folder that cannot be written is read as any other."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.errors import StoreReadOnly
from nacre.lifecycle import doctor
from nacre.memory_store import MemoryStore
from nacre.settings import Settings
from nacre.storage.sqlite.connection import make_private
from nacre.transfer.export import export_archive


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Made read-only by `lock`; root may write into any folder, and needs a disk of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = os.name != "nt" and os.geteuid() == 0
    if mounted:
        mount = shutil.which("mount")
        asked = [mount or "", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
        if mount is None or subprocess.run(asked, capture_output=True, check=False).returncode:
            pytest.skip("this machine does not let a test mount a disk of its own")
    yield folder
    if mounted:
        subprocess.run(["umount", "-l", folder], check=True)
    else:
        folder.chmod(0o700)


def lock(folder: Path) -> None:
    if os.geteuid() == 0:
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    else:
        (folder / "s.db").chmod(0o400)
        folder.chmod(0o500)


@pytest.mark.skipif(os.name == "nt", reason="folders have no such permission there")
@pytest.mark.parametrize("secret", ["", "5a" * 32], ids=["plain", "encrypted"])
def test_a_read_only_store_is_read_and_only_writing_is_refused(disk: Path, tmp_path: Path, secret: str) -> None:
    (tmp_path / "key").write_text(secret)
    (tmp_path / "key").chmod(0o600)
    known = Settings(
        store=str(disk / "s.db"), embedder="hashing", key=f"file:{tmp_path / 'key'}" if secret else ""
    )  # fmt: skip
    with MemoryStore(settings=known) as store:
        kept = store.remember("The harbour opens at dawn")
    lock(disk)
    with MemoryStore(settings=known) as store:
        assert [memory.id for memory in store.list_recent()] == [kept.id]
        assert store.recall("harbour")[0].memory.text == kept.text
        assert (store.count(), len(store.journal())) == (1, 1)
        assert store.recall("harbour")[0].memory.access_count == 0, "a use is not noted"
        assert export_archive(store, tmp_path / "all.nacre").count == 1
        assert store.backup(tmp_path / "copy.db").exists()
        with pytest.raises(StoreReadOnly, match="read-only"):
            store.remember("The harbour is closed")
    assert [each for each in doctor.examine(known) if each.level == "problem" and each.check != "disk"] == []


@pytest.mark.skipif(os.name == "nt", reason="side files have no such mode there")
def test_a_store_that_was_read_only_can_be_written_after_chmod(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    with MemoryStore(file, embedder="hashing") as store:
        store.remember("The harbour opens at dawn")
    sides = [tmp_path / f"s.db{part}" for part in ("-wal", "-shm")]
    for side in sides:  # as SQLite leaves them after reading a store of this mode
        side.touch()
        side.chmod(0o400)
    with MemoryStore(file, embedder="hashing") as store:
        assert all(side.stat().st_mode & 0o777 == 0o600 for side in sides)
        store.remember("The harbour is closed")
        assert store.count() == 2


@pytest.mark.skipif(os.name == "nt", reason="side files have no such mode there")
def test_the_side_files_of_a_read_only_store_stay_read_only(tmp_path: Path) -> None:
    file, side = tmp_path / "s.db", tmp_path / "s.db-shm"
    for each in (file, side):
        each.touch()
        each.chmod(0o400)
    make_private(file)
    assert side.stat().st_mode & 0o777 == 0o400
