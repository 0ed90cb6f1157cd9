"""Words that come up by themselves: a relation that nobody taught the store is learned, and waits for review."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias
from uuid import uuid4

from nacre.engine import undo as undoing
from nacre.engine.changes import FORMERLY, SPACE, AnyChange, Change, TermChange, new_only
from nacre.engine.supersede import closed_up, restored, superseded
from nacre.errors import EmbeddingMismatch, InvalidInput, MemoryNotFound, UndoRefused
from nacre.model import JournalEntry, JournalFilter, Memory, Operation
from nacre.model.graph import RELATIONS
from nacre.model.memory import Json
from nacre.protocols import Backend, Clock, Derived, Embedder, JournalSink, Transaction
from nacre.remember.derive import derive_or_defer, indexed_words, same_derived_input
from nacre.remember.validate import storable_text

RELATION = "relation"
FOR_REVIEW = "review"  # in a word's data: nobody has confirmed it yet


def learned(changes: Sequence[AnyChange], transaction: Transaction) -> list[TermChange]:
    found: dict[str, TermChange] = {}
    for change in changes:
        if isinstance(change, Change) and change.after is not None and change.after.links:
            had = {link.rel for link in change.before.links} if change.before is not None else set()
            for rel in {link.rel for link in change.after.links} - had - RELATIONS.keys() - found.keys():
                if transaction.term(RELATION, rel) is None:
                    found[rel] = TermChange(change.subject.space, RELATION, rel, None, {FOR_REVIEW: True})
    return list(found.values())


REDACTED = "[redacted]"


def redacted(memory: Memory, now: float) -> Memory:
    return Memory(
        id=memory.id,
        space=memory.space,
        text=REDACTED,
        type=memory.type,
        metadata={"redacted": True},
        created_at=memory.created_at,
        updated_at=now,
        last_accessed=memory.last_accessed,
        access_count=memory.access_count,
        status="trashed",
        superseded_by=memory.superseded_by,
        superseded_at=memory.superseded_at,
        links=tuple(replace(link, data={}) for link in memory.links),
    )


def is_redacted(memory: Memory) -> bool:
    return memory.text == REDACTED and memory.metadata.get("redacted") is True


log = logging.getLogger("nacre")

Plan: TypeAlias = Callable[[Transaction], Sequence[AnyChange] | None]


@dataclass(frozen=True, slots=True)
class Prepared:
    memory: Memory
    derived: Derived


@dataclass(frozen=True, slots=True)
class Engine:
    store: Backend
    embedder: Embedder
    clock: Clock
    actor: str = "lib"
    sink: JournalSink | None = None
    clean: Callable[[str], str] = str  # what a reason goes through before the journal has it

    def derived(self, memories: Sequence[Memory]) -> tuple[list[Derived], tuple[str, ...]]:
        """What is searched of each; where the model is away its words alone, and a sentence that says so."""
        self.check_embedder()
        found, waits = derive_or_defer(memories, self.embedder, self.store)
        if not waits:
            return found, ()
        log.warning("Kept without vectors for now: %s", waits)
        return found, (f"Kept, and found by its words; its vector follows when the model is there. {waits}",)

    def change(
        self, space: str, ids: Sequence[str], operation: str, edit: Callable[[Memory], Memory], *, why: str = ""
    ) -> list[Memory]:
        """Edits memories that exist; an edit that changes nothing is not an act."""
        while True:
            planned = self.prepared([(memory, edit(memory)) for memory in self.existing(space, ids)])
            done = self._try_change(space, ids, operation, edit, planned, why)
            if done is not None:
                return done
            # Someone wrote between the reading and the transaction: read again.

    def change_present(
        self, space: str, ids: Sequence[str], operation: str, edit: Callable[[Memory], Memory], *, why: str = ""
    ) -> list[Memory]:
        """Edits those that are there, where an edit leaves words as they are; returns those that it changed.

        For what was planned earlier: a memory that went meanwhile is no fault, and one that changed is left alone by
        an edit that looks.
        """
        done: list[Memory] = []

        def plan(transaction: Transaction) -> list[Change]:
            found = (transaction.get(space, id) for id in dict.fromkeys(ids))
            pairs = [(before, edit(before)) for before in found if before is not None]
            now = self.clock()
            changes = [Change(before, replace(after, updated_at=now)) for before, after in pairs if after != before]
            done.extend(change.subject for change in changes)
            return changes

        self.commit(operation, plan, why)
        return done

    def _try_change(
        self,
        space: str,
        ids: Sequence[str],
        operation: str,
        edit: Callable[[Memory], Memory],
        planned: Mapping[str, Prepared],
        why: str,
    ) -> list[Memory] | None:
        done: list[Memory] = []

        def plan(transaction: Transaction) -> list[Change] | None:
            changes = []
            for id in dict.fromkeys(ids):
                before = self.found(transaction, space, id)
                after = edit(before)
                if not fits(planned.get(id), before, after):
                    return None
                if after != before:
                    after = replace(after, updated_at=self.clock())
                    changes.append(Change(before, after, planned[id].derived if id in planned else None))
                done.append(after)
            return changes

        return None if self.commit(operation, plan, why) is None else done

    def purge(
        self, space: str, ids: Sequence[str], *, only: Callable[[Memory], bool] | None = None, why: str = ""
    ) -> int:
        """Removes memories and what the journal tells of them, for good. A chain closes up around what leaves it.

        `only` is asked inside the transaction, where nobody can change the answer.
        """
        gone: list[str] = []

        def plan(transaction: Transaction) -> list[Change]:
            changes: list[Change] = []
            for id in dict.fromkeys(ids):
                memory = transaction.get(space, id)
                if memory is not None and (only is None or only(memory)):
                    for change in closed_up(transaction, memory, self.clock()):
                        change.carry_out(transaction)  # the next one of the chain may go as well
                        changes.append(change)
                    transaction.remove(space, id)
                    gone.append(id)
            return [change for change in changes if change.subject.id not in gone]

        self.removing("purge", space, plan, gone, why)
        return len(gone)

    def redact(self, space: str, ids: Sequence[str], *, why: str = "") -> int:
        """Takes a memory's content out of the record, the indexes and the journal for good; that it was there stays."""
        gone: list[str] = []

        def plan(transaction: Transaction) -> list[AnyChange]:
            for id in dict.fromkeys(ids):
                stone = redacted(self.found(transaction, space, id), self.clock())
                transaction.put(stone, Derived(indexed_words(stone)))  # its vector can wait; the old one goes now
                gone.append(id)
            return []

        self.removing("redact", space, plan, gone, why)
        return len(gone)

    def removing(self, name: str, space: str, plan: Plan, gone: Sequence[str], why: str) -> None:
        """One act whose subjects the journal names and tells nothing of."""
        operation = self.operation(name, why)
        with self.store.transaction() as transaction:
            entries = [change.told(operation) for change in plan(transaction) or ()]
            for id in gone:
                transaction.scrub_journal(space, id)
            entries += [JournalEntry(0, operation, space, id, None, None) for id in gone]
            transaction.append(entries)
        if self.sink is not None and gone:
            for name in (space, *former_names(self.store, space)):
                self.sink.scrub(name, gone)
        self._tell(entries)

    def compact(self, space: str, before: float, *, why: str = "") -> int:
        """Drops what the journal tells of earlier times; returns how many entries. Nothing brings them back."""
        upto = self.store.written_by(space, before)
        operation = self.operation("compact", why)
        with self.store.transaction() as transaction:
            dropped = transaction.forget_journal(space, upto) if upto else 0
            entries = [JournalEntry(0, operation, space, "", None, {"dropped": dropped}, "journal")] if dropped else []
            transaction.append(entries)
        self._tell(entries)
        return dropped

    def supersede(self, space: str, old: str, new: str, *, why: str = "") -> None:
        """Marks `old` as replaced by `new`; repeating it changes nothing."""

        def plan(transaction: Transaction) -> list[Change]:
            former, successor = self.found(transaction, space, old), self.found(transaction, space, new)
            return superseded(transaction, former, successor, self.clock())

        self.commit("supersede", plan, why)

    def restore(self, space: str, ids: Sequence[str], *, why: str = "") -> bool:
        """Takes memories out of the trash, or undoes their supersession; False when there is neither."""

        def plan(transaction: Transaction) -> list[Change]:
            whole: dict[str, Change] = {}
            for id in dict.fromkeys(ids):
                memory = self.found(transaction, space, id)
                if is_redacted(memory):
                    raise InvalidInput(f"{id} was redacted; its content is gone for good.")
                for change in restored(transaction, memory, self.clock()):
                    change.carry_out(transaction)  # the next one may have had the same heir
                    stood = whole.get(change.subject.id, change)
                    whole[change.subject.id] = Change(stood.before, change.after)
            return list(whole.values())

        return bool(self.commit("restore", plan, why))

    def undo(self, space: str, batches: Sequence[str], *, why: str = "") -> list[JournalEntry]:
        """Writes the inverse of acts, the newest first, as one new act; refuses when something later stands on them."""
        told = (entry for batch in batches for entry in self.store.journal(space, JournalFilter(batch=batch)))
        entries = [entry for entry in told if entry.operation.batch in batches]
        if not entries:
            raise UndoRefused("There is no such act in the journal; `nacre journal` shows what can be undone.")
        entries.sort(key=lambda entry: -entry.seq)
        final = next((entry.operation for entry in entries if entry.operation.name in undoing.FINAL), None)
        if final is not None:
            raise UndoRefused(f"A {final.name} cannot be undone; what it took is gone for good. A backup may have it.")
        targets = undoing.Undoing(entries, self.store, self._stored).memories()
        planned = self.prepared([(stood, after) for stood, after in targets.values() if after is not None])
        derived = {id: each.derived for id, each in planned.items()}

        def plan(transaction: Transaction) -> list[AnyChange]:
            again = undoing.Undoing(entries, self.store, transaction.get)
            return undoing.changes(again, transaction, derived)

        named = list(dict.fromkeys(entry.operation.batch for entry in entries))
        return self.commit(undoing.UNDO, plan, undoing.reason(named, why)) or []

    def _stored(self, space: str, id: str) -> Memory | None:
        return next(iter(self.store.get(space, [id])), None)

    def commit(self, name: str, plan: Plan, why: str) -> list[JournalEntry] | None:
        """One transaction for what the plan finds to do; None when the plan withdraws."""
        operation = self.operation(name, why)
        with self.store.transaction() as transaction:
            changes = plan(transaction)
            if changes is None:
                return None
            if name != undoing.UNDO:
                changes = [*changes, *learned(changes, transaction)]
            if any(change.embeds for change in changes):
                transaction.claim_embedder(self.embedder.identity, self.embedder.dimensions)
            for change in changes:
                change.carry_out(transaction)
            entries = [change.told(operation) for change in changes]
            transaction.append(entries)
        self._tell(entries)
        return entries

    def _tell(self, entries: Sequence[JournalEntry]) -> None:
        if self.sink is not None and entries:
            self.sink(entries)

    def operation(self, name: str, why: str) -> Operation:
        return Operation(name, self.actor, self.clock(), uuid4().hex, self.clean(storable_text("why", why)))

    def existing(self, space: str, ids: Sequence[str]) -> list[Memory]:
        found = {memory.id: memory for memory in self.store.get(space, ids)}
        for id in ids:
            if id not in found:
                raise MemoryNotFound(id, space)
        return list(found.values())

    def check_embedder(self) -> None:
        stored = self.store.embedder()
        if stored and stored != self.embedder.identity:
            raise EmbeddingMismatch(stored, self.embedder.identity)

    def prepared(self, edits: Sequence[tuple[Memory | None, Memory]]) -> dict[str, Prepared]:
        """Embeds, before the transaction, the memories whose words an edit changes."""
        stale = [after for before, after in edits if before is None or not same_derived_input(before, after)]
        if not stale:
            return {}
        self.check_embedder()
        derived, _ = derive_or_defer(stale, self.embedder, self.store)
        return {memory.id: Prepared(memory, found) for memory, found in zip(stale, derived, strict=True)}

    def found(self, transaction: Transaction, space: str, id: str) -> Memory:
        memory = transaction.get(space, id)
        if memory is None:
            raise MemoryNotFound(id, space)
        return memory


