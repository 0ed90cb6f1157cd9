"""A change set: new memories, edits, successions and terms that are written as one operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from nacre.engine.engine import Change, Edit, Engine, PendingChanges, Preparations, TermChange, insertions
from nacre.engine.supersede import superseded
from nacre.model import Memory
from nacre.model.memory import Json
from nacre.protocols import Derived, Transaction
from nacre.remember.guard import Guard, is_suspicious, restore_trust

Term: TypeAlias = Mapping[str, Json] | None
TermEdit: TypeAlias = Callable[[Term], Term]


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """`edits` are by id; `successors` maps the id of a replaced memory to its successor's; `terms` are edits of the
    vocabulary by kind and name, which get None where there is no such term."""

    new: Sequence[Memory] = ()
    edits: Mapping[str, Edit] = field(default_factory=dict)
    successors: Mapping[str, str] = field(default_factory=dict)
    terms: Mapping[tuple[str, str], TermEdit] = field(default_factory=dict)

    def guarded(self, guard: Guard) -> ChangeSet:
        """Without secrets in what it writes. Raises `SecretRefused`."""
        return ChangeSet(
            [guard.before_write(memory, None) for memory in self.new],
            {id: partial(guarded_edit, guard, edit) for id, edit in self.edits.items()},
            self.successors,
            {key: partial(guarded_term, guard, edit) for key, edit in self.terms.items()},
        )


def guarded_edit(guard: Guard, edit: Edit, memory: Memory) -> Memory:
    return guard.before_write(edit(memory), memory)


def guarded_term(guard: Guard, edit: TermEdit, term: Term) -> Term:
    after = edit(term)
    return guard.data(after) if after else after


def with_fields(memory: Memory, fields: Mapping[str, object]) -> Memory:
    """A memory that is edited into the trash remembers its status, for `restore`."""
    if "text" in fields and is_suspicious(memory):
        memory = restore_trust(memory)
    after = replace(memory, **fields)  # type: ignore[arg-type]
    if "status" not in fields or after.status == memory.status:
        return after
    return replace(after, trashed_from=memory.status if after.status == "trashed" else "")


def apply(engine: Engine, space: str, operation: str, change_set: ChangeSet, *, why: str = "") -> list[Memory]:
    """All or nothing; returns the memories that are new or changed. Raises `MemoryNotFound`."""
    derived, _ = engine.derived(change_set.new) if change_set.new else ([], ())
    memories: list[Change] = []

    def plan(transaction: Transaction, prepared: Preparations) -> list[Change | TermChange]:
        memories[:] = memory_changes(engine, space, change_set, derived, transaction, prepared)
        return [*memories, *term_changes(space, change_set, transaction)]

    engine.commit_prepared(operation, lambda: engine.prepare_edits(space, change_set.edits), plan, why)
    return [change.subject for change in memories]


def apply_decided(
    engine: Engine,
    space: str,
    operation: str,
    drafts: Sequence[Memory],
    decide: Callable[[], ChangeSet | None],
    *,
    why: str = "",
) -> list[Memory]:
    """As `apply`, decided inside the transaction, when every other writer waits; None changes nothing.

    The drafts are embedded before: `decide` returns them with the same text, and its edits leave texts alone.
    """
    derived, _ = engine.derived(drafts) if drafts else ([], ())
    memories: list[Change] = []

    def plan(transaction: Transaction) -> list[Change]:
        decided = decide()
        if decided is not None:
            memories.extend(memory_changes(engine, space, decided, derived, transaction, {}))
        return memories

    engine.commit(operation, plan, why)
    return [change.subject for change in memories]


def memory_changes(
    engine: Engine,
    space: str,
    change_set: ChangeSet,
    derived: Sequence[Derived],
    transaction: Transaction,
    prepared: Preparations,
) -> list[Change]:
    """Raises `SupersedeCycle`, also for a ring that the change set's own successions would close."""
    pending = PendingChanges(transaction, insertions(change_set.new, derived, transaction))
    edited = engine.edited(transaction, space, change_set.edits, prepared)
    pending.add(change for change in edited.values() if change.after != change.before)
    for old, successor in change_set.successors.items():
        pair = engine.required(pending, space, old), engine.required(pending, space, successor)
        pending.add(superseded(pending, *pair, engine.clock()))
    return list(pending)


def term_changes(space: str, change_set: ChangeSet, transaction: Transaction) -> list[TermChange]:
    changes = []
    for (kind, name), edit in change_set.terms.items():
        before = transaction.term(kind, name)
        after = edit(before)
        if after != before:
            changes.append(TermChange(space, kind, name, before, after))
    return changes
