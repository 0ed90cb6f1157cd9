"""The order that a mind gives to what it lives through: numbers that rise, kept as each memory's `position`.

Numbers are taken from what the store holds, inside the transaction that writes, so that any number of processes count
together. A caller may give one too; a memory whose number is not the highest so far carries what was, so that the
newest memories always tell it and nobody has to look through them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nacre.memory_store import MemoryStore
from nacre.minds.records import HIGHEST, whole
from nacre.model import Filter, Memory
from nacre.protocols import Order
from nacre.recall_options import Scope

# A turn of a conversation has a position as well, and a session that it is counted in.
NUMBERED = Filter.where(session="", position__ge=0)
HIDDEN_TOO: Scope = {
    "include_superseded": True,
    "include_trashed": True,
    "include_expired": True,
    "include_archived": True,
}
LOOKED_AT = 8  # of the newest, should a clock be set back by as much as these took to come about
ALL = 2**53


def begins(prefix: str) -> Filter:
    """By the beginning of their ids, which the store has in order: the few among many are found without a search."""
    return Filter.where(id__ge=prefix, id__lt=prefix[:-1] + chr(ord(prefix[-1]) + 1))


def highest(store: MemoryStore, kind: str, among: Filter = NUMBERED) -> int:
    """0 when there is none yet. One page of the newest, however many there are."""
    newest = store.list_recent(LOOKED_AT, **narrowed(HIDDEN_TOO, kind, among))
    return max((whole(memory.metadata, HIGHEST, number(memory)) for memory in newest), default=0)


def numbered(draft: Memory, so_far: int, now: float, wanted: int | None = None) -> Memory:
    """`now` is the time inside the transaction: by then a draft may have waited while others were written, and the
    newest memory must be the one that was written last."""
    draft = replace(draft, created_at=now, updated_at=now, last_accessed=now)
    if wanted is None or wanted > so_far:
        return replace(draft, position=so_far + 1 if wanted is None else wanted)
    return replace(draft, position=wanted, metadata={**draft.metadata, HIGHEST: so_far})


def last(store: MemoryStore, kind: str, limit: int, scope: Scope) -> list[Memory]:
    """Those with the highest numbers, highest first.

    As a rule these are the newest. Only where numbers were given out of order are all that outrank one of the newest
    read as well.
    """
    page = store.list_recent(limit, **narrowed(scope, kind, NUMBERED))
    if not page or len(page) < limit:
        return ranked(page)
    lowest = min(number(memory) for memory in page)
    if number(page[-1]) > lowest or HIGHEST in page[-1].metadata:
        page = merged(page, beyond(store, kind, Filter.where(position__gt=lowest), "newest", scope))
    return ranked(page)[:limit]


def first(store: MemoryStore, kind: str, limit: int, scope: Scope) -> list[Memory]:
    """Those with the lowest numbers, lowest first."""
    page = store.list_recent(limit, order="oldest", **narrowed(scope, kind, NUMBERED))
    if page:
        uppermost = max(number(memory) for memory in page)
        page = merged(page, beyond(store, kind, Filter.where(position__lt=uppermost), "oldest", scope))
    return sorted(page, key=lambda memory: (number(memory), memory.created_at))[:limit]


def beyond(store: MemoryStore, kind: str, bound: Filter, order: Order, scope: Scope) -> list[Memory]:
    return store.list_recent(ALL, order=order, **narrowed(scope, kind, NUMBERED & bound))


def narrowed(scope: Scope, kind: str, among: Filter) -> Scope:
    return {**scope, "type": kind, "where": among}


def merged(page: Sequence[Memory], more: Sequence[Memory]) -> list[Memory]:
    return list({memory.id: memory for memory in (*page, *more)}.values())


def ranked(memories: Sequence[Memory]) -> list[Memory]:
    return sorted(memories, key=lambda memory: (-number(memory), -memory.created_at))


def number(memory: Memory) -> int:
    return memory.position or 0
