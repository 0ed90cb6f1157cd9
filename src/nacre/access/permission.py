"""What an agent with limited capabilities may write: its own, within its quota, and nothing that concerns others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from nacre.access.capabilities import Access
from nacre.engine.engine import FOR_REVIEW, RELATION
from nacre.errors import AccessDenied, QuotaExceeded
from nacre.files import ThreadLock
from nacre.model import Memory
from nacre.model.memory import key_of, size
from nacre.protocols import (
    AnyChange,
    Change,
    Compressed,
    Data,
    EmbedderBound,
    IndexesRebuilt,
    JournalDropped,
    Outdated,
    Reader,
    SpacePurged,
    SpaceRenamed,
    TermChange,
    TermSet,
)

MEGABYTE = 1_000_000
COUNTED_ANEW = 100  # a hundredth of the quota may be written before others' writing is counted again


class Quota:
    """How much room there is for more, with the bytes that `count` tells, asked now and then: other processes may
    write as well."""

    def __init__(self, count: Callable[[], int], megabytes: float | None) -> None:
        self._limit = None if megabytes is None else megabytes * MEGABYTE
        self._count = count
        self._held = 0
        self._uncounted = float("inf")
        self._lock = ThreadLock()

    def take(self, more: int) -> None:
        """Raises `QuotaExceeded`, and takes nothing, when that is more than may be held."""
        if self._limit is None:
            return
        with self._lock:
            long_ago = self._uncounted + max(more, 0) > self._limit / COUNTED_ANEW
            if long_ago or (self._uncounted and self._held + more > self._limit):  # something may have been undone
                self._held, self._uncounted = self._count(), 0
            if more > 0 and self._held + more > self._limit:
                raise QuotaExceeded(self._limit / MEGABYTE)
            self._held += more
            self._uncounted += max(more, 0)


# What concerns everybody, and how it is called in an error.
OF_ALL: tuple[tuple[type, str], ...] = (
    (SpacePurged, "delete a space"),
    (SpaceRenamed, "rename a space"),
    (JournalDropped, "compact the journal"),
    (IndexesRebuilt, "rebuild the indexes"),
)


@dataclass(frozen=True, slots=True)
class Permission:
    """Reads `below`, the store as it is; what it reads must still be so when the changes are written."""

    access: Access
    below: Reader

    def permitted(self, changes: Sequence[AnyChange]) -> list[AnyChange]:
        """Without optional changes of what is not the agent's. Raises `AccessDenied`."""
        return [allowed for change in changes if (allowed := self._allowed(change)) is not None]

    def refuse_hidden(self, changes: Sequence[AnyChange], outdated: Outdated) -> None:
        """An id may be that of a memory which the agent does not see. Raises `AccessDenied`."""
        for change in changes:
            if isinstance(change, Change) and change.before is None:
                taken = outdated.actual.memories.get(key_of(change.subject))
                if taken is not None:
                    self._demand(taken)

    def _allowed(self, change: AnyChange) -> AnyChange | None:
        if isinstance(change, Change):
            return self._of_memory(change)
        if isinstance(change, TermChange):
            return replace(change, written=self._writes_term(change.kind, change.name, change.after))
        if isinstance(change, TermSet):
            return change if self._writes_term(change.kind, change.name, change.data) else None
        if isinstance(change, Compressed):
            own = (memory.id for memory in self.below.get_many(change.space, change.ids) if self.writes(memory))
            return replace(change, ids=tuple(own))
        if isinstance(change, EmbedderBound) and change.anew:
            self.access.demand("change the embedder")
        for kind, what in OF_ALL:
            if isinstance(change, kind):
                self.access.demand(what)
        return change

    def _of_memory(self, change: Change) -> Change | None:
        sides = [memory for memory in (change.before, change.after) if memory is not None]
        if change.optional and not all(map(self.writes, sides)):
            return None
        for memory in sides:
            self._demand(memory)
        return change

    def _writes_term(self, kind: str, name: str, data: Data | None) -> bool:
        """An agent may use a new relation, and take that back, and write how far its own undo has come; everything else
        in the vocabulary is everybody's.

        A relation that others confirmed, which it cannot see, stays as it is.
        """
        if self.access.unrestricted and kind != RELATION:
            return True
        known = self.below.term(kind, name)
        if self.access.is_own_undo(kind, data or known):
            return True
        if kind != RELATION or (data is not None and FOR_REVIEW not in data):
            self.access.demand("change the store's vocabulary")
        elif not self.access.unrestricted and FOR_REVIEW not in (known or {FOR_REVIEW: True}):
            return False
        return data is not None or not any(self.below.edges(space, rels=[name]) for space in self.below.spaces())

    def writes(self, memory: Memory) -> bool:
        return memory.space == self.access.space and self.access.writable.admits(memory)

    def _demand(self, memory: Memory) -> None:
        if not self.writes(memory):
            raise AccessDenied(
                f"The agent {self.access.agent!r} may write only what is its own in its scope "
                f"({self.access.capabilities.scope}); nothing was changed. Ask for a wider scope."
            )


def growth(changes: Sequence[AnyChange]) -> int:
    """How many bytes more the agent holds after them."""
    memories = (change for change in changes if isinstance(change, Change))
    sizes = [[0 if each is None else size(each) for each in (change.before, change.after)] for change in memories]
    return sum(after - before for before, after in sizes)
