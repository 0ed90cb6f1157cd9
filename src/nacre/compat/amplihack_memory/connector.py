"""MemoryConnector: an agent's experiences, in a folder of its own."""

from __future__ import annotations

import os
from pathlib import Path

from nacre.compat.amplihack_memory._base import Embedding, OwnDatabase, default_path, strip_name
from nacre.files import private_folder
from nacre.memory_store import MemoryStore
from nacre.minds import connector
from nacre.minds.cognitive import NO_LIMIT

from .exceptions import translate_errors
from .experience import Experience, ExperienceType

DATABASE = "experiences.db"
USUAL_MEGABYTES = 100


class MemoryConnector(OwnDatabase, connector.MemoryConnector):
    """`backend` is sqlite or kuzu; both use the same file, so that either finds what the other stored."""

    def __init__(
        self, agent_name: str, storage_path: Path | str | None = None, max_memory_mb: float = USUAL_MEGABYTES,
        enable_compression: bool = True, backend: str = "sqlite", *, embedder: Embedding = None,
    ) -> None:  # fmt: skip
        self.embedding = embedder
        agent, place = strip_name(agent_name), storage_path or default_path("memory", str(agent_name).strip())
        connector.MemoryConnector.__init__(self, agent, place, max_memory_mb, enable_compression, backend)

    def _open_store(self, path: Path | str | None) -> MemoryStore:
        """Raises `PermissionError` where nothing can be written."""
        folder = Path(path or "")
        private_folder(folder)
        if not os.access(folder, os.W_OK):
            raise PermissionError(f"The folder {folder} cannot be written; choose another storage_path.")
        return super()._open_store(folder / DATABASE)

    @property
    def db_path(self) -> Path:
        return Path(self.storage_path or "") / DATABASE

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
