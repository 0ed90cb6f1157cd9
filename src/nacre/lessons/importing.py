"""What an import will do, decided before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from nacre.engine.engine import Edit, WordEdit
from nacre.errors import AccessDenied, UnknownName
from nacre.lessons.document import refused
from nacre.lessons.reading import Reading
from nacre.lessons.relating import SUPERSEDES
from nacre.lessons.vocabulary import ALIAS_OF, KINDS, REVIEW, SOURCE, Vocabulary
from nacre.memory_store import MemoryStore
from nacre.model import Link, Memory
from nacre.model.memory import LESSON, Json

POLICIES = ("skip", "overwrite", "error", "newer")
NONE: Mapping[str, Json] = {}


@dataclass(frozen=True, slots=True)
class ImportReport:
    """How many lessons came, changed here and stayed as they were; of a dry run, how many would."""

    new: int
    changed: int
    skipped: int
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Plan:
    """`new` and `taken` (in the place of those that stand) are as the file has them, as far as this store allows."""

    store: MemoryStore
    given: Reading
    held: Mapping[str, Memory]
    new: dict[str, Memory] = field(default_factory=dict)
    taken: dict[str, Memory] = field(default_factory=dict)
    heirs: dict[str, str] = field(default_factory=dict)
    words: dict[tuple[str, str], WordEdit] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def choose(self, policy: str) -> None:
        for id, memory in self.given.lessons.items():
            stands = self.held.get(id)
            if stands is None:
                self.new[id] = memory
            elif stands.type != LESSON:
                raise refused(f"the id {id!r} belongs to a memory that is no lesson here; import into another space")
            elif stands.status == "trashed" or policy == "overwrite":
                self.taken[id] = memory
            elif policy == "error":
                raise refused(f"the lesson {id!r} is here already; skip or overwrite those that are")
            elif policy == "newer" and memory.updated_at > stands.updated_at:
                self.taken[id] = memory

    def tie(self) -> None:
        """Ties to what is not there are left out, and a lesson that stays as it is is not replaced by a tie alone."""
        outside = {link.to for memory in self.written().values() for link in memory.links} - {*self.given.lessons}
        there = {memory.id for memory in self.store.get_many(sorted(outside))} | {*self.given.lessons}
        lost = 0
        for group in (self.new, self.taken):
            for id, memory in group.items():
                kept = tuple(link for link in memory.links if link.to in there and self._holds(id, link))
                later = sum(self.heirs.get(link.to) == id for link in memory.links if link.rel == SUPERSEDES)
                lost += len(memory.links) - len(kept) - later
                group[id] = replace(memory, links=kept)
        if lost:
            self.notes.append(f"Ties left out, since what they lead to is not there or stays as it is: {lost}.")

    def _holds(self, id: str, link: Link) -> bool:
        if link.rel != SUPERSEDES:
            return True
        former = self._stood(link.to)
        if former is not None and not self._stays(link.to) and not former.superseded_by:
            self.heirs[link.to] = id  # the tie alone would say what the record does not
            return False
        return former is not None and former.superseded_by == id

    def _stays(self, id: str) -> bool:
        return id not in self.new and id not in self.taken

    def _stood(self, id: str) -> Memory | None:
        """As it will stand, but for its ties."""
        return self.new.get(id) or self.taken.get(id) or self.held.get(id) or self.store.get(id)

    def refuse_rings(self) -> None:
        clear: set[str] = set()
        for id in self.written():
            way: dict[str, None] = {}
            while id and id not in clear:
                if id in way:
                    raise refused(f"the lesson {id!r} supersedes itself in a ring; take one superseded_by out")
                way[id] = None
                stands = self._stood(id)
                id = self.heirs.get(id) or (stands.superseded_by if stands is not None else "")
            clear |= way.keys()

    def teach(self, policy: str) -> None:
        """Words that stand stay as they are, unless everything is overwritten; a new source waits for review."""
        kinds = {*KINDS, *(kind for kind, _ in self.given.words)}
        standing = {kind: dict(self.store.vocabulary(kind)) for kind in kinds}
        for (kind, name), data in self.given.words.items():
            stood = standing[kind].get(name)
            if stood is not None and (policy != "overwrite" or stood == data):
                continue
            if rings(standing[kind], name, data):
                self.notes.append(f"The {kind} {name!r} was left out: as an alias it would stand for itself.")
                continue
            standing[kind][name] = data
            self.words[kind, name] = as_told(data, overwrite=policy == "overwrite")
        known = {*Vocabulary(self.store, SOURCE).words, *standing[SOURCE]}
        for memory in self.written().values():
            if memory.source and not {memory.source, memory.source.partition(".")[0]} & known:
                self.words[SOURCE, memory.source] = as_told({REVIEW: True}, overwrite=False)
        if self.words and not self.store.may_teach:
            raise AccessDenied("The file brings new words, and this agent may not add any; ask one who may.")

    def written(self) -> dict[str, Memory]:
        return {**self.new, **self.taken}

    def edits(self) -> dict[str, Edit]:
        return {id: self.becoming(memory) for id, memory in self.taken.items()}

    def becoming(self, given: Memory) -> Edit:
        """As the file has it; ties and an heir that it cannot know of stay, and having been used is no change."""
        inside = self.given.lessons

        def edit(stands: Memory) -> Memory:
            told = {(link.to, link.rel) for link in given.links}
            more = tuple(
                link
                for link in stands.links
                if (link.to, link.rel) not in told
                and (link.to not in inside or (link.rel == SUPERSEDES and self._stays(link.to)))
            )
            links = (*given.links, *more)
            same = {(k.to, k.rel): k for k in links} == {(k.to, k.rel): k for k in stands.links}
            after = replace(
                given,
                space=stands.space,
                links=stands.links if same else links,
                last_accessed=stands.last_accessed,
                access_count=stands.access_count,
                updated_at=stands.updated_at,
                trashed_from="",
            )
            if stands.superseded_by and not given.superseded_by and stands.superseded_by not in inside:
                passed = {"superseded_by": stands.superseded_by, "superseded_at": stands.superseded_at}
                after = replace(after, **passed, valid_until=stands.valid_until)  # type: ignore[arg-type]
            return stands if after == stands else after

        return edit

    def report(self) -> ImportReport:
        back = sum(self.held[id].status == "trashed" for id in self.taken)
        changed = sum(edit(self.held[id]) != self.held[id] for id, edit in self.edits().items())
        notes = list(self.notes)
        if back:
            notes.append(f"Lessons that come back from the trash: {back}.")
        if self.given.scrubbed:
            notes.append(f"Lessons taken without what looked like a secret: {self.given.scrubbed}.")
        if self.words:
            notes.append(f"Words that are new in the vocabulary: {len(self.words)}.")
        skipped = len(self.given.lessons) - len(self.new) - changed
        return ImportReport(len(self.new), changed, skipped, tuple(notes))


def planned(store: MemoryStore, given: Reading, policy: str) -> Plan:
    if policy not in POLICIES:
        raise UnknownName("policy for lessons that are here", policy, POLICIES)
    plan = Plan(store, given, {memory.id: memory for memory in store.get_many(list(given.lessons))})
    plan.choose(policy)
    plan.tie()
    plan.refuse_rings()
    plan.teach(policy)
    return plan


def as_told(data: Mapping[str, Json], *, overwrite: bool) -> WordEdit:
    return lambda stood: data if overwrite or stood is None else stood


def rings(words: Mapping[str, Mapping[str, Json]], name: str, data: Mapping[str, Json]) -> bool:
    """Whether an alias leads back to itself."""
    seen = {name}
    meant = str(data.get(ALIAS_OF) or "")
    while meant:
        if meant in seen:
            return True
        seen.add(meant)
        meant = str(words.get(meant, NONE).get(ALIAS_OF) or "")
    return False
