"""Points out data of the systems that Nacre replaces, where one of them is opened over it."""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path

from nacre.memory_store import MemoryStore

CHROMA_FILE = "chroma.sqlite3"


def not_read(folder: Path | str, what: str, space: str) -> str:
    """A sentence that ends with the command to paste."""
    command = shlex.join(["nacre", "--store", str(folder), "--space", space, "import", str(folder), "--yes"])
    return f"{folder} holds {what}, which are not read from there. To bring them in: {command}"


def is_empty(store: MemoryStore) -> bool:
    return not store.count(include_superseded=True, include_archived=True)


def warn_of_chroma(folder: Path | str, store: MemoryStore) -> None:
    """While the store has nothing of its own: once imported, the old file may stay."""
    if (Path(folder) / CHROMA_FILE).exists() and is_empty(store):
        warnings.warn(not_read(folder, "memories in a Chroma database", store.space), stacklevel=3)
