"""MemoryConnector: an agent's experiences, in a folder of its own."""

from __future__ import annotations

import os
import shlex
import warnings
from pathlib import Path

from nacre.compat.amplihack_memory._base import Embedding, OwnDatabase, default_path, strip_name
from nacre.compat.existing_data import is_empty, not_read
from nacre.errors import NotAStore, StorageError
from nacre.files import private_folder
from nacre.memory_store import MemoryStore
from nacre.minds import connector
from nacre.minds.cognitive import NO_LIMIT
from nacre.settings import STORE_FILE
from nacre.transfer.foreign.amplihack import TABLES
from nacre.transfer.foreign.look import Look

from .exceptions import translate_errors
from .experience import Experience, ExperienceType

DATABASE = "experiences.db"
USUAL_MEGABYTES = 100


class MemoryConnector(OwnDatabase, connector.MemoryConnector):
    """`backend` is sqlite or kuzu; both use the same file, so that either finds what the other stored.

    The file is `experiences.db`, or the `nacre.db` that an import made beside or without the older system's.
    """

    db_path: Path

    def __init__(
        self, agent_name: str, storage_path: Path | str | None = None, max_memory_mb: float = USUAL_MEGABYTES,
        enable_compression: bool = True, backend: str = "sqlite", *, embedder: Embedding = None,
    ) -> None:  # fmt: skip
        self.embedding = embedder
        agent, place = strip_name(agent_name), storage_path or default_path("memory", str(agent_name).strip())
        connector.MemoryConnector.__init__(self, agent, place, max_memory_mb, enable_compression, backend)

    def _open_store(self, path: Path | str | None) -> MemoryStore:
        """Raises `PermissionError` where nothing can be written, and `StorageError` where only the older system's file
        is."""
        folder = Path(path or "")
        private_folder(folder)
        if not os.access(folder, os.W_OK):
            raise PermissionError(f"The folder {folder} cannot be written; choose another storage_path.")
        own, imported = folder / DATABASE, folder / STORE_FILE
        self.db_path = imported if imported.exists() and not own.exists() else own
        try:
            store = super()._open_store(self.db_path)
        except NotAStore:
            if not Look(own).has_tables(TABLES):
                raise
            return self._open_imported(folder)
        if imported.exists() and self.db_path == own:
            warnings.warn(
                f"{imported} is not read here: the experiences of this program are in {own}. To work with them at the "
                f"terminal, or to import more, name that file: {shlex.join(['nacre', '--store', str(own)])}",
                stacklevel=2,
            )
        return store

    def _open_imported(self, folder: Path) -> MemoryStore:
        """Of a folder with the older system's file."""
        self.db_path = folder / STORE_FILE
        hint = not_read(folder, "experiences in a database of amplihack-memory-lib", self.agent_name)
        if not self.db_path.exists():
            raise StorageError(hint)
        store = super()._open_store(self.db_path)
        if is_empty(store):
            warnings.warn(hint, stacklevel=2)
        return store

    @property
    def backend_type(self) -> str:
        return self.backend

    def store_experience(self, experience: Experience) -> str:
        with translate_errors():
            return super().store_experience(experience)

    def retrieve_experiences(
        self, limit: int | None = None, experience_type: ExperienceType | str | None = None, min_confidence: float = 0.0
    ) -> list[Experience]:
        """Newest first; all of them unless there is a limit."""
        return super().retrieve_experiences(NO_LIMIT if limit is None else limit, experience_type, min_confidence)
