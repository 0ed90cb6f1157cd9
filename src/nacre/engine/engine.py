"""Commits operations: whatever changes a memory goes through `Engine.write`, which plans again when another writer was
faster."""

from __future__ import annotations

import logging
import random
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias, TypeVar
from uuid import uuid4

from nacre.engine.checked_embedder import MODEL_CHANGED, CheckedEmbedder
from nacre.errors import (
    Cancelled,
    InvalidInput,
    MemoryNotFound,
    NacreError,
    StorageError,
    VersionMismatch,
)
from nacre.model import JournalEntry, Memory, Operation
from nacre.model.graph import RELATIONS
from nacre.model.memory import Json, key_of
from nacre.model.validate import storable_text
from nacre.protocols import (
    UPKEEP,
    AnyChange,
    Backend,
    Change,
    Clock,
    Committed,
    Data,
    Derived,
    EmbedderIdentity,
    Expected,
    JournalSink,
    Outdated,
    Reader,
    TermChange,
    TermSet,
    is_cancelled,
    own_batches,
)
from nacre.remember.derive import derive_or_defer, same_derived_input

log = logging.getLogger("nacre")
T = TypeVar("T")

RELATION = "relation"  # the kind of term that names a relation
FOR_REVIEW = "review"  # in a term's data: nobody has confirmed it yet
SPACE = "space"  # the kind of term that describes a space
FORMER_NAMES = "formerly"  # in a space's term: names by which copies outside of the store may know it
UNDO = "undo"  # the name of the operation that takes others back
PURGE = "purge"  # that of the operation that removes memories for good
DELETE_SPACE = "delete_space"  # that of the operation that moves all memories of a space to the trash
ATTEMPTS, PATIENCE_SECONDS = 100, 60.0  # both pass before a write that others overtake again and again is given up
PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.001, 0.05  # before the next attempt, at most: about as long as a write takes
RENAMED_BATCHES = 32  # the last operations under another actor's name that the store's own actor can undo


def entity_kind(space: str) -> str:
    """The kind of the terms that hold the space's decisions on names."""
    return f"entity/{space}"


class Lookup(Protocol):
    """What a plan reads: the current state, or that with the changes that it has decided on."""

    def get(self, space: str, id: str) -> Memory | None: ...

    def replaced_by(self, space: str, id: str) -> list[Memory]: ...


class PendingChanges:
    """The changes that a plan has decided on so far, one for each memory; later checks of the plan see them."""

    def __init__(self, below: Lookup, changes: Iterable[Change] = ()) -> None:
        self._below = below
        self._changes: dict[str, Change] = {}
        self.add(changes)

    def __iter__(self) -> Iterator[Change]:
        return iter(self._changes.values())

    def get(self, space: str, id: str) -> Memory | None:
        return self._changes[id].after if id in self._changes else self._below.get(space, id)

    def replaced_by(self, space: str, id: str) -> list[Memory]:
        stored = [memory for memory in self._below.replaced_by(space, id) if memory.id not in self._changes]
        changed = (change.after for change in self if change.after is not None and change.after.superseded_by == id)
        return sorted([*stored, *changed], key=lambda memory: memory.created_at)

    def latest(self, memory: Memory) -> Memory:
        """As the plan has changed it, else as given."""
        return self._changes[memory.id].subject if memory.id in self._changes else memory

    def add(self, changes: Iterable[Change]) -> None:
        for change in changes:
            first = self._changes.get(change.subject.id)
            merged = change if first is None else first._replace(after=change.after)
            self._changes[change.subject.id] = merged


Edit: TypeAlias = Callable[[Memory], Memory]
# A function of what it reads alone: it runs again when that has changed before its changes are written.
Plan: TypeAlias = Callable[[Reader], Sequence[AnyChange]]


