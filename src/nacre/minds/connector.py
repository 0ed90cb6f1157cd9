"""MemoryConnector: stores and finds an agent's experiences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, islice, takewhile
from pathlib import Path

from nacre.access.view import Quota
from nacre.engine.engine import retry_while_none
from nacre.errors import AccessDenied, InvalidInput, NotAStore, QueryCostExceeded, UnknownName, WrongType
from nacre.memory_store import MemoryStore
from nacre.minds.experience import COMPRESSED, TYPE, Experience, ExperienceType, is_experience, parse_type
from nacre.minds.mind import Mind, check_agent_name
from nacre.model import Filter, Memory
from nacre.model.memory import size
from nacre.model.validate import checks_arguments, fraction
from nacre.protocols import Backend
from nacre.settings import IN_MEMORY
from nacre.text.tokens import content_stems, stems

# A file grows by the record, its words, the journal's copy and a vector of 384 halves; measured, see the tests.
COPIES, VECTOR = 3, 768
EXPERIENCES = Filter.where(metadata__experience_type__in=tuple(ExperienceType))

POOL = 200  # a word on fewer experiences than this gives them all in one reading
STRIDE = 128  # experiences that are read at once where every word is common
PHRASE = 12  # stems: so many in a row are in hardly any other text


def has_all_terms(memory: Memory, terms: list[str]) -> bool:
    return set(terms) <= {stem for text in (memory.title, memory.text, *memory.tags) for stem in stems(text)}


def same_text(draft: Memory) -> Filter:
    """Experiences of the same type with the same context and outcome."""
    return Filter.where(title=draft.title, text=draft.text, **{f"metadata__{TYPE}": draft.metadata[TYPE]})


def find_same_text(store: Backend, draft: Memory, live: Filter, limit: int) -> list[Memory]:
    """Experiences of the same type with the same context and outcome, found through the words in a row."""
    same = live & same_text(draft)
    phrase = " ".join((stems(draft.title) or stems(draft.text))[:PHRASE])
    if not phrase:  # nothing but signs
        return store.page(draft.space, same, limit=limit).memories
    return store.get_many(draft.space, [match.id for match in store.by_words(draft.space, [phrase], same, limit)])


BACKENDS = ("sqlite", "kuzu")  # the names that agents know; one engine serves both
USUAL_MEGABYTES = 100.0
MAX_DUPLICATES = 20
ATTEMPTS = 8  # of an id, where two experiences of one second share a hash
PAGE = 100
OPERATION = "experience"


@dataclass(frozen=True, slots=True)
class AddedExperience:
    """`stored` is False when it, or with `dedup` one with the same text, existed already. `duplicates` have the same
    text; `left` went to the trash to make room."""

    experience_id: str
    stored: bool = True
    duplicates: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


@checks_arguments
class MemoryConnector(Mind):
    """`storage_path` is a folder for the store's file; without one, the agent is a space of the configured store."""

    def __init__(
        self,
        agent_name: str,
        storage_path: Path | str | None = None,
        max_memory_mb: float = USUAL_MEGABYTES,
        enable_compression: bool = True,
        backend: str = "sqlite",
        *,
        store: MemoryStore | None = None,
    ) -> None:
        UnknownName.check("backend", backend, BACKENDS)
        if isinstance(max_memory_mb, bool) or not isinstance(max_memory_mb, int | float) or max_memory_mb <= 0:
            raise InvalidInput(f"max_memory_mb must be above 0, not {max_memory_mb!r}.")
        check_agent_name(agent_name)  # before anything is created
        try:
            super().__init__(agent_name, folder_path(storage_path), store=store)
        except NotAStore as error:
            reason = f"it is corrupted, or of another program: {error.reason}"
            raise NotAStore(storage_path or "The store", reason) from error
        self.storage_path = None if storage_path is None else Path(storage_path).expanduser()
        self.max_memory_mb = max_memory_mb
        self.enable_compression = enable_compression
        self.backend = backend
        self._records = self.store.backend
        self._quota = Quota(self._bytes, max_memory_mb)

    @property
    def connector(self) -> MemoryConnector:
        return self

    def store_experience(self, experience: Experience) -> str:
        """Raises `QuotaExceeded`. Giving the same experience again changes nothing."""
        return retry_while_none(partial(self._write, self._draft(experience))).experience_id

    def get_experience(self, experience_id: str) -> Experience | None:
        memory = self.store.get(experience_id)
        return Experience.of(memory) if memory is not None and is_experience(memory) else None

    def retrieve_experiences(
        self, limit: int = PAGE, experience_type: ExperienceType | str | None = None, min_confidence: float = 0.0
    ) -> list[Experience]:
        """Newest first."""
        return self.search("", experience_type, min_confidence, limit)

    def search(
        self,
        query: str = "",
        experience_type: ExperienceType | str | None = None,
        min_confidence: float = 0.0,
        limit: int = 10,
    ) -> list[Experience]:
        """Those that hold every word of the query, in any of its forms; without words all of them. Newest first."""
        sure = EXPERIENCES & Filter.where(
            metadata__experience_type=None if experience_type is None else parse_type(experience_type).value,
            confidence__ge=fraction("min_confidence", min_confidence) or None,
        )
        terms, most = content_stems(query), max(0, limit)
        newest = islice(self._with_all(terms, sure), most) if terms else self.store.list_recent(most, where=sure)
        return [Experience.of(memory) for memory in newest]

    def _with_all(self, terms: list[str], where: Filter) -> Iterator[Memory]:
        """Newest first. A long word is a rare one, as a rule, and found by the index; where all words are common, the
        newest experiences are read page by page."""
        for term in sorted(terms, key=len, reverse=True):
            live = where & Filter.live(self.store.now())
            ids = [match.id for match in self._records.by_words(self.store.space, [term], live, POOL)]
            if len(ids) < POOL:
                matches = sorted(self._records.get_many(self.store.space, ids), key=lambda memory: -memory.created_at)
                return (memory for memory in matches if has_all_terms(memory, terms))
        pages = (self.store.list_recent(STRIDE, offset=offset, where=where) for offset in count(0, STRIDE))
        return (memory for page in takewhile(bool, pages) for memory in page if has_all_terms(memory, terms))

    def find_duplicates(self, experience: Experience) -> list[Experience]:
        """Those of its type that say the same in the same words, whenever that was."""
        same = self._find_same(self._draft(experience))
        return [Experience.of(memory) for memory in same if memory.id != experience.experience_id]

    def get_statistics(self) -> dict[str, object]:
        """`storage_size_kb` is what the experiences take of the file, with their words, vectors and journal."""
        kinds = {each: self._count(metadata__experience_type=each.value) for each in ExperienceType}
        return {
            "total_experiences": sum(kinds.values()),
            "by_type": kinds,
            "storage_size_kb": self._bytes() / 1_000,
            "compressed_experiences": self._count(metadata__compressed=True),
        }

    def _count(self, **conditions: object) -> int:
        return self.store.count(where=Filter.where(**conditions) if conditions else EXPERIENCES)

    def _bytes(self) -> int:
        """In the file, nearly."""
        said = self._records.size(self.store.space, EXPERIENCES & Filter.live(self.store.now()))
        return footprint(said, self._count())

    def _draft(self, experience: Experience) -> Memory:
        if not isinstance(experience, Experience):
            raise WrongType("experience", "Experience", experience)
        experience.check()
        fields = experience.memory_fields(self.agent_name)
        try:
            return self.store.draft(experience.outcome, **fields)
        except AccessDenied:
            # An agent with limited capabilities may not choose an id: it could feel for those that it does not see.
            del fields["id"]
            fields["id_prefix"] = experience.id_start()
            return self.store.draft(experience.outcome, **fields)

    def _find_same(self, draft: Memory) -> list[Memory]:
        live = EXPERIENCES & Filter.live(self.store.now())
        return find_same_text(self._records, draft, live, MAX_DUPLICATES)

    def _write(self, draft: Memory, only_if: Callable[[MemoryStore], bool] | None = None) -> AddedExperience | None:
        """None where `only_if` does not hold when it is written."""
        self._check_quota(draft)
        while (settled := self._with_free_id(draft)) is not None:
            try:
                written = self.store.write(OPERATION, new=[settled], only_if=only_if)
            except InvalidInput:
                if not self._records.get_many(self.store.space, [settled.id]):
                    raise
                continue  # another writer took the id in between
            return AddedExperience(settled.id) if written else None
        return AddedExperience(draft.id, stored=False)

    def _with_free_id(self, draft: Memory) -> Memory | None:
        """Gives the draft a free id; None when the same experience is stored already."""
        experience = Experience.of(draft)
        for attempt in range(1, ATTEMPTS):
            existing = self._records.get_many(self.store.space, [draft.id])
            if not existing:
                return draft
            same = all(getattr(existing[0], name) == getattr(draft, name) for name in ("title", "text", "created_at"))
            if same and existing[0].metadata.get(TYPE) == draft.metadata[TYPE]:
                return None
            draft = replace(draft, id=experience.make_id(attempt))
        return draft

    def _check_quota(self, draft: Memory) -> None:
        with suppress(QueryCostExceeded):  # an agent that may not count is held to its own quota by the engine
            self._quota.take(footprint(size(draft)))


def folder_path(storage_path: Path | str | None) -> Path | str | None:
    if storage_path is None or str(storage_path) == IN_MEMORY:
        return storage_path
    return f"{Path(storage_path).expanduser()}/"  # the slash says that it is a folder, though it may not be there yet


def mark_compressed(memory: Memory) -> Memory:
    return replace(memory, metadata={**memory.metadata, COMPRESSED: True})


def footprint(said: int, experiences: int = 1) -> int:
    """Bytes in the file, nearly, of experiences that say so many bytes."""
    return COPIES * said + VECTOR * experiences
