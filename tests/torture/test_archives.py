"""Imports of many memories: killed at any moment, undone whole."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.engine.operation_parts import PART, PART_GROWTH
from nacre.transfer.export import export_archive
from nacre.transfer.import_archive import import_archive

IMPORT = """
import sys
from nacre import MemoryStore
from nacre.transfer.import_archive import import_archive

store = MemoryStore(sys.argv[1], embedder="hashing")
print("ready", flush=True)
import_archive(store, sys.argv[2])
"""
STANDING = 10  # memories that were there before


def archive(folder: Path, count: int) -> Path:
    with MemoryStore(folder / "one.db", embedder="hashing") as source:
        source.remember_many({"id": f"m{number}", "text": f"Buoy {number} is green"} for number in range(count))
        export_archive(source, folder / "many.nacre")
    return folder / "many.nacre"


def killed_imports(folder: Path, kills: int, count: int) -> None:
    path, file = archive(folder, count), folder / "two.db"
    with MemoryStore(file, embedder="hashing") as store:
        store.remember_many(f"It stood here before, number {number}" for number in range(STANDING))
    chance = random.Random(3)
    for _ in range(kills):
        with subprocess.Popen([sys.executable, "-c", IMPORT, str(file), str(path)], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(chance.uniform(0, 1.5))
            child.kill()
        with MemoryStore(file, embedder="hashing") as store:
            done = store.count() - STANDING
            assert done == count or done % (PART // PART_GROWTH) == 0  # every part is a multiple of the least
            assert len(store.journal(limit=None)) == STANDING + done
            assert store.health(thorough=True).problems == ()
            if done == count:
                break
    with MemoryStore(file, embedder="hashing") as store:
        import_archive(store, path, on_conflict="skip")  # goes on where the last one was killed
        assert store.count() == STANDING + count
        assert len({entry.operation.batch for entry in store.journal(limit=count)}) == 1
        store.undo(store.journal(limit=1)[0].operation.batch)
        assert store.count() == STANDING
        assert store.health(thorough=True).problems == ()


@pytest.mark.slow
def test_an_import_that_is_killed_leaves_complete_parts_and_goes_on(tmp_path: Path) -> None:
    killed_imports(tmp_path, kills=2, count=1_500)


@pytest.mark.slow
def test_however_often_an_import_is_killed_it_leaves_complete_parts_and_goes_on(tmp_path: Path) -> None:
    killed_imports(tmp_path, kills=30, count=5_000)


@pytest.mark.slow
def test_twenty_thousand_are_one_operation_and_gone_with_one_undo(tmp_path: Path) -> None:
    path = archive(tmp_path, 20_000)
    store = MemoryStore(tmp_path / "two.db", embedder="hashing")
    done = import_archive(store, path)
    assert done.imported == store.count() == store.health().vectors == 20_000
    assert len({entry.operation.batch for entry in store.journal(limit=None)}) == 1
    store.undo()
    assert store.count() == 0 and not store.recall("Buoy 7 is green")
    assert store.health(thorough=True).problems == ()