def former_names(store: Backend, space: str) -> list[str]:
    """A mirror of the journal may know the space by these."""
    told = store.terms(SPACE).get(space, {}).get(FORMERLY)
    return [str(name) for name in told] if isinstance(told, list) else []


def fits(prepared: Prepared | None, before: Memory, after: Memory) -> bool:
    """True when what was derived beforehand is what the edit, made now, needs."""
    return same_derived_input(before, after) if prepared is None else same_derived_input(prepared.memory, after)


Flow: TypeAlias = Callable[[Transaction], Iterator[AnyChange]]

STEP = 256  # entries that the journal gets at once
PAGE = 1_000  # entries that the sink is told at once


def carry_out(engine: Engine, space: str, name: str, flow: Flow, *, why: str = "") -> str:
    """One transaction and one act, as `Engine.commit`, in memory that does not grow with the number of changes.

    `flow` is asked for its changes one after the other; each finds those before it carried out, and an error that it
    raises takes all of them back. Returns the batch that the journal knows the act by, empty when nothing changed.
    """
    operation = engine.operation(name, why)
    changed = claimed = False
    entries: list[JournalEntry] = []
    with engine.store.transaction() as transaction:
        for change in flow(transaction):
            for each in (change, *learned([change], transaction)):
                if each.embeds and not claimed:
                    transaction.claim_embedder(engine.embedder.identity, engine.embedder.dimensions)
                    claimed = True
                each.carry_out(transaction)
                entries.append(each.told(operation))
            changed = True
            if len(entries) >= STEP:
                transaction.append(entries)
                entries = []
        transaction.append(entries)
    if changed:
        tell(engine, space, operation)
    return operation.batch if changed else ""


