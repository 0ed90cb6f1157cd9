"""Takes operations back: turns their journal entries into the changes that reverse them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from nacre.engine.engine import SPACE_NAME, UNDO, AnyChange, Change, Engine, SpaceRenamed, TermChange
from nacre.errors import InvalidInput, UndoBlocked, UndoRefused
from nacre.model import JournalEntry, JournalFilter, Memory, Operation
from nacre.model.difference import difference, has_values, removed_memory, set_back
from nacre.model.journal import MEMORY, UNATTENDED
from nacre.protocols import Backend, Derived, Transaction

FINAL = ("purge", "redact", "compact")  # operations that cannot be undone
BATCH_LENGTH = 32  # characters of a complete batch
LOOK_BACK = (32, 1024, None)  # entries read to find the last operations; the first few are nearly always enough
NOTHING_TO_UNDO = "There is no such operation in the journal; `nacre journal` shows what can be undone."


def undo(engine: Engine, space: str, batches: Sequence[str], *, why: str = "") -> list[JournalEntry]:
    """Reverses operations, the newest first, as one new operation; refuses when a later one depends on them."""
    read = (entry for batch in batches for entry in engine.store.journal(space, JournalFilter(batch=batch)))
    entries = sorted((each for each in read if each.operation.batch in batches), key=lambda each: -each.seq)
    if not entries:
        raise UndoRefused(NOTHING_TO_UNDO)
    final = next((entry.operation for entry in entries if entry.operation.name in FINAL), None)
    if final is not None:
        raise UndoRefused(f"A {final.name} cannot be undone; what it took is gone for good. A backup may have it.")

    def stored(space: str, id: str) -> Memory | None:
        return next(iter(engine.store.get_many(space, [id])), None)

    targets = Reversal(entries, engine.store, stored).memories()
    prepared = engine.prepare([(current, after) for current, after in targets.values() if after is not None])
    derived = {id: each.derived for id, each in prepared.items()}

    def plan(transaction: Transaction) -> list[AnyChange]:
        return Reversal(entries, engine.store, transaction.get).changes(transaction, derived)

    named = ",".join(dict.fromkeys(entry.operation.batch for entry in entries))
    return engine.commit(UNDO, plan, f"{named}: {why}" if why else named)


def undone_batches(operation: Operation) -> list[str]:
    """An undo names in its `why` the batches that it took back, before the caller's reason."""
    return operation.why.partition(":")[0].split(",") if operation.name == UNDO else []


def in_effect(entries: Iterable[JournalEntry]) -> list[Operation]:
    """The operations, of entries newest first, that were not undone; undos themselves are left out."""
    undone: set[str] = set()
    operations = []
    for operation in dict.fromkeys(entry.operation for entry in entries):
        if operation.batch in undone:
            continue
        if operation.name == UNDO:
            undone.update(undone_batches(operation))
        else:
            operations.append(operation)
    return operations


def last_batches(store: Backend, space: str, count: int, actor: str | None) -> list[str]:
    """The newest operations, of this actor if one is named, that can be undone. Raises `UndoRefused`."""
    if count < 1:
        raise InvalidInput(f"{count} operations cannot be undone; give 1 or more.")
    for limit in LOOK_BACK:
        entries = store.journal(space, JournalFilter(actor=actor), limit=limit)
        batches = reversible(entries, count)
        if len(batches) == count or limit is None or len(entries) < limit:
            break
    if not batches:
        raise UndoRefused(NOTHING_TO_UNDO)
    if len(batches) < count:
        available = "1 operation" if len(batches) == 1 else f"{len(batches)} operations"
        raise UndoRefused(f"Only {available} can be undone; `nacre journal` lists them.")
    return batches


def reversible(entries: Sequence[JournalEntry], count: int) -> list[str]:
    """The newest batches that can be undone, newest first; refuses when one among them cannot.

    What maintenance removed is passed over, with everything that was ever done to it: it may have come between a
    person's operation and their undo.
    """
    readable = {entry.operation for entry in entries if entry.damaged or (entry.before, entry.after) != (None, None)}
    operations = [
        operation
        for operation in in_effect(entries)
        if (operation.why != UNATTENDED if operation.name in FINAL else operation in readable)
    ][:count]
    final = next((operation for operation in operations if operation.name in FINAL), None)
    if final is not None:
        raise UndoRefused(
            f"The last operation was a {final.name} ({final.batch[:8]}), which cannot be undone; "
            "name the operation that you mean: `nacre journal` lists them."
        )
    return [operation.batch for operation in operations]


