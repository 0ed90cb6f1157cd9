"""ExperienceStore: an agent's experiences, with limits on age and number, and the patterns in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from math import inf
from pathlib import Path
from threading import Lock

from nacre.engine.engine import retry_while_none
from nacre.engine.review import trashed
from nacre.errors import InvalidInput, MemoryNotFound
from nacre.memory_store import MemoryStore
from nacre.minds import patterns
from nacre.minds.connector import (
    EXPERIENCES,
    OPERATION,
    USUAL_MEGABYTES,
    AddedExperience,
    MemoryConnector,
    mark_compressed,
    same_text,
)
from nacre.minds.experience import TYPE, Experience, ExperienceType
from nacre.minds.patterns import THRESHOLD, Discover, Discovery, discoveries_of
from nacre.model import Filter, Memory
from nacre.model.instants import DAY
from nacre.model.memory import same_words
from nacre.model.validate import checks_arguments
from nacre.protocols import Compressed

COMPRESSED_AFTER_DAYS = 30.0
PROTECTED_CONFIDENCE = 0.8  # a pattern so sure outlives the bounds
NEWEST_READ = 5_000  # experiences; what older ones showed is in the links of the patterns already
NO_PATTERN = Filter.where(metadata__experience_type__ne=ExperienceType.PATTERN.value)
SWEEP_SECONDS = 3_600.0  # limits are in days, so an hour of delay does no harm


@dataclass(frozen=True, slots=True)
class Cleanup:
    """What is due: what leaves for the trash, and what is marked as old and takes less room from then on."""

    leaving: Mapping[str, Memory] = field(default_factory=dict)
    compressing: Mapping[str, Memory] = field(default_factory=dict)


@checks_arguments
class ExperienceStore(MemoryConnector):
    """`max_age_days` and `max_experiences` keep the newest, and patterns of a confidence of 0.8 and more whatever their
    age; after an addition, what is beyond these limits goes to the trash in one operation. With `dedup`, an experience
    with the same text as a stored one is not stored again."""

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
        self._cleaning = Lock()
        self.dedup = dedup
        self._swept_at: float | None = None  # when this process last looked for what has grown old

    def add(self, experience: Experience) -> str:
        """Raises `QuotaExceeded`."""
        return self.add_result(experience).experience_id

    def add_result(self, experience: Experience) -> AddedExperience:
        """As `add`, and also returns duplicates and what left to make room."""
        return retry_while_none(partial(self._add, self._draft(experience)))

    def _add(self, draft: Memory) -> AddedExperience | None:
        """None where another writer has stored the same since we looked."""
        seq = self._records.seq_at(self.store.space, inf)
        alike = self._find_same(draft)
        itself = [memory.id for memory in alike if memory.created_at == draft.created_at]
        same = tuple(memory.id for memory in alike if memory.id not in (draft.id, *itself))
        if itself or (self.dedup and same):
            return AddedExperience((*itself, *same)[0], stored=False, duplicates=same)
        done = self._write(draft, lambda present: not self._is_stored_since(present, seq, draft))
        if done is None:
            return None
        left = self._clean_up(sweeping=self._sweep_due(draft)).leaving if done.stored else ()
        return replace(done, duplicates=same, left=tuple(left))

    def _is_stored_since(self, present: MemoryStore, seq: int, draft: Memory) -> bool:
        same = EXPERIENCES & Filter.live(present.now()) & same_text(draft)
        written = present.backend.written_since(present.space, seq, [same_words(draft.text)])
        return any(same.admits(each) and (self.dedup or each.created_at == draft.created_at) for each in written)

    def clean_up(self) -> Cleanup:
        """Does all cleanup that is due, in one operation, and returns what was done."""
        return self._clean_up(sweeping=True)

    def recognize_patterns(
        self, threshold: int = THRESHOLD, *, discover: Discover = discoveries_of
    ) -> list[Experience]:  # fmt: skip
        """Stores what recurs in the newest experiences as patterns, linked to them, in one operation. Returns what is
        new or has grown: asking again changes nothing. A pattern in the trash stays there."""
        evidence: dict[str, dict[str, Discovery]] = defaultdict(dict)  # by the pattern's id and by experience
        for memory in reversed(self.store.list_recent(NEWEST_READ, where=EXPERIENCES & NO_PATTERN)):
            for discovery in discover(Experience.of(memory)):
                id = patterns.pattern_id(patterns.extract_pattern_key(discovery))
                evidence[id].setdefault(memory.id, discovery)
        stored = {memory.id: memory for memory in self.store.get_many(list(evidence))}
        edits = {
            id: partial(patterns.with_evidence, ids=tuple(evidence[id]))
            for id, memory in stored.items()
            if patterns.with_evidence(memory, evidence[id]) != memory
        }
        at = datetime.fromtimestamp(self.store.now())
        new = [
            patterns.with_evidence(self._draft(patterns.new_pattern(experiences.values(), at)), experiences)
            for id, experiences in evidence.items()
            if id not in stored and len(experiences) >= threshold
        ]
        try:
            written = self.store.write("recognize", new=new, edits=edits) if new or edits else []
        except InvalidInput:
            if not self.store.get_many([memory.id for memory in new]):
                raise
            return self.recognize_patterns(threshold, discover=discover)  # another process has just stored it
        return [Experience.of(memory) for memory in written]

    def validate_pattern(self, key: str, success: bool) -> Experience:
        """Says by its key or id whether a pattern held when it was applied, which changes its confidence. Raises
        `MemoryNotFound`."""
        memories = self.store.get_many([patterns.pattern_id(key), key])
        stored = next((memory for memory in memories if patterns.stored_pattern(memory)), None)
        if stored is None:
            raise MemoryNotFound(key, self.store.space)

        def edit(memory: Memory) -> Memory:
            pattern = patterns.stored_pattern(memory)
            if pattern is None:
                return memory
            pattern.successes += bool(success)
            pattern.failures += not success
            return replace(patterns.with_pattern(memory, pattern), last_validated_at=self.store.now())

        return Experience.of(self.store.write("validate", edits={stored.id: edit})[0])

    def _sweep_due(self, added: Memory) -> bool:
        now, days = self.store.now(), min(self.max_age_days or COMPRESSED_AFTER_DAYS, COMPRESSED_AFTER_DAYS)
        return self._swept_at is None or now - self._swept_at >= SWEEP_SECONDS or added.created_at < now - days * DAY

    def _clean_up(self, *, sweeping: bool) -> Cleanup:
        """Without `sweeping`, of what grows old by itself nothing is looked for."""
        with self._cleaning:  # threads need not overtake each other
            return retry_while_none(partial(self._remove_due, sweeping=sweeping))

    def _remove_due(self, *, sweeping: bool) -> Cleanup | None:
        """None where others have added or removed experiences meanwhile: two that count at once would remove too
        many."""
        now = self.store.now()
        counted = None if self.max_experiences is None else self._count()
        due = self._over_limit(counted)
        aged: list[Memory] = []
        if sweeping:
            if self.max_age_days is not None:
                due += self._older_than(self.max_age_days, now)
            if self.auto_compress:
                aged = self._older_than(COMPRESSED_AFTER_DAYS, now, metadata__compressed__unset=True)
            self._swept_at = now
        leaving = {memory.id: memory for memory in due if not protected(memory)}
        compressing = {memory.id: memory for memory in aged if memory.id not in leaving}
        edits = dict.fromkeys(compressing, mark_compressed) | dict.fromkeys(leaving, trashed)
        why = "beyond the bounds" if leaving else "grown old"

        def is_as_counted(present: MemoryStore) -> bool:
            return counted is None or present.count(where=EXPERIENCES) == counted

        if edits and not self.store.write(OPERATION, edits=edits, only_if=is_as_counted, why=why):
            return None
        if compressing:
            self._records.commit([Compressed(self.store.space, tuple(compressing))])
        return Cleanup(leaving, compressing)

    def _over_limit(self, counted: int | None) -> list[Memory]:
        beyond = 0 if self.max_experiences is None or counted is None else counted - self.max_experiences
        return self.store.list_recent(beyond, order="oldest", where=EXPERIENCES) if beyond > 0 else []

    def _older_than(self, days: float, now: float, **also: object) -> list[Memory]:
        return list(self.store.iterate(where=EXPERIENCES & Filter.where(created_at__lt=now - days * DAY, **also)))


def protected(memory: Memory) -> bool:
    sure = memory.metadata.get(TYPE) == ExperienceType.PATTERN and memory.confidence >= PROTECTED_CONFIDENCE
    return memory.pinned or sure
