"""ExperienceStore: an agent's experiences, with limits on age and number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from nacre.engine.review import trashed
from nacre.errors import InvalidInput
from nacre.memory_store import MemoryStore
from nacre.minds.connector import (
    EXPERIENCES,
    OPERATION,
    USUAL_MEGABYTES,
    AddedExperience,
    MemoryConnector,
    mark_compressed,
)
from nacre.minds.experience import COMPRESSED, TYPE, Experience, ExperienceType
from nacre.model import Filter, Memory
from nacre.model.arguments import checks_arguments
from nacre.model.instants import DAY
from nacre.protocols import Compressed

COMPRESSED_AFTER_DAYS = 30.0
PROTECTED_CONFIDENCE = 0.8  # a pattern so sure outlives the bounds
SWEEP_SECONDS = 3_600.0  # limits are in days, so an hour of delay does no harm
SWEEP_LIMIT = 256  # of one addition; the rest follows with the next


@dataclass(frozen=True, slots=True)
class Cleanup:
    """What is due: what leaves for the trash, and what is marked as old and takes less room from then on."""

    leaving: Mapping[str, Memory] = field(default_factory=dict)
    compressing: Mapping[str, Memory] = field(default_factory=dict)


@checks_arguments
class ExperienceStore(MemoryConnector):
    """`max_age_days` and `max_experiences` keep the newest, and patterns of a confidence of 0.8 and more whatever their
    age; what leaves goes to the trash in the same operation that adds. With `dedup`, an experience with the same text
    as a stored one is not stored again."""

    def __init__(
        self,
        agent_name: str,
        auto_compress: bool = True,
        max_age_days: float | None = None,
        max_experiences: int | None = None,
        max_memory_mb: float = USUAL_MEGABYTES,
        storage_path: Path | str | None = None,
        backend: str = "sqlite",
        *,
        dedup: bool = False,
        store: MemoryStore | None = None,
    ) -> None:
        for name, bound in (("max_age_days", max_age_days), ("max_experiences", max_experiences)):
            if bound is not None and bound <= 0:
                raise InvalidInput(f"{name} must be above 0, not {bound!r}; leave it out for no bound.")
        super().__init__(agent_name, storage_path, max_memory_mb, auto_compress, backend, store=store)
        self.auto_compress = auto_compress
        self.max_age_days = max_age_days
        self.max_experiences = max_experiences
        self.dedup = dedup
        self._swept_at: float | None = None  # when this process last looked for what has grown old

    def add(self, experience: Experience) -> str:
        """Raises `QuotaExceeded`."""
        return self.add_result(experience).experience_id

    def add_result(self, experience: Experience) -> AddedExperience:
        """As `add`, and also returns duplicates and what left to make room. One operation."""
        draft = self._draft(experience)
        alike = self._find_same(draft)
        itself = [memory.id for memory in alike if memory.created_at == draft.created_at]
        same = tuple(memory.id for memory in alike if memory.id not in (draft.id, *itself))
        if itself or (self.dedup and same):
            return AddedExperience((*itself, *same)[0], stored=False, duplicates=same)
        if self.auto_compress and draft.created_at < self.store.now() - COMPRESSED_AFTER_DAYS * DAY:
            draft = mark_compressed(draft)
        cleanup = self._plan_cleanup(draft)
        to_store = trashed(draft) if draft.id in cleanup.leaving else draft
        leaving = tuple(id for id in cleanup.leaving if id != draft.id)
        done = self._write(to_store, leaving, [id for id in cleanup.compressing if id != draft.id])
        if done.stored:
            self._compress([*cleanup.compressing, *((done.experience_id,) if COMPRESSED in draft.metadata else ())])
        left = (*done.left, *((done.experience_id,) if to_store.status == "trashed" and done.stored else ()))
        return replace(done, duplicates=same, left=left)

    def clean_up(self) -> Cleanup:
        """Does all cleanup that is due, in one operation, and returns what was done."""
        cleanup = self._plan_cleanup(None)
        edits = dict.fromkeys(cleanup.compressing, mark_compressed) | dict.fromkeys(cleanup.leaving, trashed)
        if edits:
            self.store.write(OPERATION, edits=edits, why="beyond the bounds" if cleanup.leaving else "grown old")
            self._compress(cleanup.compressing)
        return cleanup

    def _plan_cleanup(self, draft: Memory | None) -> Cleanup:
        """What an addition would bring with it; without one, all that is due whenever it was last looked for."""
        now = self.store.now()
        sweeping = draft is None or self._swept_at is None or now - self._swept_at >= SWEEP_SECONDS
        most = None if draft is None else SWEEP_LIMIT
        leaving = self._over_limit(draft)
        compressing: dict[str, Memory] = {}
        if draft is not None and self._is_expired(draft):
            leaving[draft.id] = draft
        if sweeping:
            leaving |= self._expired(now, most)
            compressing = self._to_compress(now, most) if self.auto_compress else {}
            unfinished = most is not None and max(len(leaving), len(compressing)) >= most
            self._swept_at = None if unfinished else now
        return Cleanup(leaving, {id: memory for id, memory in compressing.items() if id not in leaving})

    def _over_limit(self, draft: Memory | None) -> dict[str, Memory]:
        """Of those beyond the newest, the ones that nothing protects."""
        if self.max_experiences is None:
            return {}
        beyond = self._count() + (draft is not None) - self.max_experiences
        if beyond <= 0:
            return {}
        oldest = self.store.list_recent(beyond, order="oldest", where=EXPERIENCES)
        ranked = sorted([*oldest, *((draft,) if draft is not None else ())], key=lambda memory: memory.created_at)
        return {memory.id: memory for memory in ranked[:beyond] if not protected(memory)}

    def _expired(self, now: float, most: int | None) -> dict[str, Memory]:
        if self.max_age_days is None:
            return {}
        old = self.store.iterate(where=EXPERIENCES & Filter.where(created_at__lt=now - self.max_age_days * DAY))
        return {memory.id: memory for memory in islice((m for m in old if not protected(m)), most)}

    def _to_compress(self, now: float, most: int | None) -> dict[str, Memory]:
        due = Filter.where(created_at__lt=now - COMPRESSED_AFTER_DAYS * DAY, metadata__compressed__unset=True)
        return {memory.id: memory for memory in islice(self.store.iterate(where=EXPERIENCES & due), most)}

    def _is_expired(self, draft: Memory) -> bool:
        bound = self.max_age_days
        return bound is not None and draft.created_at < self.store.now() - bound * DAY and not protected(draft)

    def _compress(self, ids: Iterable[str]) -> None:
        if wanted := list(ids):
            self._records.commit([Compressed(self.store.space, tuple(wanted))])


def protected(memory: Memory) -> bool:
    sure = memory.metadata.get(TYPE) == ExperienceType.PATTERN and memory.confidence >= PROTECTED_CONFIDENCE
    return memory.pinned or sure