def tell(engine: Engine, space: str, operation: Operation) -> None:
    """The sink hears of it after the act, as of every other, and a page at a time: from the journal itself."""
    if engine.sink is None:
        return
    told = JournalFilter(batch=operation.batch)
    while page := engine.store.journal(space, told, newest_first=False, limit=PAGE):
        engine.sink(page)
        told = replace(told, after=page[-1].seq)


Edit: TypeAlias = Callable[[Memory], Memory]
Term: TypeAlias = Mapping[str, Json] | None
TermEdit: TypeAlias = Callable[[Term], Term]


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """`edits` are by id; `successors` names for each memory that is replaced the one that takes its place; `terms` are
    edits of the vocabulary by kind and name, None where there is no such term."""

    new: Sequence[Memory] = ()
    edits: Mapping[str, Edit] = field(default_factory=dict)
    successors: Mapping[str, str] = field(default_factory=dict)
    terms: Mapping[tuple[str, str], TermEdit] = field(default_factory=dict)


def compose(engine: Engine, space: str, operation: str, change_set: ChangeSet, *, why: str = "") -> list[Memory]:
    """All or nothing; returns what is new or has changed, as it stands then. Raises `MemoryNotFound`."""
    derived, _ = engine.derived(change_set.new) if change_set.new else ([], ())
    while True:
        standing = engine.existing(space, list(change_set.edits))
        planned = engine.prepared([(memory, change_set.edits[memory.id](memory)) for memory in standing])
        found: dict[str, Change] = {}

        def plan(
            transaction: Transaction, found: dict[str, Change] = found, planned: Mapping[str, Prepared] = planned
        ) -> list[AnyChange] | None:
            whole = changes(engine, space, change_set, derived, planned, transaction)
            found |= whole or {}
            return None if whole is None else [*whole.values(), *term_changes(space, change_set, transaction)]

        if engine.commit(operation, plan, why) is not None:
            return [change.subject for change in found.values()]


