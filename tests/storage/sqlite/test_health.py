"""The examination of a file: a sound one is called sound, also when others have written to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nacre import MemoryStore

WRITE_AND_PURGE = """
import sys
from nacre import MemoryStore
with MemoryStore(sys.argv[1], embedder="hashing", on_conflict="ignore") as store:
    for number in range(20):
        made = store.remember_many(f"alpha beta gamma {number} {place} delta" for place in range(40))
        store.purge(*(memory.id for memory in made))
"""


@pytest.mark.slow
def test_a_sound_file_is_called_sound_after_another_process_has_written(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with MemoryStore(path, embedder="hashing", on_conflict="ignore") as store:
        store.remember("The lamp is green")
        assert store.health(thorough=True).problems == ()
        subprocess.run([sys.executable, "-c", WRITE_AND_PURGE, str(path)], check=True)
        assert store.health(thorough=True).problems == ()