def resolve_batch(store: Backend, space: str, prefix: str) -> str:
    """The only batch that begins so. Raises `UndoRefused` or `InvalidInput`."""
    if len(prefix) >= BATCH_LENGTH:
        return prefix
    entries = store.journal(space, JournalFilter(batch=prefix)) if prefix else []
    batches = dict.fromkeys(entry.operation.batch for entry in entries)
    if not batches:
        raise UndoRefused(f"There is no such operation in the journal as {prefix!r}; `nacre journal` lists them.")
    if len(batches) > 1:
        raise InvalidInput(f"{len(batches)} operations begin with {prefix!r}; give more characters.")
    return next(iter(batches))


@dataclass(slots=True)
class Reversal:
    """Goes back entry by entry from the current state, and refuses at the first that something later depends on."""

    entries: Sequence[JournalEntry]  # newest first
    store: Backend
    get: Callable[[str, str], Memory | None]
    current: dict[str, Memory | None] = field(default_factory=dict)
    after: dict[str, Memory | None] = field(default_factory=dict)

    def changes(self, transaction: Transaction, derived: Mapping[str, Derived]) -> list[AnyChange]:
        pairs = self.memories().items()
        changes = [Change(now, after, derived.get(id)) for id, (now, after) in pairs if (now, after) != (None, None)]
        return [*changes, *self.terms(transaction), *self.space_name()]

    def memories(self) -> dict[str, tuple[Memory | None, Memory | None]]:
        """Each memory as it is, and as it would be after the undo; None where it does not exist."""
        for entry in self.entries:
            if entry.kind == MEMORY:
                id = entry.memory_id
                if id not in self.after:
                    self.current[id] = self.after[id] = self.get(entry.space, id)
                self.after[id] = self._reversed(entry, self.after[id])
        return {id: (self.current[id], after) for id, after in self.after.items()}

    def _reversed(self, entry: JournalEntry, current: Memory | None) -> Memory | None:
        if entry.damaged:
            raise UndoRefused(
                f"The journal entry of {entry.memory_id} in this operation is damaged; nothing was undone. "
                "`nacre doctor` examines the store; a backup may have the entry."
            )
        if entry.before is None and entry.after is None:
            state = "purged" if current is None else "redacted"
            raise UndoRefused(f"{entry.memory_id} was {state}; what is {state} is gone for good.")
        if entry.after is None:
            if current is not None:
                raise UndoRefused(f"{entry.memory_id} exists again since it was removed; purge it before undoing that.")
            return removed_memory(entry)
        if current is None or not is_result(current, entry):
            raise UndoBlocked(entry.memory_id, self._later(entry), there=current is not None)
        return None if entry.before is None else set_back(current, entry.before, entry.after)

    def _later(self, entry: JournalEntry) -> list[Operation]:
        return in_effect(self.store.journal(entry.space, JournalFilter(memory_id=entry.memory_id, after=entry.seq)))

    def terms(self, transaction: Transaction) -> list[AnyChange]:
        changes: dict[tuple[str, str], TermChange] = {}
        for entry in self.entries:
            if entry.kind not in (MEMORY, SPACE_NAME):
                key = (entry.kind, entry.memory_id)
                stored = changes[key].before if key in changes else transaction.term(*key)
                current = changes[key].after if key in changes else stored
                if current != entry.after:
                    raise UndoBlocked(f"The {entry.kind} {entry.memory_id!r}", self._later(entry), there=True)
                changes[key] = TermChange(entry.space, *key, stored, entry.before)
        return list(changes.values())

    def space_name(self) -> list[AnyChange]:
        """The change that takes a space's new name back; no other operation can be undone together with it."""
        entry = next((entry for entry in self.entries if entry.kind == SPACE_NAME), None)
        if entry is None:
            return []
        old, new = str((entry.before or {}).get("name")), str((entry.after or {}).get("name"))
        if len(self.entries) > 1:
            raise UndoRefused("The renaming of a space can only be undone alone; name that operation alone.")
        if entry.space != new:
            raise UndoRefused(f"The space was renamed to {entry.space!r} since; undo that first.")
        if old in self.store.spaces():
            raise UndoRefused(f"There is a space {old!r} again; rename that one first.")
        return [SpaceRenamed(new, old)]


def is_result(current: Memory, entry: JournalEntry) -> bool:
    """True when the memory still has the values that the entry wrote."""
    if entry.before is None:
        return not difference(current, Memory.from_dict(entry.after or {}))
    return has_values(current, entry.after or {})
