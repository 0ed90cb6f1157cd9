"""ExperienceStore: an agent's experiences, which keep themselves within bounds."""

from collections.abc import Collection
from pathlib import Path

from nacre.compat.amplihack_memory._base import Embedding, default_path, strip_name
from nacre.minds import experience_store as experiences

from .connector import USUAL_MEGABYTES, MemoryConnector
from .exceptions import translate_errors
from .experience import Experience


class ExperienceStore(MemoryConnector, experiences.ExperienceStore):
    """What is beyond the bounds is deleted for good. `connector` is the store itself."""

    def __init__(
        self, agent_name: str, auto_compress: bool = True, max_age_days: float | None = None,
        max_experiences: int | None = None, max_memory_mb: float = USUAL_MEGABYTES,
        storage_path: Path | str | None = None, backend: str = "sqlite", *, embedder: Embedding = None,
    ) -> None:  # fmt: skip
        self.embedding = embedder
        agent, place = strip_name(agent_name), storage_path or default_path("memory", str(agent_name).strip())
        experiences.ExperienceStore.__init__(
            self, agent, auto_compress, max_age_days, max_experiences, max_memory_mb, place, backend
        )

    def add(self, experience: Experience) -> str:
        with translate_errors():
            added = self.add_result(experience)
        self._delete(added.left)
        return added.experience_id

    def _cleanup(self) -> None:
        self._delete(self.clean_up().leaving)

    def _delete(self, ids: Collection[str]) -> None:
        if ids:
            self.store.purge(*ids)
