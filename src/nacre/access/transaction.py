"""What an agent with limited capabilities may write: its own, within its quota, and nothing that concerns others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nacre.access.capabilities import Access
from nacre.engine.engine import FOR_REVIEW, RELATION
from nacre.errors import AccessDenied, QuotaExceeded
from nacre.files import ThreadLock
from nacre.model import Filter, JournalEntry, Memory
from nacre.model.memory import Json, size
from nacre.protocols import Backend, Derived, EmbedderIdentity, Transaction

MEGABYTE = 1_000_000
COUNTED_ANEW = 100  # a hundredth of the quota may be written before others' writing is counted again


class Quota:
    """How much the agent holds, counted now and then: other processes may write in its name as well."""

    def __init__(self, below: Backend, access: Access) -> None:
        megabytes = access.capabilities.memory_quota_mb
        self._limit = None if megabytes is None else megabytes * MEGABYTE
        self._below = below
        self._access = access
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
                self._count()
            if more > 0 and self._held + more > self._limit:
                raise QuotaExceeded(self._limit / MEGABYTE)
            self._held += more
            self._uncounted += max(more, 0)

    def _count(self) -> None:
        own = Filter.where(agent=self._access.agent)
        self._held = sum(map(size, self._below.iterate(self._access.space, own)))
        self._uncounted = 0


class RestrictedTransaction:
    def __init__(self, below: Transaction, access: Access, quota: Quota, store: Backend) -> None:
        self._below = below
        self._access = access
        self._quota = quota
        self._store = store

    def get(self, space: str, id: str) -> Memory | None:
        memory = self._below.get(space, id) if space == self._access.space else None
        return memory if memory is not None and self._access.readable.admits(memory) else None

    def get_many(self, space: str, ids: Sequence[str]) -> list[Memory]:
        memories = self._below.get_many(space, ids) if space == self._access.space else []
        return [memory for memory in memories if self._access.readable.admits(memory)]

    def put(self, memory: Memory, derived: Derived | None = None) -> None:
        stood = self._below.get(memory.space, memory.id)
        for each in filter(None, (stood, memory)):
            self._demand(each)
        self._quota.take(size(memory) - (size(stood) if stood is not None else 0))
        self._below.put(memory, derived)

    def replaced_by(self, space: str, id: str) -> list[Memory]:
        result = self._below.replaced_by(space, id) if space == self._access.space else []
        return [memory for memory in result if self._access.readable.admits(memory)]

    def compress(self, space: str, ids: Sequence[str]) -> int:
        return self._below.compress(space, [id for id in ids if self._writes(self.get(space, id))])

    def remove(self, space: str, id: str) -> bool:
        memory = self.get(space, id)
        if memory is None:
            return False
        self._demand(memory)
        return self._below.remove(space, id)

    def embedder(self) -> EmbedderIdentity:
        return self._below.embedder()

    def bind_embedder(self, identity: EmbedderIdentity) -> None:
        self._below.bind_embedder(identity)

    def change_embedder(self, identity: EmbedderIdentity) -> None:
        self._access.demand("change the embedder")
        self._below.change_embedder(identity)

    def rebuild_indexes(self) -> None:
        self._access.demand("rebuild the indexes")
        self._below.rebuild_indexes()

    def append(self, entries: Sequence[JournalEntry]) -> None:
        self._below.append(entries)

    def last_at(self, space: str) -> float:
        return self._below.last_at(space)

    def scrub_journal(self, space: str, id: str) -> int:
        return self._below.scrub_journal(space, id)

    def forget_journal(self, space: str, upto: int) -> int:
        self._access.demand("compact the journal")
        return self._below.forget_journal(space, upto)

    def rename_space(self, old: str, new: str) -> None:
        self._access.demand("rename a space")
        self._below.rename_space(old, new)

    def forget_terms(self, space: str) -> None:
        self._access.demand("delete a space")
        self._below.forget_terms(space)

    def term(self, kind: str, name: str) -> Mapping[str, Json] | None:
        """A restricted agent sees a relation that its own links have, as if it had come up with it itself."""
        if self._access.sees_terms(kind):
            return self._below.term(kind, name)
        data = self._below.term(kind, name)
        if self._access.is_own_undo(kind, data):
            return data
        linked = kind == RELATION and any(
            self.get(self._access.space, edge.source) for edge in self._store.edges(self._access.space, rels=[name])
        )
        return {FOR_REVIEW: True} if linked and data is not None else None

    def put_term(self, kind: str, name: str, data: Mapping[str, Json] | None) -> None:
        """An agent may use a new relation, and take that back, and write how far its own undo has come; everything else
        in the vocabulary is everybody's.

        A relation that others confirmed, which it cannot see, stays as it is.
        """
        if self._access.is_own_undo(kind, data or self._below.term(kind, name)):
            self._below.put_term(kind, name, data)
            return
        if kind != RELATION or (data is not None and FOR_REVIEW not in data):
            self._access.demand("change the store's vocabulary")
        elif not self._access.unrestricted and (FOR_REVIEW not in (self._below.term(kind, name) or {FOR_REVIEW: True})):
            return
        if data is not None or not any(self._store.edges(space, rels=[name]) for space in self._store.spaces()):
            self._below.put_term(kind, name, data)

    def _writes(self, memory: Memory | None) -> bool:
        return memory is not None and memory.space == self._access.space and self._access.writable.admits(memory)

    def _demand(self, memory: Memory) -> None:
        if not self._writes(memory):
            raise AccessDenied(
                f"The agent {self._access.agent!r} may write only what is its own in its scope "
                f"({self._access.capabilities.scope}); nothing was changed. Ask for a wider scope."
            )
