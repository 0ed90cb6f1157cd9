"""MemoryConnector: stores and finds an agent's experiences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from nacre.engine.review import trashed
from nacre.errors import (
    AccessDenied,
    InvalidInput,
    NotAStore,
    QueryCostExceeded,
    QuotaExceeded,
    StorageError,
    UnknownName,
    WrongType,
)
from nacre.memory_store import MemoryStore
from nacre.minds.experience import (
    COMPRESSED,
    PREFIX,
    TYPE,
    Experience,
    ExperienceType,
    check,
    experience_of,
    id_start,
    is_experience,
    make_id,
    memory_fields,
    parse_type,
)
from nacre.minds.mind import Mind, check_agent_name
from nacre.model import Filter, JournalEntry, JournalFilter, Memory
from nacre.model.arguments import checks_arguments
from nacre.model.journal import MEMORY
from nacre.model.memory import Json, set_back, size
from nacre.protocols import Backend, TermSet
from nacre.remember.validate import fraction
from nacre.settings import IN_MEMORY
from nacre.text.tokens import content_stems, stems

# The term of a space's vocabulary that stores a tally; archives leave out kinds with a blank in their name.
TERM_KIND, TERM_NAME = "experience tally", "kept"
MAX_ENTRIES = 10_000  # entries of the journal that are read at once; beyond, all is counted anew
SAVE_EVERY = 1_000  # entries of the journal that a process may have to read before its first answer; some 20 ms
# A file grows by the record, its words, the journal's copy and a vector of 384 halves; measured, see the tests.
COPIES, VECTOR = 3, 768
EXPERIENCES = Filter.where(metadata__experience_type__in=tuple(ExperienceType))

POOL = 200  # a word on fewer experiences than this gives them all in one reading
FIRST_PAGE, LAST_PAGE = 32, 512  # a common word is among the first few; one that is not needs long strides
PHRASE = 12  # stems: so many in a row are in hardly any other text

NewestFirst = Callable[[int, int], list[Memory]]  # limit, offset


def search_words(
    store: Backend, space: str, query: str, where: Filter, limit: int, newest_first: NewestFirst
) -> list[Memory]:
    """The newest experiences that have every word of the query in some form. Exact; reads more than a few pages only
    when each word is common and few experiences have them all."""
    terms = content_stems(query)
    if limit <= 0:
        return []
    if not terms:
        return newest_first(limit, 0)
    newest = [memory for memory in newest_first(FIRST_PAGE, 0) if has_all_terms(memory, terms)]
    if len(newest) >= limit:
        return newest[:limit]  # a common word costs most to look up, and needs no looking up
    for term in sorted(terms, key=len, reverse=True):  # long words are rare ones, as a rule
        ids = [match.id for match in store.by_words(space, [term], where, POOL)]
        if len(ids) < POOL:
            matches = (memory for memory in store.get_many(space, ids) if has_all_terms(memory, terms))
            return sorted(matches, key=lambda memory: -memory.created_at)[:limit]
    results: list[Memory] = []
    offset, size = 0, FIRST_PAGE
    while len(results) < limit and (page := newest_first(size, offset)):
        results += (memory for memory in page if has_all_terms(memory, terms))
        offset, size = offset + len(page), min(2 * size, LAST_PAGE)
    return results[:limit]


def has_all_terms(memory: Memory, terms: list[str]) -> bool:
    return set(terms) <= {stem for text in (memory.title, memory.text, *memory.tags) for stem in stems(text)}


def find_same_text(store: Backend, draft: Memory, live: Filter, limit: int) -> list[Memory]:
    """Experiences of the same type with the same context and outcome, found through the words in a row."""
    same = live & Filter.where(title=draft.title, text=draft.text, **{f"metadata__{TYPE}": draft.metadata[TYPE]})
    phrase = " ".join((stems(draft.title) or stems(draft.text))[:PHRASE])
    if not phrase:  # nothing but signs
        return store.page(draft.space, same, limit=limit).memories
    return store.get_many(draft.space, [match.id for match in store.by_words(draft.space, [phrase], same, limit)])


BACKENDS = ("sqlite", "kuzu")  # the names that agents know; one engine serves both
USUAL_MEGABYTES = 100.0
MEGABYTE = 1_000_000
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
        if backend not in BACKENDS:
            raise UnknownName("backend", str(backend), BACKENDS)
        if isinstance(max_memory_mb, bool) or not isinstance(max_memory_mb, int | float) or max_memory_mb <= 0:
            raise InvalidInput(f"max_memory_mb must be above 0, not {max_memory_mb!r}.")
        check_agent_name(agent_name)  # before anything is created
        try:
            super().__init__(agent_name, folder_path(storage_path), store=store)
        except NotAStore as error:
            raise NotAStore(storage_path or "The store", f"it may be corrupted: {error}") from error
        self.storage_path = None if storage_path is None else Path(storage_path).expanduser()
        self.max_memory_mb = max_memory_mb
        self.enable_compression = enable_compression
        self.backend = backend
        self._records = self.store.acting_as(self.agent_name).store
        self._ledger = Ledger(self._records, self.store.space)

    @property
    def connector(self) -> MemoryConnector:
        return self

    def store_experience(self, experience: Experience) -> str:
        """Raises `QuotaExceeded`. Giving the same experience again changes nothing."""
        return self._write(self._draft(experience)).experience_id

    def get_experience(self, experience_id: str) -> Experience | None:
        memory = self.store.get(experience_id)
        return experience_of(memory) if memory is not None and is_experience(memory) else None

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

        def newest_first(limit: int, offset: int) -> list[Memory]:
            return self.store.list_recent(limit, offset=offset, where=sure)

        live = sure & Filter.live(self.store.now())
        matches = search_words(self._records, self.store.space, query, live, limit, newest_first)
        return [experience_of(memory) for memory in matches]

    def find_duplicates(self, experience: Experience) -> list[Experience]:
        """Those of its type that say the same in the same words, whenever that was."""
        same = self._find_same(self._draft(experience))
        return [experience_of(memory) for memory in same if memory.id != experience.experience_id]

    def get_statistics(self) -> dict[str, object]:
        """`storage_size_kb` is what the experiences take of the file, with their words, vectors and journal."""
        tally = self._ledger.current()
        return {
            "total_experiences": tally.total,
            "by_type": {each: tally.by_type[each.value] for each in ExperienceType},
            "storage_size_kb": tally.bytes / 1_000,
            "compressed_experiences": tally.compressed,
        }

    def _draft(self, experience: Experience) -> Memory:
        if not isinstance(experience, Experience):
            raise WrongType("experience", "Experience", experience)
        check(experience)
        fields = memory_fields(experience, self.agent_name)
        try:
            return self.store.draft(experience.outcome, **fields)
        except AccessDenied:
            # An agent with limited capabilities may not choose an id: it could feel for those that it does not see.
            del fields["id"]
            fields["id_prefix"] = id_start(experience)
            return self.store.draft(experience.outcome, **fields)

    def _find_same(self, draft: Memory) -> list[Memory]:
        live = EXPERIENCES & Filter.live(self.store.now())
        return find_same_text(self._records, draft, live, MAX_DUPLICATES)

    def _write(self, draft: Memory, leaving: tuple[str, ...] = (), compressing: Iterable[str] = ()) -> AddedExperience:
        self._check_quota(draft)
        edits = dict.fromkeys(compressing, mark_compressed) | dict.fromkeys(leaving, trashed)
        while (settled := self._with_free_id(draft)) is not None:
            try:
                self.store.write(OPERATION, new=[settled], edits=edits)
            except InvalidInput:
                if not self._records.get_many(self.store.space, [settled.id]):
                    raise
                continue  # another writer took the id in between
            return AddedExperience(settled.id, left=leaving)
        return AddedExperience(draft.id, stored=False)

    def _with_free_id(self, draft: Memory) -> Memory | None:
        """Gives the draft a free id; None when the same experience is stored already."""
        experience = experience_of(draft)
        for attempt in range(1, ATTEMPTS):
            existing = self._records.get_many(self.store.space, [draft.id])
            if not existing:
                return draft
            same = all(getattr(existing[0], name) == getattr(draft, name) for name in ("title", "text", "created_at"))
            if same and existing[0].metadata.get(TYPE) == draft.metadata[TYPE]:
                return None
            draft = replace(draft, id=make_id(experience, attempt))
        return draft

    def _check_quota(self, draft: Memory) -> None:
        try:
            held = self._ledger.current().bytes
        except QueryCostExceeded:
            return  # an agent that may not count is held to its own quota by the engine
        if held + footprint(draft) > self.max_memory_mb * MEGABYTE:
            raise QuotaExceeded(self.max_memory_mb)


def folder_path(storage_path: Path | str | None) -> Path | str | None:
    if storage_path is None or str(storage_path) == IN_MEMORY:
        return storage_path
    return f"{Path(storage_path).expanduser()}/"  # the slash says that it is a folder, though it may not be there yet


def mark_compressed(memory: Memory) -> Memory:
    return replace(memory, metadata={**memory.metadata, "compressed": True})


@dataclass(slots=True)
class Tally:
    """The experiences as of the journal entry `seq`; trashed, archived and superseded ones do not count."""

    seq: int = 0
    bytes: int = 0
    compressed: int = 0
    by_type: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.by_type.total()

    def count(self, memory: Memory | None, sign: int) -> None:
        hidden = memory is None or memory.status in ("trashed", "archived") or memory.superseded_by
        if memory is not None and not hidden and is_experience(memory):
            self.bytes += sign * footprint(memory)
            self.compressed += sign * bool(memory.metadata.get(COMPRESSED))
            self.by_type[str(memory.metadata[TYPE])] += sign

    def to_dict(self) -> dict[str, Json]:
        kinds = cast(Json, {name: count for name, count in self.by_type.items() if count})
        return {"seq": self.seq, "bytes": self.bytes, "compressed": self.compressed, "by_type": kinds}


def footprint(memory: Memory) -> int:
    """Bytes in the file, nearly."""
    return COPIES * size(memory) + VECTOR


@dataclass(slots=True)
class Ledger:
    """Follows the journal, so the tally is right whichever process wrote.

    Only newer journal entries are read. A tally is saved in the store now and then, from which a new process starts;
    where the journal no longer reaches back to it, or is too long or incomplete, everything is counted again.
    """

    store: Backend
    space: str
    known: Tally | None = None
    unsaved: int = 0  # entries read since a tally was saved

    def current(self) -> Tally:
        known = self.known or self._saved()
        brought = self._catch_up(known) if known is not None else None
        if brought is None:
            brought = self._count_all()
            self._save(brought, brought.total)
        self.known = brought
        return brought

    def _catch_up(self, known: Tally) -> Tally | None:
        """None when the journal cannot say what changed since."""
        while True:
            last = self._last_seq()
            if last == known.seq:
                return known
            if last < known.seq or self.store.journal_begins(self.space)[0] > known.seq:
                return None
            entries = self.store.journal(
                self.space, JournalFilter(after=known.seq, upto=last), newest_first=True, limit=MAX_ENTRIES + 1
            )
            if len(entries) > MAX_ENTRIES:
                return None
            relevant = [entry for entry in entries if entry.kind == MEMORY and entry.memory_id.startswith(PREFIX)]
            current = {
                memory.id: memory for memory in self.store.get_many(self.space, [entry.memory_id for entry in relevant])
            }
            if self._last_seq() == last:  # else another writer wrote between the two reads
                return self._apply(known, last, relevant, current, len(entries))

    def _apply(
        self, known: Tally, last: int, entries: Sequence[JournalEntry], current: dict[str, Memory], read: int
    ) -> Tally | None:
        earlier: dict[str, Memory | None] = {entry.memory_id: current.get(entry.memory_id) for entry in entries}
        for entry in entries:
            if entry.damaged or (entry.before is None and entry.after is None):
                return None  # a purge or a redaction: the journal does not say what it removed
            earlier[entry.memory_id] = state_before(entry, earlier[entry.memory_id])
        moved = Tally(last, known.bytes, known.compressed, Counter(known.by_type))
        for id, former in earlier.items():
            moved.count(former, -1)
            moved.count(current.get(id), 1)
        self._save(moved, read)
        return moved

    def _count_all(self) -> Tally:
        while True:
            last = self._last_seq()
            tally = Tally(last)
            for memory in self.store.iterate(self.space, EXPERIENCES):
                tally.count(memory, 1)
            if self._last_seq() == last:
                return tally

    def _last_seq(self) -> int:
        newest = self.store.journal(self.space, limit=1)
        return newest[0].seq if newest else 0

    def _saved(self) -> Tally | None:
        saved = self.store.terms(self._kind()).get(TERM_NAME)
        if saved is None:
            return None
        seq, room, compressed = (int(cast(int, saved[name])) for name in ("seq", "bytes", "compressed"))
        return Tally(seq, room, compressed, Counter(cast("dict[str, int]", saved["by_type"])))

    def _save(self, tally: Tally, read: int) -> None:
        """May fail without harm: the next process reads more of the journal."""
        self.unsaved += read
        if self.unsaved >= SAVE_EVERY:
            self.unsaved = 0
            with suppress(StorageError, AccessDenied):
                self.store.commit([TermSet(self._kind(), TERM_NAME, tally.to_dict())])

    def _kind(self) -> str:
        """Contains the space's name, so that the tally follows when the space is renamed."""
        return f"{TERM_KIND}/{self.space}"


def state_before(entry: JournalEntry, after: Memory | None) -> Memory | None:
    if entry.before is None:
        return None
    if entry.after is None:
        return Memory.from_dict({**entry.before, "id": entry.memory_id, "space": entry.space})
    return None if after is None else set_back(after, entry.before, entry.after)