@dataclass(frozen=True, slots=True)
class Engine:
    store: Backend
    embedder: CheckedEmbedder
    clock: Clock
    actor: str = "lib"
    sink: JournalSink | None = None
    clean: Callable[[str], str] = str  # removes secrets from the reason of an operation
    # The last operations that this store wrote under another actor's name; its own actor may undo them.
    renamed_batches: deque[str] = field(default_factory=lambda: deque(maxlen=RENAMED_BATCHES))
    is_renamed: bool = False
    versions: Mapping[str, int] = field(default_factory=dict)  # that memories must have, by their ids, to be changed

    def named(self, actor: str) -> Engine:
        """The same engine with another name in the journal."""
        return self if actor == self.actor else replace(self, actor=actor, is_renamed=True)

    def write_named(self, name: str, plan: Plan, why: str) -> list[JournalEntry]:
        """Writes what the plan finds to do as one operation, in one transaction. Returns its journal entries."""
        return list(self.write(self.operation(name, why), plan).entries)

    def write(self, operation: Operation | None, plan: Plan, *, publish: bool = True) -> Committed:
        """One transaction. Plans outside of it, and again whenever something that the plan read has changed by the time
        at which its changes are written. A long operation has several transactions, so that others can write in
        between; all of them have one batch, and are undone together. Without an operation nothing is journaled."""
        result = retry_while_outdated(lambda expected: self._attempt(operation, plan, expected))
        if operation and result.entries and self.is_renamed and operation.batch not in self.renamed_batches:
            self.renamed_batches.append(operation.batch)
        own = own_batches.get()
        if own is not None and operation and result.entries:
            own.add(operation.batch)
        if publish:
            self.publish(result.entries)
        return result

    def _attempt(self, operation: Operation | None, plan: Plan, expected: Expected) -> Committed | Outdated:
        try:
            reader = self.store.observed(expected)
            changes = list(plan(reader))
            check_versions(changes, self.versions)
            if operation is not None and operation.name != UNDO:
                changes += new_relations(changes, reader)
            if any(isinstance(each, Change) and each.derived and each.derived.vectors is not None for each in changes):
                changes += self.embedder.claim(expected)
        except NacreError:
            if expected.several and isinstance(result := self.store.commit((), expected), Outdated):
                return result  # the plan failed on values that never existed at the same moment: plan again
            raise
        if not changes and not expected.several:
            return Committed()
        if operation is not None and (asked := is_cancelled.get()) is not None and asked():
            raise Cancelled
        result = self.store.commit(changes, expected, operation, self.clock)
        if isinstance(result, Committed):
            is_cancelled.set(None)  # the rest of the work belongs to what is written now
        if isinstance(result, Outdated):
            # New ids are not read first: here one may turn out to exist. A plan that saw it free can be made again.
            new = [each.subject for each in changes if isinstance(each, Change) and each.before is None]
            seen_free = {key for key, memory in expected.memories.items() if memory is None}
            taken = (memory for memory in new if result.actual.memories.get(key_of(memory)))
            refuse_existing(*(memory for memory in taken if key_of(memory) not in seen_free))
        return result

    def register(
        self, kind: str, name: str, data: Mapping[str, Json], space: str, *, replace_known: bool = True
    ) -> None:
        """Adds a term to the vocabulary; the journal of `space` records it."""

        def plan(reader: Reader) -> list[TermChange]:
            known = reader.term(kind, name)
            unchanged = known == data if replace_known else known is not None
            return [] if unchanged else [TermChange(space, kind, name, known, data)]

        self.write_named("register", plan, "")

    def change(
        self,
        space: str,
        ids: Sequence[str],
        name: str,
        edit: Edit,
        *,
        why: str = "",
        missing_ok: bool = False,
    ) -> list[Memory]:
        """Edits memories and returns all of them; an edit that changes nothing is not journaled. Raises
        `MemoryNotFound`.

        With `missing_ok`, for plans made earlier, one that was removed since is left out, and only those are returned
        that changed.
        """
        edited: list[Change] = []

        def plan(reader: Reader) -> list[Change]:
            present = [each.id for each in reader.get_many(space, ids)] if missing_ok else ids
            edited[:] = self.make_edits(reader, space, dict.fromkeys(present, edit))
            changed = [change for change in edited if change.after != change.before]
            if missing_ok:
                edited[:] = changed
            return changed

        committed = self.write(self.operation(name, why), plan)
        return committed.with_versions(each.subject for each in edited)

    def make_edits(self, reader: Reader, space: str, edits: Mapping[str, Edit]) -> list[Change]:
        """The change that each edit makes; those that change nothing have equal sides. Raises `MemoryNotFound`."""
        pairs = [(before, edits[before.id](before)) for before in self.get_existing(reader, space, list(edits))]
        derived, now = self.prepare(pairs), self.clock()
        return [
            Change(before, before if after == before else replace(after, updated_at=now), derived.get(before.id))
            for before, after in pairs
        ]

    def derive(self, memories: Sequence[Memory]) -> tuple[list[Derived], tuple[str, ...]]:
        """Words and vectors of each; when the model cannot be reached, words alone and a sentence that says so."""
        renewals: list[bool] = []
        derived, reason = derive_or_defer(
            memories, self.embedder, self.store, lambda bound: renewals.append(self._check_bound(bound))
        )
        if not reason:
            return derived, (MODEL_CHANGED,) if any(renewals) else ()
        log.warning("Stored without vectors for now: %s", reason)
        return derived, (f"Kept, and found by its words; its vector follows when the model is there. {reason}",)

    def _check_bound(self, bound: EmbedderIdentity) -> bool:
        """As `CheckedEmbedder.check_bound`; renews a store that is outdated, and says whether it did."""
        self.embedder.check_bound(bound)
        return self.embedder.outdated and self.embedder.renew()

    def prepare(self, pairs: Iterable[tuple[Memory | None, Memory]]) -> dict[str, Derived]:
        """What is derived from the memories (before, after) whose words or vectors change, by their ids."""
        stale = [after for before, after in pairs if before is None or not same_derived_input(before, after)]
        if not stale:
            return {}
        derived, _ = derive_or_defer(stale, self.embedder, self.store, self._check_bound)
        return {memory.id: each for memory, each in zip(stale, derived, strict=True)}

    def get_existing(self, reader: Reader, space: str, ids: Sequence[str]) -> list[Memory]:
        """Raises `MemoryNotFound` unless all of them exist."""
        memories = {memory.id: memory for memory in reader.get_many(space, ids)}
        for id in ids:
            if id not in memories:
                raise MemoryNotFound(id, space)
        return list(memories.values())

    def get_required(self, lookup: Lookup, space: str, id: str) -> Memory:
        memory = lookup.get(space, id)
        if memory is None:
            raise MemoryNotFound(id, space)
        return memory

    def operation(self, name: str, why: str) -> Operation:
        """A new one; it gets its time when it is written."""
        return Operation(name, self.actor, 0.0, uuid4().hex, self.clean(storable_text("why", why)))

    def publish(self, entries: Sequence[JournalEntry]) -> None:
        if self.sink is not None and entries:
            self.sink(entries)


