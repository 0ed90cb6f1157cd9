"""Commits operations, and keeps the indexes complete.

Whatever is written goes through `Engine.write`, which has the only retry loop. The second half is about indexes:
embedding what waits, in the background too, and reindexing.
"""

from __future__ import annotations

import gc
import logging
import math
import random
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias
from uuid import uuid4

from nacre.errors import (
    Cancelled,
    EmbeddingMismatch,
    InvalidInput,
    MemoryNotFound,
    NacreError,
    StorageError,
    VersionMismatch,
)
from nacre.files import ThreadLock
from nacre.model import Filter, JournalEntry, Memory, Operation
from nacre.model.graph import RELATIONS
from nacre.model.memory import Json, json_list, key_of
from nacre.model.validate import storable_text
from nacre.models.calibration import is_calibrated, measured_values, median_cosines
from nacre.protocols import (
    TOKEN_KIND,
    UPKEEP,
    AnyChange,
    Backend,
    Change,
    Clock,
    Committed,
    Derived,
    Embedder,
    EmbedderBound,
    EmbedderIdentity,
    Expected,
    IndexesRebuilt,
    JournalSink,
    Outdated,
    Progress,
    Reader,
    SpaceRenamed,
    TermChange,
    TermSet,
    Vectors,
    is_cancelled,
)
from nacre.remember.derive import derive, derive_or_defer, same_derived_input

log = logging.getLogger("nacre")

RELATION = "relation"  # the kind of term that names a relation
FOR_REVIEW = "review"  # in a term's data: nobody has confirmed it yet
SPACE = "space"  # the kind of term that describes a space
FORMER_NAMES = "formerly"  # in a space's term: names by which copies outside of the store may know it
UNDO = "undo"  # the name of the operation that takes others back
DELETE_SPACE = "delete_space"  # that of the operation that moves all memories of a space to the trash
PART = 256  # changes in the first transaction of a long operation; see `PartSize`
PART_SECONDS = 0.15  # that a part may hold the write lock: a person who writes meanwhile does not notice the wait
PART_GROWTH = 4  # a part has at most 4 times, and at least a quarter of, the changes of the first
SHORT_PART = 1 / 3  # of these seconds: one of twice the size is then still within them, with some to spare
ATTEMPTS, PATIENCE_SECONDS = 100, 60.0  # both pass before a write that others overtake again and again is given up
PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.001, 0.05  # before the next attempt, at most: about as long as a write takes
RENAMED_BATCHES = 32  # the last operations under another actor's name that the store's own actor can undo
# Any text will do that no two models place alike; changed, it would make every store refuse its own model.
PROBE = "The quick brown fox keeps 12 copper kettles in Lisbon."
HALF_BYTES = 2
STEPS_WITHOUT_EFFECT = 20  # a step is lost when others edit its memories meanwhile; twenty in a row are an error
UNDER_WAY = "reindex"  # the maintenance term that exists while a reindexing runs
TEXTS_A_SPACE = 100  # texts by which an embedder's cosines are calibrated
STEP = 32  # pending memories embedded after one call: about 50 ms, because the process may end soon
QUIET_SECONDS = 1.0  # pause after a step in which no pending memory could be embedded
CLOSING_SECONDS = 1.0  # how long closing waits for a step; longer only where another process locks the store
SAME_VECTORS = 0.95  # cosine of one text's vectors: the default model keeps 0.99 when its weights are rounded to 8 bits


def entity_kind(space: str) -> str:
    """The kind of the terms that hold the space's decisions on names."""
    return f"entity/{space}"


def remains_of(reader: Reader, space: str) -> str:
    """Says what a space without memories has, for which no other may take its name; empty when the name is free. Of a
    purged space nothing is left but what the purge wrote."""
    last, first = (reader.journal(space, newest_first=newest, limit=1) for newest in (True, False))
    purged = all(entry.operation.name == "purge" and entry.operation == first[0].operation for entry in last)
    left = "was created" if reader.term(SPACE, space) is not None else "" if purged else "has a journal"
    holds = f"There is a space {space!r} already, which holds no memories but {left}"
    return f"{holds}; `nacre space delete --purge` removes it." if left else ""


