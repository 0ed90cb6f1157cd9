"""What the store knew at an earlier time, rebuilt from how it stands now and what the journal tells since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nacre.engine.change import TOLD, set_back
from nacre.errors import HistoryLost
from nacre.model import Changed, Difference, JournalEntry, Memory, Told
from nacre.model.instants import iso
from nacre.model.journal import MEMORY
from nacre.model.memory import Json, plain
from nacre.ports import Store


@dataclass(frozen=True, slots=True)
class Past:
    """The memories that have changed since, as they stood then; None where one was not there.

    `illegible` are those of which the journal's tale is damaged: nobody can say how they stood.
    """

    upto: int
    stood: dict[str, Memory | None]
    illegible: tuple[str, ...] = ()


def past(store: Store, space: str, at: float, ids: Sequence[str] | None = None) -> Past:
    """Of all that changed since, or of these ids alone. Uses (`last_accessed`, `access_count`) are as they are now.

    Raises `HistoryLost` when the journal no longer reaches back so far.
    """
    upto = reachable(store, space, at)
    since = [
        entry
        for id in (ids if ids is not None else [None])
        for entry in store.journal(space, Told(memory_id=id, after=upto))
        if entry.kind == MEMORY
    ]
    changed = dict.fromkeys(entry.memory_id for entry in since)
    stood: dict[str, Memory | None] = dict.fromkeys(changed)
    stood |= {memory.id: memory for memory in store.get(space, list(changed))}
    illegible = dict.fromkeys(entry.memory_id for entry in since if entry.damaged)
    created = creations(store, space, since)
    for entry in since:
        if entry.memory_id not in illegible:
            stood[entry.memory_id] = None if entry.seq in created else before(entry, stood[entry.memory_id])
    for id in illegible:
        stood[id] = None
    return Past(upto, stood, tuple(illegible))


def reachable(store: Store, space: str, at: float) -> int:
    dropped, dropped_at = store.journal_begins(space)
    upto = store.written_by(space, at)
    if dropped and (at < dropped_at or upto < dropped):
        raise HistoryLost(
            f"The journal of {space!r} begins after {iso(dropped_at)}, when it was compacted; "
            "ask for a later time, or open a backup of that day."
        )
    return upto


def creations(store: Store, space: str, since: Sequence[JournalEntry]) -> set[int]:
    """The numbers of the scrubbed entries that created their memory.

    A scrubbed entry no longer says what it did. The first entry of a memory created it, whatever the operation was
    called, unless the journal was compacted: then the first entry that is left may be a later one.
    """
    scrubbed = [entry for entry in since if entry.before is None and entry.after is None]
    found = {entry.seq for entry in scrubbed if entry.act.name == "remember"}
    if not store.journal_begins(space)[0]:
        for id in dict.fromkeys(entry.memory_id for entry in scrubbed):
            first = store.journal(space, Told(memory_id=id), newest_first=False, limit=1)
            found |= {entry.seq for entry in first}
    return found


def before(entry: JournalEntry, after: Memory | None) -> Memory | None:
    if entry.before is None and entry.after is None:
        return (
            after  # Its content was scrubbed. Of a purged memory nothing is left; of a redacted one, that it was there.
        )
    if entry.before is None:
        return None
    if entry.after is None:
        return replace(Memory.from_dict(entry.before), space=entry.space)  # it may have been renamed since
    return None if after is None else set_back(after, entry.before, entry.after)


def difference_between(store: Store, space: str, earlier: float, later: float) -> Difference:
    """What the store knew at the later time and not at the earlier, and the other way round."""
    if earlier > later:
        earlier, later = later, earlier
    then, now = past(store, space, earlier), past(store, space, later)
    present = {memory.id: memory for memory in store.get(space, list(then.stood))}
    added, removed, changed = [], [], []
    for id, one in then.stood.items():
        other = now.stood[id] if id in now.stood else present.get(id)
        if id in then.illegible:
            continue
        if one is None and other is not None:
            added.append(other)
        elif one is not None and other is None:
            removed.append(one)
        elif one is not None and other is not None and (fields := apart(one, other)):
            changed.append(Changed(one, other, fields))
    lost = f"{len(then.illegible)} memories are left out: the journal's tale of them is damaged."
    return Difference(tuple(added), tuple(removed), tuple(changed), (lost,) if then.illegible else ())


def apart(one: Memory, other: Memory) -> dict[str, tuple[Json, Json]]:
    told = (name for name in TOLD if name != "updated_at" and getattr(one, name) != getattr(other, name))
    return {name: (plain(name, getattr(one, name)), plain(name, getattr(other, name))) for name in told}
