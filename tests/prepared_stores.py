"""Store files for the tests that are not about making one: copies of one that was made once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from nacre.storage.sqlite import SQLiteBackend


def empty_store(path: Path) -> Path:
    """Puts a store there in which nothing was written yet: making the tables takes longer than most tests."""
    path.touch(mode=0o600)
    path.write_bytes(empty_content())
    return path


def store_at(path: Path) -> Path:
    """The store there; an empty one where there is none yet."""
    return path if path.exists() else empty_store(path)


@cache
def empty_content() -> bytes:
    with TemporaryDirectory() as folder:
        SQLiteBackend(Path(folder, "store.db")).close()
        (file,) = Path(folder).iterdir()  # nothing waits in a log beside it
        return file.read_bytes()