def renamed(reader: Reader, old: str, new: str) -> list[AnyChange]:
    """Gives a space another name; its term keeps those that it had. An interrupted import goes along, and so do the
    tokens of a server."""
    known, importing = reader.term(SPACE, old) or {}, reader.term(*import_under_way(old))
    former = dict.fromkeys(str(name) for name in (*json_list(known.get(FORMER_NAMES)), old) if name != new)
    changes: list[AnyChange] = [SpaceRenamed(old, new), TermSet(SPACE, new, {**known, FORMER_NAMES: list(former)})]
    if importing is not None:
        changes += [TermSet(*import_under_way(old), None), TermSet(*import_under_way(new), importing)]
    return [*changes, *renamed_in_tokens(reader, old, new)]


def renamed_in_tokens(reader: Reader, old: str, new: str) -> list[TermSet]:
    """Tokens that open a space open it under its new name; a restricted reader shows none of them."""
    changes = []
    for id, data in reader.terms(TOKEN_KIND).items():
        names = [str(name) for name in json_list(data.get("spaces"))]
        if old in names:
            after: list[Json] = list(dict.fromkeys(new if name == old else name for name in names))
            changes.append(TermSet(TOKEN_KIND, id, {**data, "spaces": after}))
    return changes


class PartSize:
    """How many changes the next transaction of a long operation has: as many as others can wait for, because each
    transaction has costs of its own."""

    def __init__(self, first: int = PART) -> None:
        self.size = first
        self._least, self._most = max(1, first // PART_GROWTH), PART_GROWTH * first

    def took(self, seconds: float) -> None:
        """The time of the last one, with what it waited itself: where others write much, it is better to be short."""
        if seconds > PART_SECONDS:
            self.size = max(self._least, self.size // 2)
        elif seconds < PART_SECONDS * SHORT_PART:
            self.size = min(self._most, self.size * 2)


@contextmanager
def long_operation() -> Iterator[None]:
    """Lets the garbage collector pass over what exists already: to look through all of it takes 50 ms, and often comes
    while others wait for a transaction. A program that has done so itself is left as it is."""
    done_before = gc.get_freeze_count() > 0
    if not done_before:
        gc.freeze()
    try:
        yield
    finally:
        if not done_before:
            gc.unfreeze()


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
OnEmbedded: TypeAlias = Callable[[Memory], object]  # what is done with a memory that has got its vector later
# A function of what it reads alone: it runs again when that has changed before its changes are written.
Plan: TypeAlias = Callable[[Reader], Sequence[AnyChange]]


class CheckedEmbedder:  # not a `background.WrappedEmbedder`: importing that costs a command on a server's store time
    """An embedder as one store uses it.

    The first texts that it embeds are embedded together with a fixed one, whose vector is compared with that of the
    model that filled the store. Nothing is loaded, and no service is asked, only to compare.
    """

    def __init__(self, wanted: Embedder, store: Backend, probe: bytes = b"") -> None:
        self.wanted = wanted
        self.inner = wanted  # or, where it follows the store, the one that filled that
        self.store = store
        self.probe = probe
        self._stored: EmbedderIdentity | None = None  # as it was read last
        self._latest: tuple[Embedder, str, Vectors] | None = None  # a single text: a question to several spaces

    @property
    def identity(self) -> str:
        return self.inner.identity

    @property
    def dimensions(self) -> int:
        return self.inner.dimensions

    @property
    def token_limit(self) -> int:
        return self.inner.token_limit

    @property
    def ready(self) -> bool:
        return self.inner.ready

    @property
    def waiting(self) -> bool:
        """Whether memories waited for their vectors when the store was last asked."""
        return self._stored is not None and self._stored.waiting

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self.inner.count_tokens(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Raises `EmbeddingMismatch`, besides what the embedder itself raises."""
        if self.probe and len(texts) == 1:
            latest = self._latest
            if latest is None or latest[0] is not self.inner or latest[1] != texts[0]:
                latest = self._latest = (self.inner, texts[0], self.inner.embed(texts))
            return latest[2]
        if self.probe or not texts:
            return self.inner.embed(texts)
        rows = self.inner.embed([*texts, PROBE])
        self._keep(rows[-1])
        self.check()
        return rows[:-1]

    def measure(self) -> None:
        """Embeds the fixed text whatever the store was filled with."""
        self._keep(self.inner.embed([PROBE])[0])

    def current(self) -> EmbedderIdentity:
        """What is known of it without loading anything."""
        return EmbedderIdentity(self.identity, len(self.probe) // HALF_BYTES, self.probe)

    def check(self) -> EmbedderIdentity:
        """What the store is bound to. Raises `EmbeddingMismatch`."""
        stored = self.store.embedder()
        self.check_bound(stored)
        return stored

    def check_bound(self, stored: EmbedderIdentity) -> None:
        """As `check`, with what was read just now."""
        if stored.name and stored.name != self.identity:  # perhaps another process has filled an empty store meanwhile
            self.follow_store(lambda: stored.name)
        self._stored = stored
        check_same(stored, self.current())

    def follow_store(self, stored: Callable[[], str]) -> None:
        from nacre.models.background import embedder_of_store

        inner = embedder_of_store(self.wanted, stored)
        if inner is not self.inner:
            self.inner, self.probe = inner, b""

    def claim(self, expected: Expected) -> list[EmbedderBound]:
        """Binds the store to this vector space on first use; the vector of the fixed text may follow later.

        Raises `EmbeddingMismatch` where it is bound to another one.
        """
        actual = expected.known.embedder if expected.known is not None else None
        stored = self._stored = expected.embedder = actual or self._stored or self.store.embedder()
        claimed = EmbedderIdentity(self.identity, self.dimensions, self.probe, stored.measured)
        check_same(stored, claimed)
        return [EmbedderBound(claimed)] if not stored.name or (claimed.probe and not stored.probe) else []

    def _keep(self, row: Vectors) -> None:
        self.probe = row.astype("<f2").tobytes()


def checked(embedder: Embedder, store: Backend) -> CheckedEmbedder:
    if not isinstance(embedder, CheckedEmbedder):
        return CheckedEmbedder(embedder, store)
    if embedder.store is store:
        return embedder
    return CheckedEmbedder(embedder.wanted, store, embedder.probe if embedder.inner is embedder.wanted else b"")


def check_same(stored: EmbedderIdentity, current: EmbedderIdentity) -> None:
    """Raises `EmbeddingMismatch` unless both can be the same; what one of them does not know is not compared."""
    if not stored.name:
        return
    if stored.name != current.name:
        raise EmbeddingMismatch(stored.name, current.name)
    if stored.dimensions and current.dimensions and stored.dimensions != current.dimensions:
        difference = f", and has {current.dimensions} dimensions instead of {stored.dimensions}"
        raise EmbeddingMismatch(stored.name, current.name, difference)
    probes = stored.probe, current.probe
    if all(probes) and stored.probe != current.probe and not same_direction(*probes):
        raise EmbeddingMismatch(stored.name, current.name, ", and gives other vectors to the same text")


def same_direction(one: bytes, other: bytes) -> bool:
    import numpy as np

    if len(one) != len(other):
        return False  # a damaged one
    first, second = (np.frombuffer(each, "<f2").astype(np.float32) for each in (one, other))
    cosine = first @ second / max(float(np.linalg.norm(first) * np.linalg.norm(second)), 1e-9)
    return bool(cosine >= SAME_VECTORS)


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

    def commit(self, name: str, plan: Plan, why: str) -> list[JournalEntry]:
        """Writes what the plan finds to do as one operation, in one transaction. Returns its journal entries."""
        return self.commit_part(self.operation(name, why), plan)

    def commit_part(self, operation: Operation, plan: Plan) -> list[JournalEntry]:
        """One transaction of an operation. A long operation has several, so that others can write in between; all of
        them have one batch, and are undone together. Returns the part's journal entries."""
        return list(self.write(operation, plan).entries)

    def write(self, operation: Operation | None, plan: Plan, *, publish: bool = True) -> Committed:
        """Plans outside the transaction, and again whenever something that the plan read has changed by the time at
        which its changes are written. Without an operation nothing is journaled.

        A retry means that another writer has succeeded, so that writers as a group always make progress.
        """
        expected, began, attempt = Expected(), time.monotonic(), 1
        while isinstance(result := self._attempt(operation, plan, expected), Outdated):
            seconds = time.monotonic() - began
            if attempt >= ATTEMPTS and seconds > PATIENCE_SECONDS:
                raise StorageError(
                    f"Others changed what this operation is about {attempt:,} times within {seconds:.0f} s; nothing "
                    "was written. Repeat it when fewer of them write."
                )
            expected = Expected(known=updated(expected, result.actual))
            time.sleep(random.uniform(0, min(attempt * PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)))
            attempt += 1
        if operation and result.entries and self.is_renamed and operation.batch not in self.renamed_batches:
            self.renamed_batches.append(operation.batch)
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

        self.commit("register", plan, "")

    def change(
        self,
        space: str,
        ids: Sequence[str],
        name: str,
        edit: Edit,
        *,
        why: str = "",
        only: Callable[[Memory], bool] | None = None,
    ) -> list[Memory]:
        """Edits memories that exist and returns all of them; an edit that changes nothing is not journaled. With
        `only`, those of which it is true when they are written; one that is gone is not an error then."""
        edited: list[Change] = []

        def plan(reader: Reader) -> list[Change]:
            chosen = ids if only is None else [each.id for each in reader.get_many(space, ids) if only(each)]
            edited[:] = self.make_edits(reader, space, dict.fromkeys(chosen, edit))
            return [change for change in edited if change.after != change.before]

        versions = self.write(self.operation(name, why), plan).versions
        memories = [each.subject for each in edited]
        return [replace(memory, version=versions.get(key_of(memory), memory.version)) for memory in memories]

    def change_present(self, space: str, ids: Sequence[str], name: str, edit: Edit, *, why: str = "") -> list[Memory]:
        """Edits those that still exist, with an edit that leaves their text as it is; returns those that changed.

        For plans made earlier: a memory that was removed since is not an error.
        """
        changes: list[Change] = []

        def plan(reader: Reader) -> list[Change]:
            pairs = [(before, edit(before)) for before in reader.get_many(space, ids)]
            now = self.clock()
            changes[:] = [Change(before, replace(after, updated_at=now)) for before, after in pairs if after != before]
            return changes

        self.commit(name, plan, why)
        return [change.subject for change in changes]

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
        derived, reason = derive_or_defer(memories, self.embedder, self.store, self.embedder.check_bound)
        if not reason:
            return derived, ()
        log.warning("Stored without vectors for now: %s", reason)
        return derived, (f"Kept, and found by its words; its vector follows when the model is there. {reason}",)

    def prepare(self, pairs: Iterable[tuple[Memory | None, Memory]]) -> dict[str, Derived]:
        """What is derived from the memories (before, after) whose words or vectors change, by their ids."""
        stale = [after for before, after in pairs if before is None or not same_derived_input(before, after)]
        if not stale:
            return {}
        derived, _ = derive_or_defer(stale, self.embedder, self.store, self.embedder.check_bound)
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
            for rel in {link.rel for link in change.after.links} - had - registered - RELATIONS.keys() - terms.keys():
                if reader.term(RELATION, rel) is None:
                    terms[rel] = TermChange(change.subject.space, RELATION, rel, None, {FOR_REVIEW: True})
    return list(terms.values())


def import_under_way(space: str) -> tuple[str, str]:
    """The term that exists while an import into the space is under way, or was interrupted."""
    return UPKEEP, f"import into {space}"


def catch_up(
    engine: Engine,
    limit: int = PART,
    on_embedded: OnEmbedded | None = None,
    *,
    keep_going: Callable[[], bool] = lambda: True,
) -> int:
    """Embeds up to `limit` waiting memories and returns how many; not journaled, since no record changes. Then each is
    given to `on_embedded`, unless the indexes are being computed anew, as long as `keep_going` says so.

    Raises `EmbeddingError` when the model cannot answer.
    """
    waiting = engine.store.pending(limit)
    done = embed_waiting(engine, waiting)
    if on_embedded is not None and done and not interrupted(engine):
        for memory in waiting:
            if keep_going():
                on_embedded(memory)
    return done


def embed_waiting(engine: Engine, waiting: Sequence[Memory]) -> int:
    """Returns how many of them were embedded; those that changed meanwhile are not. Not journaled."""
    derived = dict(zip(map(key_of, waiting), derive(waiting, engine.embedder, engine.store), strict=True))

    def plan(reader: Reader) -> list[Change]:
        spaces = dict.fromkeys(memory.space for memory in waiting)
        present = [m for space in spaces for m in reader.get_many(space, [m.id for m in waiting if m.space == space])]
        then = {key_of(memory): memory for memory in waiting}
        return [Change(m, m, derived[key_of(m)]) for m in present if same_derived_input(m, then[key_of(m)])]

    return len(engine.write(None, plan).versions)


def catch_up_all(engine: Engine, *, progress: Progress | None = None, on_embedded: OnEmbedded | None = None) -> int:
    total, done, stuck = engine.store.health().pending, 0, 0
    while True:
        step = catch_up(engine, PART, on_embedded)
        if not step and not (waiting := engine.store.pending(PART)):
            return done
        done += step
        stuck = 0 if step else stuck + 1
        if stuck > STEPS_WITHOUT_EFFECT:
            raise StorageError(
                f"{len(waiting):,} memories cannot be indexed: the store's indexes disagree with its records. "
                "Run `nacre doctor --fix`."
            )
        if progress is not None:
            progress(done, max(done, total), "embedding memories")


def reindex(engine: Engine, *, restart: bool = False, progress: Progress | None = None) -> int:
    """Computes the words, chunks and vectors of every space again, with the engine's embedder.

    An interruption loses nothing: what is left waits, and `catch_up_all` or the next `reindex` with the same embedder
    continues, unless `restart` is given.
    """
    engine.embedder.measure()  # a model that cannot answer must not cost the vectors of the old one
    identity = engine.embedder.identity
    engine.store.commit([IndexesRebuilt()])
    if restart or interrupted(engine) != identity or not fits(engine) or not engine.store.pending(1):
        anew = EmbedderBound(engine.embedder.current(), anew=True)
        engine.store.commit([anew, TermSet(UPKEEP, UNDER_WAY, {"embedder": identity})])
    done = catch_up_all(engine, progress=progress)
    bound = replace(engine.store.embedder(), measured=measure_cosines(engine))
    engine.store.commit([TermSet(UPKEEP, UNDER_WAY, None), EmbedderBound(bound)])
    return done


def measure_cosines(engine: Engine) -> dict[str, Json] | None:
    """What the cosines of a foreign embedder mean, measured on the store's own texts; None where that is known, or
    there are too few texts."""
    if is_calibrated(engine.embedder.identity):
        return None
    spaces = engine.store.spaces()
    pages = (engine.store.page(space, Filter(), limit=TEXTS_A_SPACE).memories for space in spaces)
    medians = median_cosines([memory.text for memories in pages for memory in memories], engine.embedder)
    return measured_values(engine.embedder.identity, engine.embedder.dimensions, medians) if medians else None


def fits(engine: Engine) -> bool:
    """Whether the store's vectors can be of the engine's embedder."""
    try:
        engine.embedder.check()
    except EmbeddingMismatch:
        return False
    return True


def interrupted(engine: Engine) -> str:
    """The identity of the embedder of a reindexing that did not end; empty when there is none."""
    return str(engine.store.terms(UPKEEP).get(UNDER_WAY, {}).get("embedder", ""))


class BackgroundCatchUp:
    """Embeds what waits for the model in a thread of its own: no caller waits for it, or fails because of it.

    For all users of one open store. Its engine is not restricted: vectors belong to nobody.
    """

    def __init__(self, engine: Engine, on_embedded: OnEmbedded | None = None) -> None:
        self._engine = engine
        self.on_embedded = on_embedded
        self._lock = ThreadLock()
        self._thread: threading.Thread | None = None
        self._again = False
        self._closed = False
        self._quiet_until = -math.inf

    def start(self) -> None:
        """Begins a step and returns at once, unless nothing waited when the store was last asked, or the model is not
        loaded; beside a step that is under way, lets another one follow."""
        embedder = self._engine.embedder
        if self._closed or not embedder.waiting or not embedder.ready or time.monotonic() < self._quiet_until:
            return
        with self._lock:
            self._again = self._thread is not None and self._thread.is_alive()
            if not self._again and not self._closed:
                self._thread = threading.Thread(target=self._step, name="nacre-catch-up", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Closes the store after the step that is under way; who closes it waits only a moment for that."""
        with self._lock:
            self._closed, thread = True, self._thread
        if thread is not None:
            thread.join(CLOSING_SECONDS)
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return  # the step closes it
        self._engine.store.close()

    def _step(self) -> None:
        again = True
        while again:
            try:
                if not catch_up(self._engine, STEP, self.on_embedded, keep_going=lambda: not self._closed):
                    self._quiet_until = time.monotonic() + QUIET_SECONDS
            except NacreError as error:
                log.debug("Waiting memories were not embedded: %s", error)
            with self._lock:
                closed, again = self._closed, self._again and not self._closed
                self._again = False
                if not again:
                    self._thread = None
        if closed:
            self._engine.store.close()