def changes(
    engine: Engine,
    space: str,
    change_set: ChangeSet,
    derived: Sequence[Derived],
    planned: Mapping[str, Prepared],
    transaction: Transaction,
) -> dict[str, Change] | None:
    """None when somebody wrote between the reading and the transaction, so that it must be prepared again."""
    now = engine.clock()
    found = {change.subject.id: change for change in new_only(change_set.new, derived, transaction)}
    for id, edit in change_set.edits.items():
        before = engine.found(transaction, space, id)
        after = edit(before)
        if not fits(planned.get(id), before, after):
            return None
        if after != before:
            searched = planned[id].derived if id in planned else None
            found[id] = Change(before, replace(after, updated_at=now), searched)

    def latest(id: str) -> Memory:
        return found[id].subject if id in found else engine.found(transaction, space, id)

    for old, successor in change_set.successors.items():
        for change in superseded(transaction, latest(old), latest(successor), now):
            id = change.subject.id
            found[id] = replace(found[id], after=change.after) if id in found else change
    return found


def term_changes(space: str, change_set: ChangeSet, transaction: Transaction) -> list[TermChange]:
    found = []
    for (kind, name), edit in change_set.terms.items():
        before = transaction.term(kind, name)
        after = edit(before)
        if after != before:
            found.append(TermChange(space, kind, name, before, after))
    return found
