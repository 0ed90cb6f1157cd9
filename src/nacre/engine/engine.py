"""Commits operations: every change of a memory or a term goes through `Engine.commit`, in one transaction."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias
from uuid import uuid4

from nacre.errors import EmbeddingMismatch, InvalidInput, MemoryNotFound, NacreError, StorageError
from nacre.files import ThreadLock
from nacre.model import JournalEntry, Memory, Operation
from nacre.model.graph import RELATIONS
from nacre.model.memory import Json, images, json_list
from nacre.protocols import (
    Backend,
    Clock,
    Derived,
    Embedder,
    EmbedderIdentity,
    JournalSink,
    Progress,
    Transaction,
    Vectors,
)
from nacre.remember.derive import derive, derive_or_defer, same_derived_input
from nacre.remember.validate import storable_text

log = logging.getLogger("nacre")

RELATION = "relation"  # the kind of term that names a relation
FOR_REVIEW = "review"  # in a term's data: nobody has confirmed it yet
SPACE = "space"  # the kind of term that describes a space
SPACE_NAME = "space_name"  # the kind of a journal entry that renames a space
FORMER_NAMES = "formerly"  # in a space's term: names by which copies outside of the store may know it
UNDO = "undo"  # the name of the operation that takes others back
PART = 256  # changes in one transaction of a long operation: some 50 ms, for which other writers wait
WRITTEN = 32  # operations under other names that are remembered for `undo`
# Any text will do that no two models place alike; changed, it would make every store refuse its own model.
PROBE = "The quick brown fox keeps 12 copper kettles in Lisbon."
HALF_BYTES = 2
SAME_VECTORS = 0.95  # cosine of one text's vectors: the default model keeps 0.99 when its weights are rounded to 8 bits


@dataclass(frozen=True, slots=True)
class Change:
    """No `before`: the memory is new. No `after`: it is removed. Without `derived`, words and vectors stay."""

    before: Memory | None
    after: Memory | None
    derived: Derived | None = None

    @property
    def subject(self) -> Memory:
        return self.after or self.before  # type: ignore[return-value]

    @property
    def embeds(self) -> bool:
        return self.derived is not None and self.derived.vectors is not None

    def apply(self, transaction: Transaction) -> None:
        if self.after is None:
            transaction.remove(self.subject.space, self.subject.id)
        else:
            transaction.put(self.after, self.derived)

    def entry(self, operation: Operation) -> JournalEntry:
        before, after = images(self.before, self.after)
        return JournalEntry(0, operation, self.subject.space, self.subject.id, before, after)


@dataclass(frozen=True, slots=True)
class TermChange:
    """A term of the vocabulary; None where it does not exist. `space` is the one whose journal records it."""

    space: str
    kind: str
    name: str
    before: Mapping[str, Json] | None
    after: Mapping[str, Json] | None
    embeds: bool = False

    def apply(self, transaction: Transaction) -> None:
        transaction.put_term(self.kind, self.name, self.after)

    def entry(self, operation: Operation) -> JournalEntry:
        return JournalEntry(0, operation, self.space, self.name, self.before, self.after, self.kind)


@dataclass(frozen=True, slots=True)
class SpaceRenamed:
    """Recorded in the journal of the space, all of which goes by the new name from then on."""

    old: str
    new: str
    embeds: bool = False

    def apply(self, transaction: Transaction) -> None:
        transaction.rename_space(self.old, self.new)
        known = transaction.term(SPACE, self.new) or {}
        former = [name for name in (*json_list(known.get(FORMER_NAMES)), self.old) if name != self.new]
        transaction.put_term(SPACE, self.new, {**known, FORMER_NAMES: list(dict.fromkeys(map(str, former)))})

    def entry(self, operation: Operation) -> JournalEntry:
        return JournalEntry(0, operation, self.new, self.new, {"name": self.old}, {"name": self.new}, SPACE_NAME)


def remains_of(store: Backend, space: str) -> str:
    """Says what a space without memories has, for which no other may take its name; empty when the name is free. Of a
    purged space nothing is left but what the purge wrote."""
    last, first = (store.journal(space, newest_first=newest, limit=1) for newest in (True, False))
    purged = all(entry.operation.name == "purge" and entry.operation == first[0].operation for entry in last)
    left = "was created" if space in store.terms(SPACE) else "" if purged else "has a journal"
    holds = f"There is a space {space!r} already, which holds no memories but {left}"
    return f"{holds}; `nacre space delete --purge` removes it." if left else ""


class Lookup(Protocol):
    """The current state: a transaction, or one with the pending changes of a plan."""

    def get(self, space: str, id: str) -> Memory | None: ...


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

    def latest(self, memory: Memory) -> Memory:
        """As the plan has changed it, else as given."""
        return self._changes[memory.id].subject if memory.id in self._changes else memory

    def add(self, changes: Iterable[Change]) -> None:
        for change in changes:
            first = self._changes.get(change.subject.id)
            merged = change if first is None else replace(first, after=change.after)
            self._changes[change.subject.id] = merged


AnyChange: TypeAlias = Change | TermChange | SpaceRenamed
Edit: TypeAlias = Callable[[Memory], Memory]


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was derived from a memory before the transaction."""

    memory: Memory
    derived: Derived


