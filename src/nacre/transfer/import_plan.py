"""Lets through of a row what `remember` would let through: what comes from a file is not trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol, cast
from uuid import UUID, uuid4

from nacre.engine.changes import AnyChange, Change
from nacre.engine.engine import is_redacted
from nacre.engine.supersede import SUPERSEDES
from nacre.errors import ArchiveRefused, ImportConflict, InvalidInput, UnknownName
from nacre.memory_store import MemoryStore
from nacre.model import STATUSES, Link, Memory
from nacre.model.memory import LISTS, NAMES, Json
from nacre.protocols import Derived, Progress
from nacre.remember.derive import same_derived_input
from nacre.remember.guard import Guard, mark_suspicious
from nacre.remember.validate import CHECKS, instant, label, optional_instant, validate_fields
from nacre.transfer.archive import LARGEST_VOCABULARY, MOST_NAMED, MOST_TERMS, MOST_TYPES, Fault
from nacre.transfer.read_archive import MemoryRow, Source, TermRow
from nacre.transfer.vocabulary import TYPE, Term, checked_term

MOST_UNKNOWN = 10  # names of fields that are told as unknown


def status_name(name: str, value: object) -> str:
    text = label(name, value)
    if text and text not in STATUSES:
        raise InvalidInput(f"{name} is {text[:40]!r}, which is no status.")
    return text


# What nobody may say to `remember`, and a record has all the same.
RECORD_FIELDS: Mapping[str, Callable[[str, object], object]] = {
    "updated_at": instant,
    "superseded_at": optional_instant,
    "superseded_by": label,
    "trashed_from": status_name,
}


@dataclass(slots=True)
class RowChecker:
    """Counts what it took out or doubts; `unknown` are fields that this version does not know."""

    space: str
    guard: Guard
    types: tuple[str, ...]
    scrubbed: int = 0
    doubted: int = 0
    unknown: set[str] = field(default_factory=set)

    def memory(self, given: Mapping[str, object]) -> Memory:
        """Raises `InvalidInput`."""
        if "id" not in given or "text" not in given:
            raise InvalidInput("it has no id, or no text.")
        if len(self.unknown) < MOST_UNKNOWN:
            self.unknown.update(
                name[:40] for name in islice((each for each in given if each not in NAMES), MOST_UNKNOWN)
            )
        told = {name: typed(name, given[name]) for name in CHECKS if name in given}
        fields, kinds = self.guard.fields(validate_fields(told, self.types))
        further = {name: check(name, given[name]) for name, check in RECORD_FIELDS.items() if name in given}
        doubts = self.guard.doubts(fields)
        memory = Memory(**{**fields, **further, "space": self.space})  # type: ignore[arg-type]
        if memory.superseded_by == memory.id or any(link.to == memory.id for link in memory.links):
            raise InvalidInput("it is tied to itself.")
        self.scrubbed += bool(kinds)
        if not doubts.reasons:
            return memory
        self.doubted += 1
        # A file must not vouch for its own texts: the trust that it gives can only lower ours.
        doubted = mark_suspicious(memory, doubts, trust_given=False)
        return replace(doubted, trust=min(memory.trust, doubted.trust))


def typed(name: str, value: object) -> object:
    if name in LISTS and not isinstance(value, list):
        raise InvalidInput(f"{name} must be a list, not {type(value).__name__}.")
    return [link(each) for each in listed(value)] if name == "links" else value


def listed(value: object) -> list[object]:
    if not isinstance(value, list):
        raise InvalidInput(f"links must be a list, not {type(value).__name__}.")
    return value


def link(given: object) -> Link:
    """Its parts are checked with the other fields."""
    if not isinstance(given, dict):
        raise InvalidInput(f"a link must be a JSON object, not {type(given).__name__}.")
    parts = cast("dict[str, Json]", given)
    return Link(parts.get("to"), parts.get("rel", "related"), parts.get("weight", 1.0), parts.get("data") or {})  # type: ignore[arg-type]


POLICIES = ("skip", "overwrite", "rename", "error", "newer")
LONGEST_CHAIN = 1_000  # versions of one truth that are followed to see that no ring closes


class Lookup(Protocol):
    """What is there already: a transaction, or for a dry run the store."""

    def get(self, space: str, id: str) -> Memory | None: ...

    def term(self, kind: str, name: str) -> Mapping[str, Json] | None: ...


@dataclass(slots=True)
class Counts:
    imported: int = 0
    skipped: int = 0
    overwritten: int = 0
    renamed: int = 0
    errors: int = 0
    words: int = 0
    unembedded: int = 0
    binned: int = 0  # skipped, and in the trash here
    loose: int = 0  # ties that were left out
    faults: list[Fault] = field(default_factory=list)

    def fault(self, line: int, why: str) -> None:
        self.errors += 1
        if len(self.faults) < MOST_NAMED:
            self.faults.append(Fault(line, why))

    @property
    def taken(self) -> int:
        return self.imported + self.overwritten + self.renamed


@dataclass(slots=True)
class ImportPlanner:
    """For one run over the rows. `ids` are the archive's, as numbers (`numbered`), where `needs_ids` asks for them: a
    million names would be dear."""

    space: str
    policy: str
    checking: RowChecker
    derived: Callable[[Memory, MemoryRow], Derived]
    standing: Lookup
    ids: set[int]
    counts: Counts = field(default_factory=Counts)
    salt: bytes = field(default_factory=lambda: uuid4().bytes)
    seen: set[int] = field(default_factory=set)
    left: set[int] = field(default_factory=set)  # of those, ids under which something else stands here
    relations: frozenset[str] | None = None  # those that are known, where links are strict

    def spoken(self, words: list[Term]) -> Iterator[AnyChange]:
        for word in words:
            stood = self.standing.term(word.kind, word.name)
            change = word.change(self.space, stood, overwrite=self.policy == "overwrite")
            if change is not None:
                self.counts.words += 1
                yield change

    def change(self, row: MemoryRow) -> Change | None:
        try:
            memory = self.checking.memory(row.fields)
            if id_hash(memory.id) in self.seen:
                raise InvalidInput("its id came before in this file.")
            return self._placed(memory, row)
        except InvalidInput as error:
            self.counts.fault(row.line, f"{row.name}: {error}" if row.name else str(error))
            return None

    def _placed(self, memory: Memory, row: MemoryRow) -> Change | None:
        stood = self.standing.get(self.space, memory.id)
        after = self._renamed(memory, stood) if self.policy == "rename" else memory
        if stood is None or after.id != memory.id:
            after = self._tied(after)
            change = Change(None, after, self._searched(after, row, None))
            self.counts.imported += stood is None
            self.counts.renamed += stood is not None
        else:
            after = self._in_place_of(stood, after)
            after = after if self.policy == "skip" else self._tied(after)
            if not self._gives_way(stood, after):
                self._met(memory.id, left=True)
                self.counts.skipped += 1
                self.counts.binned += stood.status == "trashed" and not is_redacted(stood)
                return None
            change = Change(stood, after, self._searched(after, row, stood))
            self.counts.overwritten += 1
        self._met(memory.id, left=after.id != memory.id)
        self._met(after.id, left=False)
        return change

    def _met(self, id: str, *, left: bool) -> None:
        self.seen.add(id_hash(id))
        if left:
            self.left.add(id_hash(id))

    def _is_ours(self, id: str) -> bool:
        """True for a memory that is here as the archive has it."""
        return id_hash(id) in self.seen and id_hash(id) not in self.left

    def _in_place_of(self, stood: Memory, after: Memory) -> Memory:
        """What the archive cannot know stays: an heir that came later, and having been used, which no undo could take
        back."""
        if self.policy == "error":
            raise ImportConflict([stood.id], 1)
        after = replace(after, last_accessed=stood.last_accessed, access_count=stood.access_count)
        heir = stood.superseded_by
        if not heir or after.superseded_by or id_hash(heir) in self.ids:
            return after
        return replace(after, superseded_by=heir, superseded_at=stood.superseded_at, valid_until=stood.valid_until)

    def _tied(self, memory: Memory) -> Memory:
        """Without ties that would say of what stands here what its own record does not."""
        if memory.superseded_by and self._closes_a_ring(memory):
            raise InvalidInput("it would supersede itself in a ring.")
        if self.relations is not None:
            self._check_strictly(memory, self.relations)
        kept = tuple(link for link in memory.links if link.rel != SUPERSEDES or self._replaces(memory.id, link.to))
        self.counts.loose += len(memory.links) - len(kept)
        return replace(memory, links=kept) if len(kept) < len(memory.links) else memory

    def _replaces(self, id: str, former: str) -> bool:
        stood = None if self._is_ours(former) else self.standing.get(self.space, former)
        return stood is None or stood.superseded_by == id

    def _check_strictly(self, memory: Memory, known: frozenset[str]) -> None:
        for link in memory.links:
            if link.rel not in known:
                raise UnknownName("relation", link.rel, known)
            there = id_hash(link.to) in self.ids or self._is_ours(link.to)
            if not there and self.standing.get(self.space, link.to) is None:
                raise InvalidInput(f"it is tied to {link.to[:40]!r}, which is neither here nor in the file.")

    def _gives_way(self, stood: Memory, after: Memory) -> bool:
        """What was redacted stays so: an older copy must not bring back what somebody took out for good."""
        if self.policy == "skip" or stood == after or is_redacted(stood):
            return False
        return self.policy == "overwrite" or after.updated_at > stood.updated_at

    def _searched(self, memory: Memory, row: MemoryRow, stood: Memory | None) -> Derived | None:
        """None where that of the memory that stands serves it."""
        found = self.derived(memory, row)
        if found.vectors is None and stood is not None and same_derived_input(stood, memory):
            return None
        self.counts.unembedded += found.vectors is None
        return found

    def _renamed(self, memory: Memory, stood: Memory | None) -> Memory:
        """With other names for itself and for what it is tied to, where those of the archive are taken here."""
        return replace(
            memory,
            id=memory.id if stood is None else self._other_name(memory.id),
            superseded_by=self._name(memory.superseded_by),
            links=tuple(replace(link, to=self._name(link.to)) for link in memory.links),
        )

    def _name(self, id: str) -> str:
        """What an id of the archive is called here, whether its row came already or is still to come."""
        if id_hash(id) not in self.ids or self._is_ours(id):
            return id
        return id if self.standing.get(self.space, id) is None else self._other_name(id)

    def _other_name(self, id: str) -> str:
        """The same each time it is asked for in this import, and unlike any other."""
        digest = blake2b(id.encode(), key=self.salt, digest_size=16).digest()
        return str(UUID(bytes=digest, version=4))

    def _closes_a_ring(self, memory: Memory) -> bool:
        step = self.standing.get(self.space, memory.superseded_by)
        for _ in range(LONGEST_CHAIN):
            if step is None or not step.superseded_by:
                return False
            if step.superseded_by == memory.id:
                return True
            step = self.standing.get(self.space, step.superseded_by)
        return True  # nobody has so many versions of one truth


def needs_ids(policy: str, *, strict: bool) -> bool:
    """Whether it matters here what else the archive holds."""
    return strict or policy in ("rename", "overwrite", "newer")


def id_hash(id: str) -> int:
    """Sixty-four bits that differ from process to process, so that nobody can prepare two ids with one number."""
    return hash(id)


PAGE = 500  # ids that are looked up at once


class Survey(NamedTuple):
    """What the first reading found; it verified the file."""

    archive: Source
    ids: set[int]
    rows: int
    vectors: int
    words: list[Term]
    bad_words: Counts


def survey(store: MemoryStore, archive: Source, guard: Guard, policy: str, progress: Progress | None = None) -> Survey:
    """Raises `ImportConflict` where the policy says so."""
    ids: set[int] = set()
    words, collisions = TermCollector(store.space, guard, archive.path), Collisions(store)
    wanted = needs_ids(policy, strict=store.settings.strict_links)
    rows = vectors = 0
    for row in archive.rows(progress):
        if isinstance(row, MemoryRow):
            rows += 1
            vectors += row.vectors is not None
            id = row.fields.get("id")
            if isinstance(id, str) and wanted:
                ids.add(id_hash(id.strip()))
            if isinstance(id, str) and policy == "error":
                collisions.look(id.strip())
        elif isinstance(row, TermRow):
            words.take(row)
    collisions.refuse()
    return Survey(archive, ids, rows, vectors, words.taken, words.bad)


@dataclass(slots=True)
class TermCollector:
    """The archive's vocabulary, which is held together, and is bounded for that."""

    space: str
    guard: Guard
    path: Path
    taken: list[Term] = field(default_factory=list)
    bad: Counts = field(default_factory=Counts)
    size: int = 0
    types: int = 0

    def take(self, row: TermRow) -> None:
        try:
            word = checked_term(row, self.space, self.guard)
        except InvalidInput as error:
            self.bad.fault(row.line, str(error))
            return
        self.taken.append(word)
        self.types += word.kind == TYPE
        self.size += len(word.name) + len(str(word.data))
        for count, most, what in (
            (len(self.taken), MOST_TERMS, "words"),
            (self.types, MOST_TYPES, "types"),
            (self.size, LARGEST_VOCABULARY, "characters in its words"),
        ):
            if count > most:
                raise ArchiveRefused(self.path, f"it has more than {most:,} {what}", "Do not trust it.")


@dataclass(slots=True)
class Collisions:
    store: MemoryStore
    count: int = 0
    named: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)

    def look(self, id: str) -> None:
        self.waiting.append(id)
        if len(self.waiting) >= PAGE:
            self._ask()

    def refuse(self) -> None:
        self._ask()
        if self.count:
            raise ImportConflict(self.named, self.count)

    def _ask(self) -> None:
        found = self.store.get_many(self.waiting)
        self.count += len(found)
        self.named += [memory.id for memory in found[: MOST_NAMED - len(self.named)]]
        self.waiting.clear()
