"""Turns an act's journal entries into the changes that take it back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from nacre.engine.change import TOLD, Change, difference, stands_as
from nacre.errors import UndoRefused
from nacre.model import JournalEntry, Memory
from nacre.model.memory import Json, typed
from nacre.ports import Derived, Store, Transaction


def reason(batch: str, why: str) -> str:
    """An undo names in its `why` the act that it takes back, before the caller's words."""
    return f"{batch}: {why}" if why else batch


def last_standing(entries: Iterable[JournalEntry]) -> str | None:
    """The newest act, of entries newest first, that no standing undo has taken back; None when there is none."""
    taken: set[str] = set()
    for act in dict.fromkeys(entry.act for entry in entries):
        if act.batch in taken or act.name == "purge":
            continue
        if act.name != "undo":
            return act.batch
        taken.add(act.why.partition(":")[0])
    return None


def plan(entries: Sequence[JournalEntry], store: Store) -> list[tuple[Memory | None, Memory | None]]:
    """How each memory stands, and how it would stand after the undo; None where it is not there."""
    if not entries:
        raise UndoRefused("There is no such act in the journal; `nacre journal` shows what can be undone.")
    current = {memory.id: memory for memory in store.get(entries[0].space, [entry.memory_id for entry in entries])}
    return [(current.get(each.memory_id), taken_back(each, current.get(each.memory_id))) for each in entries]


def changes(entries: Sequence[JournalEntry], transaction: Transaction, derived: Mapping[str, Derived]) -> list[Change]:
    whole = []
    for entry in entries:
        current = transaction.get(entry.space, entry.memory_id)
        whole.append(Change(current, taken_back(entry, current), derived.get(entry.memory_id)))
    return whole


def taken_back(entry: JournalEntry, current: Memory | None) -> Memory | None:
    if entry.before is None and entry.after is None:
        raise UndoRefused(f"{entry.memory_id} was purged; what is purged is gone for good. A backup may have it.")
    if entry.after is None:
        if current is not None:
            raise UndoRefused(f"{entry.memory_id} exists again since it was removed; purge it before undoing that.")
        return Memory.from_dict(entry.before or {})
    if current is None:
        raise UndoRefused(f"{entry.memory_id} is no longer there; undo its removal first.")
    if not stands(current, entry):
        raise UndoRefused(
            f"{entry.memory_id} was changed after this act; undo the later acts first "
            f"(`nacre journal {entry.memory_id}` lists them)."
        )
    return None if entry.before is None else set_back(current, entry.before)


def stands(current: Memory, entry: JournalEntry) -> bool:
    if entry.before is None:
        return not difference(current, Memory.from_dict(entry.after or {}))
    return stands_as(current, entry.after or {})


def set_back(current: Memory, before: Mapping[str, Json]) -> Memory:
    return replace(current, **{name: typed(name, value) for name, value in before.items() if name in TOLD})  # type: ignore[arg-type]
