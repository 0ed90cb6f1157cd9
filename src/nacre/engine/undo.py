"""Turns the journal entries of acts into the changes that take them back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from nacre.engine.changes import (
    SPACE_NAME,
    AnyChange,
    Change,
    SpaceRenamed,
    TermChange,
    difference,
    set_back,
    stands_as,
)
from nacre.errors import UndoBlocked, UndoRefused
from nacre.model import JournalEntry, JournalFilter, Memory, Operation
from nacre.model.journal import MEMORY, UNATTENDED
from nacre.protocols import Backend, Derived, Transaction

UNDO = "undo"
FINAL = ("purge", "redact", "compact")  # acts that are meant to leave no way back


def reason(batches: Sequence[str], why: str) -> str:
    """An undo names in its `why` the acts that it takes back, before the caller's words."""
    named = ",".join(batches)
    return f"{named}: {why}" if why else named


def takes_back(operation: Operation) -> list[str]:
    return operation.why.partition(":")[0].split(",") if operation.name == UNDO else []


def standing(entries: Iterable[JournalEntry]) -> list[Operation]:
    """The acts, of entries newest first, that no standing undo has taken back; undos themselves left out."""
    taken: set[str] = set()
    found = []
    for operation in dict.fromkeys(entry.operation for entry in entries):
        if operation.batch in taken:
            continue
        if operation.name == UNDO:
            taken.update(takes_back(operation))
        else:
            found.append(operation)
    return found


def last_standing(entries: Sequence[JournalEntry], wanted: int) -> list[str]:
    """The newest acts that can be taken back, newest first; refuses when one among them cannot.

    What the store removed of its own accord is passed over, with all that was ever done to it: it may have come
    between a person's act and their undo.
    """
    told = {entry.operation for entry in entries if entry.damaged or (entry.before, entry.after) != (None, None)}
    found = [
        operation
        for operation in standing(entries)
        if (operation.why != UNATTENDED if operation.name in FINAL else operation in told)
    ]
    found = found[:wanted]
    final = next((operation for operation in found if operation.name in FINAL), None)
    if final is not None:
        raise UndoRefused(
            f"The last act was a {final.name} ({final.batch[:8]}), which cannot be undone; "
            "name the act that you mean: `nacre journal` lists them."
        )
    return [operation.batch for operation in found]


@dataclass(slots=True)
class Undoing:
    """Goes back entry by entry from how things stand, and refuses at the first that something later stands on."""

    entries: Sequence[JournalEntry]  # newest first
    store: Backend
    memory: Callable[[str, str], Memory | None]
    found: dict[str, Memory | None] = field(default_factory=dict)
    now: dict[str, Memory | None] = field(default_factory=dict)

    def memories(self) -> dict[str, tuple[Memory | None, Memory | None]]:
        """How each memory stands, and how it would stand after the undo; None where it is not there."""
        for entry in self.entries:
            if entry.kind == MEMORY:
                if entry.memory_id not in self.now:
                    self.found[entry.memory_id] = self.now[entry.memory_id] = self.memory(entry.space, entry.memory_id)
                self.now[entry.memory_id] = self._taken_back(entry, self.now[entry.memory_id])
        return {id: (self.found[id], after) for id, after in self.now.items()}

    def _taken_back(self, entry: JournalEntry, current: Memory | None) -> Memory | None:
        if entry.damaged:
            raise UndoRefused(
                f"What the journal tells of {entry.memory_id} in this act is damaged; nothing was undone. "
                "`nacre doctor` examines the store, a backup may have it whole."
            )
        if entry.before is None and entry.after is None:
            fate = "purged" if current is None else "redacted"
            raise UndoRefused(f"{entry.memory_id} was {fate}; what is {fate} is gone for good.")
        if entry.after is None:
            if current is not None:
                raise UndoRefused(f"{entry.memory_id} exists again since it was removed; purge it before undoing that.")
            return replace(Memory.from_dict(entry.before or {}), space=entry.space)  # it may have been renamed since
        if current is None or not stands(current, entry):
            raise UndoBlocked(entry.memory_id, self._later(entry), there=current is not None)
        return None if entry.before is None else set_back(current, entry.before, entry.after)

    def _later(self, entry: JournalEntry) -> list[Operation]:
        told = JournalFilter(memory_id=entry.memory_id, after=entry.seq)
        return standing(self.store.journal(entry.space, told))

    def renamed(self) -> list[AnyChange]:
        """The change that takes a space's new name back; no other act can be taken back with it."""
        entry = next((entry for entry in self.entries if entry.kind == SPACE_NAME), None)
        if entry is None:
            return []
        old, new = str((entry.before or {}).get("name")), str((entry.after or {}).get("name"))
        if len(self.entries) > 1:
            raise UndoRefused("A space's new name can only be taken back by itself; name that act alone.")
        if entry.space != new:
            raise UndoRefused(f"The space is called {entry.space!r} since; take that back first.")
        if old in self.store.spaces():
            raise UndoRefused(f"There is a space {old!r} again; rename that one first.")
        return [SpaceRenamed(new, old)]

    def words(self, transaction: Transaction) -> list[AnyChange]:
        now: dict[tuple[str, str], TermChange] = {}
        for entry in self.entries:
            if entry.kind not in (MEMORY, SPACE_NAME):
                key = (entry.kind, entry.memory_id)
                stood = now[key].before if key in now else transaction.term(*key)
                current = now[key].after if key in now else stood
                if current != entry.after:
                    raise UndoBlocked(f"The {entry.kind} {entry.memory_id!r}", self._later(entry), there=True)
                now[key] = TermChange(entry.space, *key, stood, entry.before)
        return list(now.values())


def changes(undoing: Undoing, transaction: Transaction, derived: dict[str, Derived]) -> list[AnyChange]:
    memories = undoing.memories()
    told: list[AnyChange] = [Change(stood, after, derived.get(id)) for id, (stood, after) in memories.items()
                             if stood is not None or after is not None]  # fmt: skip
    return told + undoing.words(transaction) + undoing.renamed()


def stands(current: Memory, entry: JournalEntry) -> bool:
    if entry.before is None:
        return not difference(current, Memory.from_dict(entry.after or {}))
    return stands_as(current, entry.after or {})