class Patience:
    """Of a writer that others overtake. A further attempt means that another writer has succeeded, so that writers as a
    group always make progress."""

    def __init__(self) -> None:
        self.began, self.attempts = time.monotonic(), 0

    def wait(self) -> None:
        """Before the next attempt. Raises `StorageError` when others were faster again and again."""
        self.attempts += 1
        seconds = time.monotonic() - self.began
        if self.attempts >= ATTEMPTS and seconds > PATIENCE_SECONDS:
            raise StorageError(
                f"Others changed what this operation is about {self.attempts:,} times within {seconds:.0f} s; nothing "
                "was written. Repeat it when fewer of them write."
            )
        time.sleep(random.uniform(0, min(self.attempts * PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)))


def retry_while_outdated(attempt: Callable[[Expected], Committed | Outdated]) -> Committed:
    """Repeats an attempt to write until nothing has changed that it rests on."""
    expected, patience = Expected(), Patience()
    while isinstance(result := attempt(expected), Outdated):
        patience.wait()
        expected = Expected(known=updated(expected, result.actual))
    return result


def retry_while_changed(attempt: Callable[[], T], *also: type[NacreError]) -> T:
    """Repeats what reads memories and writes them through `MemoryStore.expecting`, until nobody else has changed them
    in between. `also` are further errors that mean so."""
    patience = Patience()
    changed: tuple[type[NacreError], ...] = (VersionMismatch, *also)
    while True:
        try:
            return attempt()
        except changed:
            patience.wait()


