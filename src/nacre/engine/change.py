"""What an act does to one memory, and how the journal tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nacre.model import Act, JournalEntry, Memory
from nacre.model.memory import NAMES, Json, plain
from nacre.ports import Derived, Transaction

# Touches are not acts: a recall between an act and its undo must not stand in the way.
UNTOLD = ("id", "space", "last_accessed", "access_count")
TOLD = tuple(name for name in NAMES if name not in UNTOLD)


@dataclass(frozen=True, slots=True)
class Change:
    """No `before`: the memory is new. No `after`: it goes. `derived` is None where it stays as it was."""

    before: Memory | None
    after: Memory | None
    derived: Derived | None = None

    @property
    def subject(self) -> Memory:
        return self.after or self.before  # type: ignore[return-value]


def carry_out(change: Change, transaction: Transaction) -> None:
    if change.after is None:
        transaction.remove(change.subject.space, change.subject.id)
    else:
        transaction.put(change.after, change.derived)


def told(change: Change, act: Act) -> JournalEntry:
    before, after = change.before, change.after
    return JournalEntry(
        seq=0,
        act=act,
        space=change.subject.space,
        memory_id=change.subject.id,
        before=None if before is None else before.to_dict() if after is None else difference(before, after),
        after=None if after is None else after.to_dict() if before is None else difference(after, before),
    )


def difference(one: Memory, other: Memory) -> dict[str, Json]:
    """The fields of `one` that `other` has otherwise."""
    changed = (name for name in TOLD if getattr(one, name) != getattr(other, name))
    return {name: plain(name, getattr(one, name)) for name in changed}


def stands_as(memory: Memory, fields: Mapping[str, Json]) -> bool:
    return all(plain(name, getattr(memory, name)) == value for name, value in fields.items() if name in TOLD)
