"""Operations that are written in parts, and stop where what they have written was taken away meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from shlex import quote
from typing import Literal

from nacre.engine.engine import DELETE_SPACE, UNDO, Engine, Plan
from nacre.errors import OperationStopped, StoreFull
from nacre.files import ThreadLock
from nacre.model import JournalEntry, Operation
from nacre.model.journal import MEMORY
from nacre.protocols import AnyChange, Committed, Reader

PART = 256  # changes in the first transaction of a long operation; see `PartSize`
PART_SECONDS = 0.15  # that a part may hold the write lock: a person who writes meanwhile does not notice the wait
PART_GROWTH = 4  # a part has at most 4 times, and at least a quarter of, the changes of the first
YOUNG_OBJECTS = 50_000  # that the collector lets come together during a long operation: a few parts of it
SHORT_PART = 1 / 3  # of these seconds: one of twice the size is then still within them, with some to spare
REPEAT = "repeat it if it is still wanted."


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


_deciding = ThreadLock()
_frozen_by: Literal["program", "operation"] | None = None


@contextmanager
def long_operation() -> Iterator[None]:
    """Lets the garbage collector pass over what exists already: to look through all of it takes 50 ms, and often comes
    while others wait for a transaction. It also looks less often through what is new: hardly anything in it is garbage
    that only the collector can find. A program that has frozen objects itself is left as it is, from then on: to count
    them takes as long as to look through them, and is not done again."""
    global _frozen_by
    with _deciding:
        freezes = False
        if _frozen_by is None:
            freezes = gc.get_freeze_count() == 0
            _frozen_by = "operation" if freezes else "program"
        if freezes:
            gc.freeze()
    if not freezes:
        yield
        return
    young, *older = gc.get_threshold()
    if 0 < young < YOUNG_OBJECTS:  # 0 says that it is switched off
        gc.set_threshold(YOUNG_OBJECTS, *older)
    try:
        yield
    finally:
        with _deciding:
            gc.set_threshold(young, *older)
            gc.unfreeze()
            _frozen_by = None


@dataclass(slots=True)
class OperationParts:
    """Writes an operation in parts, so that others can write in between. A part is written only where those before it
    still stand: somebody may have undone them, or renamed or deleted the space."""

    space: str
    operation: Operation
    last: Sequence[JournalEntry] = ()  # of the memories that were written last; an undo begins with the last of them
    can_go_on: bool = False  # whether the same call, repeated after an error, goes on where this one ended

    def write(self, engine: Engine, plan: Plan) -> Committed:
        """Raises `OperationStopped`, and `StoreFull` that says what is kept."""

        def checked(reader: Reader) -> Sequence[AnyChange]:
            if self.last:
                refuse_stopped(reader, self.space, self.operation, self.last)
            return plan(reader)

        try:
            committed = engine.write(self.operation, checked)
        except StoreFull as full:
            if not self.last:
                raise
            undo = f"`nacre undo {self.operation.short_batch}` takes that back"
            ways = (
                f"Free some space and repeat it to go on, or {undo}" if self.can_go_on else f"Free some space; {undo}"
            )
            raise StoreFull(full.path, f"what this operation wrote before is kept. {ways}.") from full
        self.last = [entry for entry in committed.entries if entry.kind == MEMORY] or self.last
        return committed


def refuse_stopped(reader: Reader, space: str, operation: Operation, written: Sequence[JournalEntry]) -> None:
    """Raises `OperationStopped` unless what the operation has written last stands: at least one entry."""
    batch, named, last = operation.batch, f"{operation.name} {operation.short_batch}", written[-1]
    operations = reader.operations_since(space, last.memory_id, last.seq)
    undone = undone_by(operations)
    if batch in undone:
        raise OperationStopped(named, "it was undone", f"Nothing of it is left; {REPEAT}")
    if any(each.name == DELETE_SPACE and each.batch not in undone for each in operations):
        raise OperationStopped(named, f"its space {space!r} was deleted", f"What it had written went with it; {REPEAT}")
    if any(each.batch == batch for each in operations):
        return
    # The entry is gone: dropped by a compaction, with what happened until then, or by a purge.
    present = reader.get_many(space, [entry.memory_id for entry in written])
    if any(memory.status != "trashed" for memory in present):
        return
    for other in reader.spaces():
        if any(each.batch == batch for each in reader.operations_since(other, last.memory_id, last.seq)):
            there, is_undo = f"`nacre --space {quote(other)} undo", operation.name == UNDO
            takes_back = f"{there} {operation.short_batch}` takes back what it had written."
            remedy = f"{there}` completes it." if is_undo else takes_back
            raise OperationStopped(named, f"its space {space!r} was renamed to {other!r}", remedy)
    if present:
        raise OperationStopped(named, "what it had written was moved to the trash", f"Look there, and {REPEAT}")
    raise OperationStopped(named, "what it had written was removed", f"Nothing of it is left; {REPEAT}")


def undone_batches(operation: Operation) -> list[str]:
    """An undo names in its `why` the batches that it took back, before the caller's reason."""
    return operation.why.partition(":")[0].split(",") if operation.name == UNDO else []


def undone_by(operations: Iterable[Operation]) -> dict[str, Operation]:
    """The undo of each batch, of operations newest first; undos that were undone do not count."""
    undone: dict[str, Operation] = {}
    for operation in operations:
        if operation.batch not in undone:
            undone.update(dict.fromkeys(undone_batches(operation), operation))
    return undone
