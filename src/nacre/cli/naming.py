"""From what a person types to the memories and acts that it names."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.errors import InvalidInput, MemoryNotFound, UndoRefused
from nacre.model import Memory
from nacre.store import MemoryStore

WHOLE_BATCH = 32  # characters


def named(store: MemoryStore, prefixes: Sequence[str]) -> list[Memory]:
    """Each memory once; the first prefix that names none, or several, is an error before anything is done."""
    ids = dict.fromkeys(store.resolve_id(prefix) for prefix in prefixes)
    return [one(store, id) for id in ids]


def one(store: MemoryStore, id: str) -> Memory:
    memory = store.get(id)
    if memory is None:  # purged by someone else since its id was looked up
        raise MemoryNotFound(id, store.space)
    return memory


def batch_named(store: MemoryStore, prefix: str) -> str:
    if len(prefix) >= WHOLE_BATCH:
        return prefix
    acts = {entry.act.batch for entry in store.journal(limit=None) if entry.act.batch.startswith(prefix)}
    if not acts:
        raise UndoRefused(f"No act in the journal begins with {prefix!r}; `nacre journal` lists them.")
    if len(acts) > 1:
        raise InvalidInput(f"{len(acts)} acts begin with {prefix!r}; give more characters.")
    return acts.pop()
