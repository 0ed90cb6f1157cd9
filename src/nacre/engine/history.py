"""Earlier states: what the store knew at a time, the versions of a memory, and the journal itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from nacre.engine.engine import UNDO
from nacre.engine.operation_parts import undone_batches
from nacre.errors import HistoryLost, InvalidInput, MemoryNotFound
from nacre.model import Changed, Difference, Filter, History, JournalEntry, JournalFilter, Memory, Transition
from nacre.model.instants import DAY, MONDAY, WEEK, day, iso
from nacre.model.journal import MEMORY, UNATTENDED, UPKEEP_OPERATIONS, OperationNote, TimelineBucket
from nacre.model.memory import ARCHIVED, JOURNALED, TRASHED, Json, json_list, plain, positioned
from nacre.protocols import Backend, Reader

PAGE = 1_000  # journal entries read at once
NAMED = 20  # ids of memories that the note of an operation names
BUCKETS, MOST_BUCKETS = 30, 400  # of a timeline: by default, and a year of days
Bucket: TypeAlias = Literal["day", "week", "month"]
DEFAULT_STATUS = "long_term"  # of an unarchived memory whose earlier status the journal no longer has
HIDDEN_STATUSES = (ARCHIVED, TRASHED)
# Operations that change a memory although nobody means it: upkeep, and what is done for another memory.
AUTOMATIC_OPERATIONS = frozenset((*UPKEEP_OPERATIONS, "remember", "note_conflicts", "prune_links", "purge"))


def state_at(store: Backend, space: str, at: float) -> Reader:
    """The space as the store knew it at that time; uses (`last_accessed`, `access_count`) are as they are now.

    Raises `HistoryLost` when the journal no longer reaches back so far.
    """
    return store.at(space, last_entry_at(store, space, at))


def last_entry_at(store: Backend, space: str, at: float) -> int:
    dropped, dropped_at = store.journal_begins(space)
    upto = store.seq_at(space, at)
    if dropped and (at < dropped_at or upto < dropped):
        raise HistoryLost(
            f"The journal of {space!r} begins after {iso(dropped_at)}, when it was compacted or repaired; "
            "ask for a later time, or open a backup of that day."
        )
    return upto


def operations(store: Reader, space: str, where: JournalFilter, limit: int) -> list[OperationNote]:
    """The newest that have an entry which the filter admits. Those that were undone say so."""
    notes: dict[str, OperationNote] = {}
    for entry in newest_first(store, space, where) if limit else ():
        operation = entry.operation
        if operation.batch not in notes and len(notes) == limit:
            break
        note = notes.get(operation.batch, OperationNote(operation, 0, (), entry.seq))
        ids = note.memory_ids
        if entry.kind == MEMORY and entry.memory_id not in ids and len(ids) < NAMED:
            ids = (*ids, entry.memory_id)
        notes[operation.batch] = replace(note, count=note.count + 1, memory_ids=ids, seq=entry.seq)
    undone = undone_since(store, space, min(note.seq for note in notes.values())) if notes else set()
    return [replace(note, undone=batch in undone) for batch, note in notes.items()]


def undone_since(store: Reader, space: str, seq: int) -> set[str]:
    """The batches that were taken back after a journal entry, by an undo that was not undone itself."""
    undone: set[str] = set()
    for entry in newest_first(store, space, JournalFilter(operation=UNDO, after=seq)):
        if entry.operation.batch not in undone:
            undone.update(undone_batches(entry.operation))
    return undone


def undone_memories(store: Reader, space: str, name: str) -> set[str]:
    """The memories that operations of this name changed, or linked new ones to, before somebody undid them."""
    entries = list(newest_first(store, space, JournalFilter(operation=name)))
    undone = undone_since(store, space, entries[-1].seq) if entries else set()
    taken_back = [entry for entry in entries if entry.operation.batch in undone]
    linked = (json_list((entry.after or {}).get("links")) for entry in taken_back)
    targets = {link.to for links in linked for _, link in positioned(links)}
    return {entry.memory_id for entry in taken_back} | targets


def newest_first(store: Reader, space: str, where: JournalFilter) -> Iterator[JournalEntry]:
    while True:
        page = store.journal(space, where, limit=PAGE)
        yield from page
        if len(page) < PAGE:
            return
        where = replace(where, upto=page[-1].seq - 1)


def timeline(store: Reader, space: str, bucket: Bucket, since: float | None, until: float) -> list[TimelineBucket]:
    """From counts and from the numbers of journal entries, without reading memories or entries."""
    starts = [bucket_start(until, bucket)]
    while (len(starts) < BUCKETS) if since is None else (starts[-1] > since):
        starts.append(bucket_start(starts[-1] - 1, bucket))
        if len(starts) > MOST_BUCKETS:
            raise InvalidInput(f"A timeline has at most {MOST_BUCKETS} buckets; ask for a shorter time or longer ones.")
    starts.reverse()
    edges = [*starts, until]
    numbers = [store.seq_at(space, at) for at in edges]
    return [
        TimelineBucket(
            start,
            day(start),
            store.count(space, Filter.where(created_at__ge=start, created_at__lt=end)),
            later - earlier,
            store.count(space, Filter.where(status=TRASHED, updated_at__ge=start, updated_at__lt=end)),
        )
        for start, end, earlier, later in zip(starts, [*starts[1:], until + 1], numbers, numbers[1:], strict=False)
    ]


def bucket_start(at: float, bucket: Bucket) -> float:
    """The beginning (UTC) of the day, week or month that this time is in."""
    if bucket == "month":
        then = datetime.fromtimestamp(at, UTC)
        return datetime(then.year, then.month, 1, tzinfo=UTC).timestamp()
    return at // DAY * DAY if bucket == "day" else MONDAY + (at - MONDAY) // WEEK * WEEK


def difference_between(store: Backend, space: str, earlier: float, later: float) -> Difference:
    """What the store knew at the later time and not at the earlier, and the other way round."""
    begin, end = (last_entry_at(store, space, at) for at in sorted((earlier, later)))
    ids = store.changes_since(space, begin)[::-1]
    then, now = ({m.id: m for m in store.at(space, seq).get_many(space, ids)} for seq in (begin, end))
    pairs = [(then[id], now[id]) for id in ids if id in then and id in now]
    changes = [Changed(one, other, fields) for one, other in pairs if (fields := changed_fields(one, other))]
    return Difference(
        added=tuple(now[id] for id in ids if id in now and id not in then),
        removed=tuple(then[id] for id in ids if id in then and id not in now),
        changed=tuple(changes),
    )


def changed_fields(one: Memory, other: Memory) -> dict[str, tuple[Json, Json]]:
    names = (name for name in JOURNALED if name != "updated_at" and getattr(one, name) != getattr(other, name))
    return {name: (plain(name, getattr(one, name)), plain(name, getattr(other, name))) for name in names}


def history(store: Reader, space: str, id: str) -> History:
    versions = lineage(store, newest_version(store, space, id))
    entries = [entry for each in versions for entry in store.journal(space, JournalFilter(memory_id=each.id))]
    transitions = [*successions(versions, entries), *text_edits(entries)]
    return History(tuple(versions), tuple(sorted(transitions, key=lambda each: each.at)))


def only_versions(every: History, where: Filter) -> History:
    """Raises `MemoryNotFound` when the filter admits none of them."""
    versions = tuple(each for each in every.versions if where.admits(each))
    if not versions:
        raise MemoryNotFound(every.versions[-1].id, every.versions[-1].space)
    ids = {each.id for each in versions}
    return History(versions, tuple(each for each in every.transitions if {each.old, each.new} & ids))


def newest_version(store: Reader, space: str, id: str) -> Memory:
    """The end of the chain that this memory belongs to. Raises `MemoryNotFound`."""
    memory = store.get(space, id)
    if memory is None:
        raise MemoryNotFound(id, space)
    seen = {memory.id}
    while memory.superseded_by and memory.superseded_by not in seen:
        successor = store.get(space, memory.superseded_by)
        if successor is None:  # purged by a program that did not close the chain
            break
        memory = successor
        seen.add(memory.id)
    return memory


def lineage(store: Reader, newest: Memory) -> list[Memory]:
    """Everything that the newest version replaces in the end, predecessors before their successors."""
    generations, seen = [[newest]], {newest.id}
    while generations[-1]:
        earlier = [m for each in generations[-1] for m in store.replaced_by(newest.space, each.id) if m.id not in seen]
        seen |= {memory.id for memory in earlier}
        generations.append(earlier)
    return [memory for generation in reversed(generations) for memory in generation]


def successions(versions: list[Memory], entries: list[JournalEntry]) -> Iterator[Transition]:
    known = {memory.id: memory for memory in versions}
    written = {(e.memory_id, (e.after or {}).get("superseded_by")): e for e in reversed(entries)}
    for predecessor in versions:
        successor = known.get(predecessor.superseded_by)
        if successor is not None:
            entry = written.get((predecessor.id, successor.id))
            texts = [
                each.text if entry is None else text_after(each, entry, entries) for each in (predecessor, successor)
            ]
            old, new = changed_words(*texts)
            times = (predecessor.valid_until, predecessor.superseded_at, successor.created_at)
            at = next(time for time in times if time is not None)
            why = entry.operation.why if entry else ""
            yield Transition(predecessor.id, successor.id, old, new, at, "supersede", why)


def text_after(memory: Memory, entry: JournalEntry, entries: list[JournalEntry]) -> str:
    """The text that a memory had after the entry: that before the first edit since, if there is one."""
    later = [each for each in entries if each.memory_id == memory.id and each.seq > entry.seq and each.after]
    texts = [(each.seq, text) for each in later if isinstance(text := (each.before or {}).get("text"), str)]
    return min(texts)[1] if texts else memory.text


def changed_words(before: str, after: str) -> tuple[str, str]:
    """The words that changed, where they are few; else the full texts."""
    from nacre.conflicts.difference import differing_words

    new, old = differing_words(after, before)
    return (old, new) if old and new else (before, after)


def text_edits(entries: list[JournalEntry]) -> Iterator[Transition]:
    for entry in entries:
        old, new = (entry.before or {}).get("text"), (entry.after or {}).get("text")
        if isinstance(old, str) and isinstance(new, str):
            id, operation = entry.memory_id, entry.operation
            yield Transition(id, id, old, new, operation.at, operation.name, operation.why)


def status_before_archive(store: Reader, space: str, id: str) -> str:
    """The status that the memory had when it was archived, from elsewhere than the trash."""
    for entry in store.journal(space, JournalFilter(memory_id=id)):
        status = str((entry.before or {}).get("status", ""))
        if (entry.after or {}).get("status") == ARCHIVED and status not in ("", TRASHED):
            return status
    return DEFAULT_STATUS


def last_meant_change_at(entries: Sequence[JournalEntry], updated_at: float) -> float:
    """When somebody last changed a memory on purpose or brought it back, an undo included, by the entries about it,
    newest first; 0 where nobody has since it was stored. What a compacted journal no longer says was perhaps done on
    purpose."""
    last = next((entry.operation.at for entry in meant_entries(entries)), None)
    if last is not None:
        return last
    oldest = entries[-1] if entries else None
    is_said = oldest is not None and (oldest.before is None or oldest.operation.at <= updated_at)
    return 0.0 if is_said else updated_at


def changed_at(entries: Iterable[JournalEntry], *names: str) -> float:
    """When one of these fields was last changed since the memory was stored, by the entries about it, newest first; 0
    where none says so."""
    changes = (entry for entry in entries if entry.before and not (entry.after or {}).keys().isdisjoint(names))
    return next((entry.operation.at for entry in changes), 0.0)


def brought_back_at(store: Reader, space: str, id: str) -> float:
    """When somebody last took a memory out of the trash or the archive; 0 where the journal does not say so."""
    statuses = (
        (entry.operation.at, (entry.before or {}).get("status"), (entry.after or {}).get("status"))
        for entry in meant_entries(newest_first(store, space, JournalFilter(memory_id=id)))
    )
    return next(
        (at for at, before, after in statuses if before in HIDDEN_STATUSES and after not in HIDDEN_STATUSES), 0.0
    )


def meant_entries(entries: Iterable[JournalEntry]) -> Iterator[JournalEntry]:
    """What was done to a memory on purpose since it was stored, of the entries about it."""
    for entry in entries:
        done = entry.operation
        again = entry.before is not None or done.name == UNDO
        if entry.kind == MEMORY and again and done.why != UNATTENDED and done.name not in AUTOMATIC_OPERATIONS:
            yield entry


def iterate_entries(store: Reader, space: str, where: JournalFilter) -> Iterator[JournalEntry]:
    """Oldest first, a page at a time; entries written meanwhile are left out, so that it ends on a busy store."""
    last = store.journal(space, limit=1)
    where = replace(where, upto=last[0].seq if last else 0)
    while page := store.journal(space, where, newest_first=False, limit=PAGE):
        yield from page
        where = replace(where, after=page[-1].seq)
