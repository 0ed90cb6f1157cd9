"""Finds the memories and link targets that a person names by an id or its first characters."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.cli.errors import NotFound
from nacre.errors import MemoryNotFound
from nacre.memory_store import MemoryStore
from nacre.model import Memory
from nacre.model.instants import is_day, iso
from nacre.model.journal import MEMORY
from nacre.model.memory import short_id
from nacre.text.dates import moment


def stores_read(store: MemoryStore) -> list[MemoryStore]:
    """That of each space which is read: its own, and the one beside it."""
    return [store] if store.beside is None else [store, store.beside]


def find_memories(store: MemoryStore, prefixes: Sequence[str]) -> list[Memory]:
    """Each memory once; the first prefix that names none, or several, is an error before anything is done."""
    ids = dict.fromkeys(store.resolve_id(prefix) for prefix in prefixes)
    return [find_by_id(store, id) for id in ids]


def find_memories_ever(store: MemoryStore, prefixes: Sequence[str]) -> list[Memory]:
    """As `find_memories`; of a memory that is no longer here, and is named by its whole id, as it was last."""
    return list({memory.id: memory for memory in (find_ever(store, prefix) for prefix in prefixes)}.values())


def find_ever(store: MemoryStore, prefix: str) -> Memory:
    try:
        return find_memories(store, [prefix])[0]
    except MemoryNotFound:
        last = store.journal(prefix, limit=1)
        if not last or last[0].kind != MEMORY or last[0].before is None:
            raise
        return Memory.from_dict(last[0].before)


def find_by_id(store: MemoryStore, id: str) -> Memory:
    memory = store.get(id)
    if memory is None:  # purged by someone else since its id was looked up
        raise MemoryNotFound(id, store.space)
    return memory


def resolve_id(store: MemoryStore, prefix: str) -> str:
    """What is no longer here has a past all the same; its whole id still finds that."""
    try:
        return store.resolve_id(prefix)
    except MemoryNotFound:
        return prefix


def find_memory_at(store: MemoryStore, prefix: str, as_of: str | None, valid_at: str | None) -> Memory:
    """As it was known at one time, or the version that held at another."""
    if as_of is None and valid_at is None:
        return find_memories(store, [prefix])[0]
    id = resolve_id(store, prefix)
    memory = store.get(id, as_of=as_of, valid_at=valid_at)
    if memory is None:
        asked = "known to hold" if valid_at is not None else "there"
        then = when(valid_at or as_of or "now", store.now(), "end" if valid_at is None else "middle")
        remedy = f"; `nacre memory history {short_id(id)}` shows when it was stored." if store.get(id) else "."
        raise NotFound(f"{short_id(id)!r} was not {asked} {then}{remedy}")
    return memory


def when(said: str, now: float, side: str) -> str:
    """The time that was asked about, as the end of a message. A day is named as it was typed, since its end, in UTC,
    would be shown as the midnight of the next day."""
    if is_day(said):
        return f"at the end of {said}" if side == "end" else f"on {said}"
    return f"at {iso(moment(said, now, side))}"


def resolve_target(store: MemoryStore, source: Memory, prefix: str) -> str:
    """The other end of a link, which need not be there: a link of the source may name it, else it is as typed."""
    try:
        return store.resolve_id(prefix)
    except MemoryNotFound:
        ends = dict.fromkeys(link.to for link in source.links if prefix and link.to.startswith(prefix))
        return next(iter(ends)) if len(ends) == 1 else prefix