Preparations: TypeAlias = Mapping[str, Prepared]
Plan: TypeAlias = Callable[[Transaction], Sequence[AnyChange]]
PreparedPlan: TypeAlias = Callable[[Transaction, Preparations], Sequence[AnyChange]]


class OutdatedPreparation(Exception):
    """Somebody wrote between the preparation and the transaction: it must be prepared again."""


class CheckedEmbedder:
    """An embedder as one store uses it.

    The first texts that it embeds are embedded together with a fixed one, whose vector is compared with that of the
    model that filled the store. Nothing is loaded, and no service is asked, only to compare.
    """

    def __init__(self, inner: Embedder, store: Backend, probe: bytes = b"") -> None:
        self.inner = inner
        self.store = store
        self.probe = probe

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

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self.inner.count_tokens(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Raises `EmbeddingMismatch`, besides what the embedder itself raises."""
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

    def check(self) -> None:
        """Raises `EmbeddingMismatch`."""
        check_same(self.store.embedder(), self.current())

    def claim(self, transaction: Transaction) -> None:
        """Binds the store to this vector space on first use; the vector of the fixed text may follow later.

        Raises `EmbeddingMismatch` where it is bound to another one.
        """
        stored, claimed = transaction.embedder(), EmbedderIdentity(self.identity, self.dimensions, self.probe)
        check_same(stored, claimed)
        if not stored.name or (claimed.probe and not stored.probe):
            transaction.bind_embedder(claimed)

    def _keep(self, row: Vectors) -> None:
        self.probe = row.astype("<f2").tobytes()


def checked(embedder: Embedder, store: Backend) -> CheckedEmbedder:
    if not isinstance(embedder, CheckedEmbedder):
        return CheckedEmbedder(embedder, store)
    return embedder if embedder.store is store else CheckedEmbedder(embedder.inner, store, embedder.probe)


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
    # The last operations under another name than the first engine's: that one may undo them as its own.
    written: deque[str] = field(default_factory=lambda: deque(maxlen=WRITTEN))
    records: bool = False  # whether this engine writes under such a name

    def named(self, actor: str) -> Engine:
        """The same engine with another name in the journal."""
        return self if actor == self.actor else replace(self, actor=actor, records=True)

    def commit(self, name: str, plan: Plan, why: str) -> list[JournalEntry]:
        """Writes what the plan finds to do as one operation, in one transaction. Returns its journal entries."""
        return self.commit_part(self.operation(name, why), plan)

    def commit_part(self, operation: Operation, plan: Plan) -> list[JournalEntry]:
        """One transaction of an operation. A long operation has several, so that others can write in between; all of
        them have one batch, and are undone together. Returns the part's journal entries."""
        with self.store.transaction() as transaction:
            changes = list(plan(transaction))
            if operation.name != UNDO:
                changes += new_relations(changes, transaction)
            if any(change.embeds for change in changes):
                self.embedder.claim(transaction)
            for change in changes:
                change.apply(transaction)
            entries = self.append([change.entry(operation) for change in changes], transaction)
        self.publish(entries)
        return entries

    def append(self, entries: Sequence[JournalEntry], transaction: Transaction) -> list[JournalEntry]:
        """Gives the entries of an operation the time at which they are written, and appends them to the journal.

        The time never runs backwards within a space: what was asked for as of a moment must stay the same answer.
        """
        if not entries:
            return []
        at = max(self.clock(), *(transaction.last_at(space) for space in {entry.space for entry in entries}))
        operation = replace(entries[0].operation, at=at)
        dated = [replace(entry, operation=operation) for entry in entries]
        transaction.append(dated)
        if self.records and entries[0].operation.batch not in self.written:
            self.written.append(entries[0].operation.batch)
        return dated

    def commit_prepared(
        self, name: str, prepare: Callable[[], Preparations], plan: PreparedPlan, why: str
    ) -> list[JournalEntry]:
        """Embeds outside the transaction and plans inside it; starts again when somebody wrote in between."""
        while True:
            prepared = prepare()
            try:
                return self.commit(name, lambda transaction, prepared=prepared: plan(transaction, prepared), why)  # type: ignore[misc]
            except OutdatedPreparation:
                continue

    def register(
        self, kind: str, name: str, data: Mapping[str, Json], space: str, *, replace_known: bool = True
    ) -> None:
        """Adds a term to the vocabulary; the journal of `space` records it."""

        def plan(transaction: Transaction) -> list[TermChange]:
            known = transaction.term(kind, name)
            unchanged = known == data if replace_known else known is not None
            return [] if unchanged else [TermChange(space, kind, name, known, data)]

        self.commit("register", plan, "")

    def change(self, space: str, ids: Sequence[str], name: str, edit: Edit, *, why: str = "") -> list[Memory]:
        """Edits memories that exist and returns all of them; an edit that changes nothing is not journaled."""
        edits = dict.fromkeys(ids, edit)
        edited: dict[str, Change] = {}

        def plan(transaction: Transaction, prepared: Preparations) -> list[Change]:
            edited.update(self.edited(transaction, space, edits, prepared))
            return [change for change in edited.values() if change.after != change.before]

        self.commit_prepared(name, lambda: self.prepare_edits(space, edits), plan, why)
        return [change.subject for change in edited.values()]

    def change_present(self, space: str, ids: Sequence[str], name: str, edit: Edit, *, why: str = "") -> list[Memory]:
        """Edits those that still exist, with an edit that leaves their text as it is; returns those that changed.

        For plans made earlier: a memory that was removed since is not an error.
        """
        changed: list[Memory] = []

        def plan(transaction: Transaction) -> list[Change]:
            current = (transaction.get(space, id) for id in dict.fromkeys(ids))
            pairs = [(before, edit(before)) for before in current if before is not None]
            now = self.clock()
            changes = [Change(before, replace(after, updated_at=now)) for before, after in pairs if after != before]
            changed.extend(change.subject for change in changes)
            return changes

        self.commit(name, plan, why)
        return changed

    def edited(
        self, transaction: Transaction, space: str, edits: Mapping[str, Edit], prepared: Preparations
    ) -> dict[str, Change]:
        """The change that each edit makes, by id; those that change nothing have equal sides."""
        changes = {}
        now = self.clock()
        for id, edit in edits.items():
            before = self.required(transaction, space, id)
            after = edit(before)
            derived = fitting(prepared, before, after)
            changes[id] = Change(before, before if after == before else replace(after, updated_at=now), derived)
        return changes

    def derived(self, memories: Sequence[Memory]) -> tuple[list[Derived], tuple[str, ...]]:
        """Words and vectors of each; when the model cannot be reached, words alone and a sentence that says so."""
        self.embedder.check()
        derived, reason = derive_or_defer(memories, self.embedder, self.store)
        if not reason:
            return derived, ()
        log.warning("Stored without vectors for now: %s", reason)
        return derived, (f"Kept, and found by its words; its vector follows when the model is there. {reason}",)

    def prepare_edits(self, space: str, edits: Mapping[str, Edit]) -> dict[str, Prepared]:
        return self.prepare([(memory, edits[memory.id](memory)) for memory in self.existing(space, list(edits))])

    def prepare(self, pairs: Sequence[tuple[Memory | None, Memory]]) -> dict[str, Prepared]:
        """Embeds, before the transaction, the memories (before, after) whose text changes."""
        stale = [after for before, after in pairs if before is None or not same_derived_input(before, after)]
        if not stale:
            return {}
        self.embedder.check()
        derived, _ = derive_or_defer(stale, self.embedder, self.store)
        return {memory.id: Prepared(memory, each) for memory, each in zip(stale, derived, strict=True)}

    def existing(self, space: str, ids: Sequence[str]) -> list[Memory]:
        """Raises `MemoryNotFound` unless all of them exist."""
        memories = {memory.id: memory for memory in self.store.get_many(space, ids)}
        for id in ids:
            if id not in memories:
                raise MemoryNotFound(id, space)
        return list(memories.values())

    def required(self, lookup: Lookup, space: str, id: str) -> Memory:
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


def fitting(prepared: Preparations, before: Memory, after: Memory) -> Derived | None:
    """What was derived for this edit; None when it needs nothing. Raises `OutdatedPreparation`."""
    ready = prepared.get(after.id)
    if not same_derived_input(before if ready is None else ready.memory, after):
        raise OutdatedPreparation
    return None if ready is None else ready.derived


def insertions(memories: Sequence[Memory], derived: Sequence[Derived], transaction: Transaction) -> list[Change]:
    """Raises `InvalidInput` when an id is taken."""
    taken: set[tuple[str, str]] = set()
    for space in {memory.space for memory in memories}:
        ids = [memory.id for memory in memories if memory.space == space]
        taken |= {(space, memory.id) for memory in transaction.get_many(space, ids)}
    for memory in memories:
        if (memory.space, memory.id) in taken:
            raise InvalidInput(f"A memory {memory.id!r} exists already; edit it, or give another id.")
        taken.add((memory.space, memory.id))
    return [Change(None, memory, each) for memory, each in zip(memories, derived, strict=True)]


def new_relations(changes: Sequence[AnyChange], transaction: Transaction) -> list[TermChange]:
    """A relation that nobody registered is learned from its first link, and waits for review."""
    terms: dict[str, TermChange] = {}
    registered = {each.name for each in changes if isinstance(each, TermChange) and each.kind == RELATION}
    for change in changes:
        if isinstance(change, Change) and change.after is not None and change.after.links:
            had = {link.rel for link in change.before.links} if change.before is not None else set()
            for rel in {link.rel for link in change.after.links} - had - registered - RELATIONS.keys() - terms.keys():
                if transaction.term(RELATION, rel) is None:
                    terms[rel] = TermChange(change.subject.space, RELATION, rel, None, {FOR_REVIEW: True})
    return list(terms.values())


BATCH = 256
STEPS_WITHOUT_EFFECT = 20  # others may edit what is being embedded, but not twenty times the same 256
UPKEEP, UNDER_WAY = "upkeep", "reindex"  # the term that exists while a reindexing is under way


def import_under_way(space: str) -> tuple[str, str]:
    """The term that exists while an import into the space is under way, or was interrupted."""
    return UPKEEP, f"import into {space}"


def catch_up(engine: Engine, limit: int = BATCH) -> int:
    """Embeds up to `limit` waiting memories and returns how many; not journaled, since no record changes.

    Raises `EmbeddingError` when the model cannot answer.
    """
    return embed_waiting(engine, engine.store.pending(limit))


def embed_waiting(engine: Engine, waiting: Sequence[Memory]) -> int:
    """Returns how many of them were embedded; those that changed meanwhile are not."""
    if not waiting:
        return 0
    done = 0
    derived = derive(waiting, engine.embedder, engine.store)
    with engine.store.transaction() as transaction:
        engine.embedder.claim(transaction)
        for memory, each in zip(waiting, derived, strict=True):
            current = transaction.get(memory.space, memory.id)
            if current is not None and same_derived_input(current, memory):
                transaction.put(current, each)
                done += 1
    return done


def catch_up_all(engine: Engine, *, progress: Progress | None = None) -> int:
    total, done, stuck = engine.store.health().pending, 0, 0
    while waiting := engine.store.pending(BATCH):
        step = embed_waiting(engine, waiting)
        done += step
        stuck = 0 if step else stuck + 1
        if stuck > STEPS_WITHOUT_EFFECT:
            raise StorageError(
                f"{len(waiting):,} memories cannot be indexed: the store's indexes disagree with its records. "
                "Run `nacre doctor --fix`."
            )
        if progress is not None:
            progress(done, max(done, total), "embedding memories")
    return done


def reindex(engine: Engine, *, restart: bool = False, progress: Progress | None = None) -> int:
    """Computes the words, chunks and vectors of every space again, with the engine's embedder.

    An interruption loses nothing: what is left waits, and `catch_up_all` or the next `reindex` with the same embedder
    continues, unless it is told to `restart`.
    """
    engine.embedder.measure()  # a model that cannot answer must not cost the vectors of the old one
    identity = engine.embedder.identity
    with engine.store.transaction() as transaction:
        transaction.rebuild_indexes()
    if restart or interrupted(engine) != identity or not fits(engine) or not engine.store.pending(1):
        with engine.store.transaction() as transaction:
            transaction.change_embedder(engine.embedder.current())
            transaction.put_term(UPKEEP, UNDER_WAY, {"embedder": identity})
    done = catch_up_all(engine, progress=progress)
    with engine.store.transaction() as transaction:
        transaction.put_term(UPKEEP, UNDER_WAY, None)
    return done


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


STEP = 32  # memories that one call leads to: some 50 ms of embedding, in a process that may end soon
# Where nothing waited, after which one looks again: only a process without a model leaves something behind, and its
# memories are found by their words meanwhile.
QUIET_SECONDS = 1.0
CLOSING_SECONDS = 1.0  # that closing waits for a step; longer only where another process holds the store


class BackgroundCatchUp:
    """Embeds what waits for the model in a thread of its own: no caller waits for it, or fails because of it.

    For all users of one open store. Its engine is not restricted: vectors belong to nobody.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = ThreadLock()
        self._thread: threading.Thread | None = None
        self._again = False
        self._closed = False
        self._quiet_until = -math.inf

    def start(self) -> None:
        """Begins a step and returns at once, unless nothing waits or the model is not loaded; beside a step that is
        under way, lets another one follow."""
        now = time.monotonic()
        if self._closed or not self._engine.embedder.ready or now < self._quiet_until:
            return
        with suppress(NacreError):
            if self._engine.store.pending(1):
                self._begin()
            else:
                self._quiet_until = now + QUIET_SECONDS

    def _begin(self) -> None:
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
        going_on = True
        while going_on:
            try:
                catch_up(self._engine, STEP)
            except NacreError as error:
                log.debug("Waiting memories were not embedded: %s", error)
            with self._lock:
                closed, going_on = self._closed, self._again and not self._closed
                self._again = False
                if not going_on:
                    self._thread = None
        if closed:
            self._engine.store.close()
