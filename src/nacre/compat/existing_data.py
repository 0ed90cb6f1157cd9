"""Points out data of the systems that Nacre replaces, where one of them is opened over it."""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path

from nacre.memory_store import MemoryStore

CHROMA_FILE = "chroma.sqlite3"


def warn_of_chroma(folder: Path | str, store: MemoryStore) -> None:
    """While the store has nothing of its own: once imported, the old file may stay."""
    if not (Path(folder) / CHROMA_FILE).exists() or store.count(include_superseded=True, include_archived=True):
        return
    command = shlex.join(["nacre", "--store", str(folder), "--space", store.space, "import", str(folder), "--yes"])
    warnings.warn(
        f"{folder} holds memories in a Chroma database, which are not read from there. To bring them in: {command}",
        stacklevel=3,
    )
