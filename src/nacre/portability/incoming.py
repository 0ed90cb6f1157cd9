"""Decides row by row what an import does: what is new, what gives way, what stays as it is, what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Protocol
from uuid import UUID, uuid4

from nacre.engine.change import AnyChange, Change
from nacre.engine.redacting import is_redacted
from nacre.engine.superseding import SUPERSEDES
from nacre.errors import ImportConflict, InvalidInput, UnknownName
from nacre.model import Memory
from nacre.model.memory import Json
from nacre.portability.archive import MOST_NAMED, Fault
from nacre.portability.checking import Checking
from nacre.portability.reading import MemoryRow
from nacre.portability.vocabulary import Word
from nacre.ports import Derived
from nacre.remember.derive import same_basis

POLICIES = ("skip", "overwrite", "rename", "error", "newer")
LONGEST_CHAIN = 1_000  # versions of one truth that are followed to see that no ring closes


class Standing(Protocol):
    """What is there already: a transaction, or for a dry run the store."""

    def get(self, space: str, id: str) -> Memory | None: ...

    def word(self, kind: str, name: str) -> Mapping[str, Json] | None: ...


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
class Incoming:
    """For one run over the rows. `ids` are the archive's, as numbers (`numbered`), where `needs_ids` asks for them: a
    million names would be dear."""

    space: str
    policy: str
    checking: Checking
    derived: Callable[[Memory, MemoryRow], Derived]
    standing: Standing
    ids: set[int]
    counts: Counts = field(default_factory=Counts)
    salt: bytes = field(default_factory=lambda: uuid4().bytes)
    seen: set[int] = field(default_factory=set)
    left: set[int] = field(default_factory=set)  # of those, ids under which something else stands here
    relations: frozenset[str] | None = None  # those that are known, where links are strict

    def spoken(self, words: list[Word]) -> Iterator[AnyChange]:
        for word in words:
            stood = self.standing.word(word.kind, word.name)
            change = word.change(self.space, stood, overwrite=self.policy == "overwrite")
            if change is not None:
                self.counts.words += 1
                yield change

    def change(self, row: MemoryRow) -> Change | None:
        try:
            memory = self.checking.memory(row.fields)
            if numbered(memory.id) in self.seen:
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
        self.seen.add(numbered(id))
        if left:
            self.left.add(numbered(id))

    def _is_ours(self, id: str) -> bool:
        """True for a memory that is here as the archive has it."""
        return numbered(id) in self.seen and numbered(id) not in self.left

    def _in_place_of(self, stood: Memory, after: Memory) -> Memory:
        """What the archive cannot know stays: an heir that came later, and having been used, which no undo could take
        back."""
        if self.policy == "error":
            raise ImportConflict([stood.id], 1)
        after = replace(after, last_accessed=stood.last_accessed, access_count=stood.access_count)
        heir = stood.superseded_by
        if not heir or after.superseded_by or numbered(heir) in self.ids:
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
            there = numbered(link.to) in self.ids or self._is_ours(link.to)
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
        if found.vectors is None and stood is not None and same_basis(stood, memory):
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
        if numbered(id) not in self.ids or self._is_ours(id):
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


def numbered(id: str) -> int:
    """Sixty-four bits that differ from process to process, so that nobody can prepare two ids with one number."""
    return hash(id)
