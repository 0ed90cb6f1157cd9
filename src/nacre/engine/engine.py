"""Carries out acts: decides outside the transaction what is slow, and inside it what must be true."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from nacre.engine import undoing
from nacre.engine.change import Change, carry_out, told
from nacre.errors import EmbeddingMismatch, InvalidInput, MemoryNotFound, SupersedeCycle
from nacre.model import Act, Conflict, JournalEntry, Link, Memory, RememberResult
from nacre.ports import Clock, Derived, Embedder, Store, Transaction
from nacre.remember.check import written
from nacre.remember.derive import derive_or_wait, digest, same_basis

log = logging.getLogger("nacre")

SUPERSEDES = "supersedes"


@dataclass(frozen=True, slots=True)
class Prepared:
    memory: Memory
    derived: Derived


@dataclass(frozen=True, slots=True)
class Engine:
    store: Store
    embedder: Embedder
    clock: Clock
    actor: str = "lib"

    def remember(self, memories: Sequence[Memory], *, why: str = "") -> list[RememberResult]:
        """Keeps them all in one act, or none. Identical text that is already there is told, not refused."""
        self.check_embedder()
        derived, waits = derive_or_wait(memories, self.embedder, self.store)
        conflicts = [self._identical(memory, found) for memory, found in zip(memories, derived, strict=True)]
        self.commit("remember", lambda tx: new_only(memories, derived, tx), why)
        if waits:
            log.warning("Kept without vectors for now: %s", waits)
        notes = (f"Kept, and found by its words; its vector follows when the model is there. {waits}",) if waits else ()
        return [RememberResult(memory, found, notes=notes) for memory, found in zip(memories, conflicts, strict=True)]

    def change(
        self, space: str, ids: Sequence[str], act: str, edit: Callable[[Memory], Memory], *, why: str = ""
    ) -> list[Memory]:
        """Edits memories that exist; an edit that changes nothing is not an act."""
        while True:
            planned = self._prepared([(memory, edit(memory)) for memory in self.existing(space, ids)])
            done = self._try_change(space, ids, act, edit, planned, why)
            if done is not None:
                return done
            # Someone wrote between the reading and the transaction: read again.

    def _try_change(
        self,
        space: str,
        ids: Sequence[str],
        act: str,
        edit: Callable[[Memory], Memory],
        planned: Mapping[str, Prepared],
        why: str,
    ) -> list[Memory] | None:
        done: list[Memory] = []

        def plan(transaction: Transaction) -> list[Change] | None:
            changes = []
            for id in dict.fromkeys(ids):
                before = self._found(transaction, space, id)
                after = edit(before)
                if not fits(planned.get(id), before, after):
                    return None
                if after != before:
                    after = replace(after, updated_at=self.clock())
                    changes.append(Change(before, after, planned[id].derived if id in planned else None))
                done.append(after)
            return changes

        return None if self.commit(act, plan, why) is None else done

    def purge(self, space: str, ids: Sequence[str], *, why: str = "") -> int:
        """Removes memories and what the journal tells of them, for good."""
        act = self.act("purge", why)
        removed = 0
        with self.store.transaction() as transaction:
            for id in dict.fromkeys(ids):
                if transaction.remove(space, id):
                    transaction.scrub_journal(space, id)
                    transaction.append([JournalEntry(0, act, space, id, None, None)])
                    removed += 1
        return removed

    def supersede(self, space: str, old: str, new: str, *, why: str = "") -> None:
        """Marks `old` as replaced by `new`; repeating it changes nothing."""

        def plan(transaction: Transaction) -> list[Change]:
            former, later = self._found(transaction, space, old), self._found(transaction, space, new)
            if former.superseded_by == new:
                return []
            self._refuse_cycle(transaction, former, later)
            now = self.clock()
            ended = now if former.valid_until in (None, former.superseded_at) else former.valid_until
            gone = replace(former, superseded_by=new, superseded_at=now, valid_until=ended, updated_at=now)
            tied = replace(later, links=(*without(later.links, old), Link(old, SUPERSEDES)), updated_at=now)
            return [Change(former, gone), Change(later, tied), *self._untied(transaction, former, now)]

        self.commit("supersede", plan, why)

    def _refuse_cycle(self, transaction: Transaction, former: Memory, later: Memory) -> None:
        step: Memory | None = later
        seen: set[str] = set()
        while step is not None and step.id not in seen:
            if step.id == former.id:
                raise SupersedeCycle(former.id, later.id)
            seen.add(step.id)
            step = transaction.get(later.space, step.superseded_by) if step.superseded_by else None

    def restore(self, space: str, id: str, *, why: str = "") -> bool:
        """Takes a memory out of the trash, or undoes its supersession; False when it is neither."""
        return bool(self.commit("restore", lambda transaction: self._restored(transaction, space, id), why))

    def _restored(self, transaction: Transaction, space: str, id: str) -> list[Change]:
        memory, now = self._found(transaction, space, id), self.clock()
        if memory.status == "trashed":
            back = replace(memory, status=memory.trashed_from or "short_term", trashed_from="", updated_at=now)
            return [Change(memory, back)]
        if not memory.superseded_by:
            return []
        valid_until = None if memory.valid_until == memory.superseded_at else memory.valid_until
        back = replace(memory, superseded_by="", superseded_at=None, valid_until=valid_until, updated_at=now)
        return [Change(memory, back), *self._untied(transaction, memory, now)]

    def _untied(self, transaction: Transaction, memory: Memory, now: float) -> list[Change]:
        """What becomes of the memory that superseded this one until now."""
        heir = transaction.get(memory.space, memory.superseded_by) if memory.superseded_by else None
        if heir is None:
            return []
        return [Change(heir, replace(heir, links=without(heir.links, memory.id), updated_at=now))]

    def undo(self, space: str, batch: str, *, why: str = "") -> list[JournalEntry]:
        """Writes the inverse of an act as a new act; refuses when something later stands on it."""
        entries = self.store.journal(space, batch=batch)
        targets = undoing.plan(entries, self.store)
        planned = self._prepared([(before, after) for before, after in targets if after is not None])
        derived = {id: each.derived for id, each in planned.items()}
        return self.commit("undo", lambda tx: undoing.changes(entries, tx, derived), undoing.reason(batch, why)) or []

    def commit(
        self, name: str, plan: Callable[[Transaction], Sequence[Change] | None], why: str
    ) -> list[JournalEntry] | None:
        """One transaction for what the plan finds to do; None when the plan withdraws."""
        act = self.act(name, why)
        with self.store.transaction() as transaction:
            changes = plan(transaction)
            if changes is None:
                return None
            if any(change.derived is not None and change.derived.vectors is not None for change in changes):
                transaction.claim_embedder(self.embedder.identity, self.embedder.dimensions)
            for change in changes:
                carry_out(change, transaction)
            entries = [told(change, act) for change in changes]
            transaction.append(entries)
        return entries

    def act(self, name: str, why: str) -> Act:
        return Act(name, self.actor, self.clock(), uuid4().hex, written("why", why))

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

    def _prepared(self, edits: Sequence[tuple[Memory | None, Memory]]) -> dict[str, Prepared]:
        """Embeds, before the transaction, the memories whose words an edit changes."""
        stale = [after for before, after in edits if before is None or not same_basis(before, after)]
        if not stale:
            return {}
        self.check_embedder()
        derived, _ = derive_or_wait(stale, self.embedder, self.store)
        return {memory.id: Prepared(memory, found) for memory, found in zip(stale, derived, strict=True)}

    def _found(self, transaction: Transaction, space: str, id: str) -> Memory:
        memory = transaction.get(space, id)
        if memory is None:
            raise MemoryNotFound(id, space)
        return memory

    def _identical(self, memory: Memory, derived: Derived) -> tuple[Conflict, ...]:
        key = derived.chunks[0].digest if derived.chunks else digest(memory.text)
        same = self.store.get(memory.space, self.store.identical(memory.space, key, limit=12))
        return tuple(
            Conflict(memory, other, 1.0, "duplicate", "identical text")
            for other in same
            if other.text == memory.text and other.status != "trashed" and not other.superseded_by
        )


def new_only(memories: Sequence[Memory], derived: Sequence[Derived], transaction: Transaction) -> list[Change]:
    seen: set[str] = set()
    for memory in memories:
        if memory.id in seen or transaction.get(memory.space, memory.id) is not None:
            raise InvalidInput(f"A memory {memory.id!r} is there already; edit it, or give another id.")
        seen.add(memory.id)
    return [Change(None, memory, found) for memory, found in zip(memories, derived, strict=True)]


def without(links: Sequence[Link], old: str) -> tuple[Link, ...]:
    return tuple(link for link in links if not (link.to == old and link.rel == SUPERSEDES))


def fits(prepared: Prepared | None, before: Memory, after: Memory) -> bool:
    """True when what was derived beforehand is what the edit, made now, needs."""
    return same_basis(before, after) if prepared is None else same_basis(prepared.memory, after)
