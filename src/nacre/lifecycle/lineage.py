"""What becomes of memories that another one now stands for: replaced or removed, and named by it either way."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.engine.change import Change
from nacre.engine.superseding import all_superseded
from nacre.model import Memory
from nacre.ports import Transaction

DERIVED_FROM = "derived_from"


def all_unchanged(planned: Sequence[Memory], transaction: Transaction) -> list[Memory] | None:
    """They as they stand now; None when one of them went, or no longer says or is what it did."""
    now = [transaction.get(memory.space, memory.id) for memory in planned]
    found = [memory for memory, then in zip(now, planned, strict=True) if memory is not None and same(memory, then)]
    return found if len(found) == len(planned) else None


def same(memory: Memory, planned: Memory) -> bool:
    return (memory.text, memory.type, memory.status, memory.superseded_by) == (
        planned.text, planned.type, planned.status, planned.superseded_by,
    )  # fmt: skip


def replaced(
    transaction: Transaction, members: Sequence[Memory], heir: Memory, now: float, *, hard: bool
) -> tuple[Memory, list[Change]]:
    """The heir, and what becomes of those that it stands for; the heir's own change is the caller's.

    Pinned ones stay as they are. `hard` removes the others, and the heir then takes on what they had replaced.
    """
    leaving = [memory for memory in members if not memory.pinned]
    if not hard:
        return all_superseded(transaction, leaving, heir, now)
    gone = {memory.id for memory in leaving}
    formers = [former for memory in leaving for former in transaction.replaced_by(memory.space, memory.id)]
    heir, changes = all_superseded(transaction, [each for each in formers if each.id not in gone], heir, now)
    kept = [change for change in changes if change.subject.id not in gone]
    return heir, [*kept, *(Change(memory, None) for memory in leaving)]
