"""A wrong key must not touch what a crash left in the log of an encrypted store."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.errors import WrongKey
from nacre.settings import Settings

CRASHING = """
import os, sys
from nacre import MemoryStore
from nacre.settings import Settings
store = MemoryStore(sys.argv[1], settings=Settings(embedder="hashing", key="env:RIGHT"))
store.remember("The crane is green")
os._exit(9)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps the log of a process that ended by itself")
def test_a_wrong_key_after_a_crash_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.db"
    monkeypatch.setenv("RIGHT", "5a" * 32)
    monkeypatch.setenv("WRONG", "7c" * 32)
    assert subprocess.run([sys.executable, "-c", CRASHING, str(path)], check=False).returncode == 9
    log = path.with_name("s.db-wal")
    before = log.read_bytes()
    assert before  # what was written lies in the log alone
    with pytest.raises(WrongKey):
        MemoryStore(path, settings=Settings(embedder="hashing", key="env:WRONG"))
    assert log.read_bytes() == before
    with MemoryStore(path, settings=Settings(embedder="hashing", key="env:RIGHT")) as store:
        assert [memory.text for memory in store.list_recent()] == ["The crane is green"]
