"""What the store knew at an earlier time, rebuilt from how it stands now and what the journal tells since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nacre.engine.changes import TOLD, set_back
from nacre.errors import HistoryLost, MemoryNotFound
from nacre.model import Changed, Difference, History, JournalEntry, JournalFilter, Memory, Transition
from nacre.model.instants import iso
from nacre.model.journal import MEMORY
from nacre.model.memory import Json, plain
from nacre.protocols import Backend


@dataclass(frozen=True, slots=True)
class Past:
    """The memories that have changed since, as they stood then; None where one was not there.

    `illegible` are those of which the journal's tale is damaged: nobody can say how they stood.
    """

    upto: int
    stood: dict[str, Memory | None]
    illegible: tuple[str, ...] = ()


def past(store: Backend, space: str, at: float, ids: Sequence[str] | None = None) -> Past:
    """Of all that changed since, or of these ids alone. Uses (`last_accessed`, `access_count`) are as they are now.

    Raises `HistoryLost` when the journal no longer reaches back so far.
    """
    upto = reachable(store, space, at)
    since = [
        entry
        for id in (ids if ids is not None else [None])
        for entry in store.journal(space, JournalFilter(memory_id=id, after=upto))
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


def reachable(store: Backend, space: str, at: float) -> int:
    dropped, dropped_at = store.journal_begins(space)
    upto = store.written_by(space, at)
    if dropped and (at < dropped_at or upto < dropped):
        raise HistoryLost(
            f"The journal of {space!r} begins after {iso(dropped_at)}, when it was compacted; "
            "ask for a later time, or open a backup of that day."
        )
    return upto


def creations(store: Backend, space: str, since: Sequence[JournalEntry]) -> set[int]:
    """The numbers of the scrubbed entries that created their memory.

    A scrubbed entry no longer says what it did. The first entry of a memory created it, whatever the operation was
    called, unless the journal was compacted: then the first entry that is left may be a later one.
    """
    scrubbed = [entry for entry in since if entry.before is None and entry.after is None]
    found = {entry.seq for entry in scrubbed if entry.operation.name == "remember"}
    if not store.journal_begins(space)[0]:
        for id in dict.fromkeys(entry.memory_id for entry in scrubbed):
            first = store.journal(space, JournalFilter(memory_id=id), newest_first=False, limit=1)
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


def difference_between(store: Backend, space: str, earlier: float, later: float) -> Difference:
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


def history(store: Backend, space: str, id: str, *, upto: int | None = None) -> History:
    """`store` may be one as it was known earlier; `upto` then is the last entry that it knew."""
    head = head_of(store, space, id)
    versions = lineage(store, head)
    acts = [entry for each in versions for entry in store.journal(space, JournalFilter(memory_id=each.id, upto=upto))]
    told = [*successions(versions, acts), *edits(acts)]
    return History(tuple(versions), tuple(sorted(told, key=lambda each: each.at)))


def head_of(store: Backend, space: str, id: str) -> Memory:
    asked = store.get(space, [id])
    if not asked:
        raise MemoryNotFound(id, space)
    found = asked[0]
    seen = {found.id}
    while found.superseded_by and found.superseded_by not in seen:
        heir = store.get(space, [found.superseded_by])
        if not heir:  # purged, by a program that did not close the chain
            break
        found = heir[0]
        seen.add(found.id)
    return found


def lineage(store: Backend, head: Memory) -> list[Memory]:
    """Everything that the head stands for in the end, what was replaced before what replaced it."""
    generations, seen = [[head]], {head.id}
    while generations[-1]:
        formers = [f for each in generations[-1] for f in store.replaced_by(head.space, each.id) if f.id not in seen]
        seen |= {former.id for former in formers}
        generations.append(formers)
    return [memory for generation in reversed(generations) for memory in generation]


def successions(versions: list[Memory], acts: list[JournalEntry]) -> Iterator[Transition]:
    known = {memory.id: memory for memory in versions}
    told = {(entry.memory_id, (entry.after or {}).get("superseded_by")): entry.operation for entry in reversed(acts)}
    for former in versions:
        heir = known.get(former.superseded_by)
        if heir is not None:
            operation = told.get((former.id, heir.id))
            before, after = values(former, heir)
            ends = (former.valid_until, former.superseded_at, heir.created_at)
            at = next(moment for moment in ends if moment is not None)
            yield Transition(former.id, heir.id, before, after, at, "supersede", operation.why if operation else "")


def values(former: Memory, heir: Memory) -> tuple[str, str]:
    """The words that changed, where they are few; else the whole texts."""
    from nacre.conflicts.judge import judge  # its tables of words cost a command 20 ms

    verdict = judge(heir, former, 1.0)
    after, before = verdict.words if verdict is not None else ("", "")
    return (before, after) if before and after else (former.text, heir.text)


def edits(acts: list[JournalEntry]) -> Iterator[Transition]:
    for entry in acts:
        before, after = (entry.before or {}).get("text"), (entry.after or {}).get("text")
        if isinstance(before, str) and isinstance(after, str):
            operation = entry.operation
            yield Transition(
                entry.memory_id, entry.memory_id, before, after, operation.at, operation.name, operation.why
            )