def retry_while_none(attempt: Callable[[], T | None]) -> T:
    """Repeats what decides by what is stored and writes later, until nobody else has changed it in between."""
    patience = Patience()
    while (result := attempt()) is None:
        patience.wait()
    return result


def change_term(store: Backend, kind: str, name: str, edit: Callable[[Data | None], Data | None]) -> None:
    """Writes what the edit makes of a term that no journal records; None where there is none. The edit runs again when
    others have changed the term before its result is written."""

    def plan(reader: Reader) -> list[TermSet]:
        before = reader.term(kind, name)
        after = edit(before)
        return [] if after == before else [TermSet(kind, name, after)]

    set_terms(store, plan)


def set_terms(store: Backend, plan: Callable[[Reader], Sequence[TermSet]]) -> None:
    """Writes the terms that the plan returns, which no journal records, all or none. The plan runs again when others
    have changed what it read before they are written."""

    def attempt(expected: Expected) -> Committed | Outdated:
        changes = plan(store.observed(expected))
        return store.commit(changes, expected) if changes else Committed()

    retry_while_outdated(attempt)


def check_versions(changes: Iterable[AnyChange], versions: Mapping[str, int]) -> None:
    """Raises `VersionMismatch`. The record that has the version is compared once more when the changes are written."""
    for change in changes if versions else ():
        if isinstance(change, Change) and change.before is not None:
            wanted = versions.get(change.before.id, change.before.version)
            if change.before.version != wanted and change.after != change.before:
                raise VersionMismatch(change.before.id, wanted, change.before.version)


def updated(expected: Expected, actual: Expected) -> Expected:
    """What was expected, with what it turned out to be."""
    return Expected(
        expected.memories | actual.memories,
        expected.terms | actual.terms,
        expected.answers | actual.answers,
        actual.embedder or expected.embedder,
    )


def insertions(memories: Sequence[Memory], derived: Sequence[Derived]) -> list[Change]:
    """Does not check whether the ids are free; the commit does. Raises `InvalidInput` for an id given twice."""
    times = Counter(map(key_of, memories))
    refuse_existing(*(memory for memory in memories if times[key_of(memory)] > 1))
    return [Change(None, memory, each) for memory, each in zip(memories, derived, strict=True)]


def refuse_existing(*memories: Memory) -> None:
    for memory in memories:
        raise InvalidInput(f"A memory {memory.id!r} exists already; edit it, or give another id.")


def new_relations(changes: Sequence[AnyChange], reader: Reader) -> list[TermChange]:
    """A relation that nobody registered is learned from its first link, and waits for review."""
    terms: dict[str, TermChange] = {}
    registered = {each.name for each in changes if isinstance(each, TermChange) and each.kind == RELATION}
    for change in changes:
        if isinstance(change, Change) and change.after is not None and change.after.links:
            had = {link.rel for link in change.before.links} if change.before is not None else set()
            known = had | registered | RELATIONS.keys() | terms.keys()
            for rel in dict.fromkeys(link.rel for link in change.after.links):
                if rel not in known and reader.term(RELATION, rel) is None:
                    terms[rel] = TermChange(change.subject.space, RELATION, rel, None, {FOR_REVIEW: True})
    return list(terms.values())


def import_under_way(space: str) -> tuple[str, str]:
    """The term that exists while an import into the space is under way, or was interrupted."""
    return UPKEEP, f"import into {space}"
