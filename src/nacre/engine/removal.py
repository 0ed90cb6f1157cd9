"""What cannot be undone: purging memories, redacting their content, compacting the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from nacre.engine.engine import FORMER_NAMES, PURGE, SPACE, Engine, Lookup, PendingChanges, Plan
from nacre.engine.supersede import REDACTED, chain_without
from nacre.engine.undo import batches_under_way, moved_with, other_space
from nacre.errors import MemoryNotFound
from nacre.model import JournalFilter, Memory
from nacre.model.journal import MEMORY
from nacre.model.memory import TRASHED
from nacre.protocols import AnyChange, Backend, Change, Derived, JournalDropped, Key, Reader, Scrubbed
from nacre.remember.derive import indexed_words


def purge(
    engine: Engine, space: str, ids: Sequence[str], *, only: Callable[[Memory], bool] | None = None, why: str = ""
) -> int:
    """Removes memories, the links to them and what the journal says of them, for good; closes the chains around them.
    Of those that are gone already, what the journal says. Returns how many. Those that `only` does not admit stay.
    """

    def plan(reader: Reader) -> list[AnyChange]:
        chosen = [memory for memory in reader.get_many(space, ids) if only is None or only(memory)]
        removed = dict.fromkeys(memory.id for memory in chosen)
        if only is None:
            removed |= {id: None for id in ids if id not in removed and has_past(reader, space, id)}
        pending = PendingChanges(reader)
        for memory in chosen:  # the next one of a chain may be purged as well
            pending.add(chain_without(pending, pending.latest(memory), engine.clock()))
            pending.add([Change(memory, None)])
        pending.add(without_links_to(reader, pending, space, list(removed)))
        around = (change for change in pending if change.subject.id not in removed)
        gone = (Change(memory, None, journaled=False) for memory in chosen)
        past = ((space, id) for id in removed)
        return [*around, *gone, *(Scrubbed(*each) for each in (*past, *left_behind(reader, space, removed)))]

    return remove(engine, PURGE, space, plan, why)


def has_past(reader: Reader, space: str, id: str) -> bool:
    """Whether something is left of what a memory was."""
    entries = reader.journal(space, JournalFilter(memory_id=id))
    return any(e.kind == MEMORY and (e.damaged or (e.before, e.after) != (None, None)) for e in entries)


def left_behind(reader: Reader, space: str, ids: Iterable[str]) -> list[Key]:
    """The spaces from which these memories were moved here, or to which they were and came back: the journals there
    still have what they were. A memory of such an id that is in one of them now is not meant."""
    others = moved_with(reader, space)

    def was_moved(other: str, id: str) -> bool:
        if reader.get(other, id) is not None:
            return False
        entries = reader.journal(other, JournalFilter(memory_id=id))
        batches = {e.operation.batch for e in entries if e.kind == MEMORY and (e.before, e.after) != (None, None)}
        places = {other_space(reader, other, [batch]) for batch in batches} - {""}
        return bool(places) and all(place == space or reader.get(place, id) is None for place in places)

    return [(other, id) for id in (ids if others else ()) for other in others if was_moved(other, id)]


def without_links_to(reader: Reader, lookup: Lookup, space: str, removed: Sequence[str]) -> Iterator[Change]:
    """A memory that an agent can see and not change keeps its link."""
    gone = set(removed)
    edges = reader.edges(space, into=removed) if removed else []
    for source in dict.fromkeys(edge.source for edge in edges if edge.source not in gone):
        memory = lookup.get(space, source)
        if memory is not None:
            after = replace(memory, links=tuple(link for link in memory.links if link.to not in gone))
            if after != memory:
                yield Change(memory, after, optional=True)


def redact(engine: Engine, space: str, ids: Sequence[str], *, why: str = "") -> int:
    """Removes the content from the record, the indexes and the journal for good; that it existed stays. Returns how
    many. Raises `MemoryNotFound`."""
    redacted = list(dict.fromkeys(ids))

    def plan(reader: Reader) -> list[AnyChange]:
        memories = reader.get_many(space, redacted)
        present = {memory.id for memory in memories}
        for id in redacted:
            if id not in present and not has_past(reader, space, id):
                raise MemoryNotFound(id, space)
        pairs = [(memory, without_content(memory, engine.clock())) for memory in memories]
        # The vectors can wait; the old ones are removed now.
        emptied = (Change(memory, empty, Derived(indexed_words(empty)), journaled=False) for memory, empty in pairs)
        past = ((space, id) for id in redacted)
        return [*emptied, *(Scrubbed(*each) for each in (*past, *left_behind(reader, space, redacted)))]

    return remove(engine, "redact", space, plan, why)


def remove(engine: Engine, name: str, space: str, plan: Plan, why: str, *, everything: bool = False) -> int:
    """One operation, which removes content for good; returns of how many memories. The journal and its mirror name them
    and keep nothing of their content, or with `everything` nothing of the space."""
    known_as = (space, *former_names(engine.store, space))  # a purge of the space takes these names, too
    entries = engine.write(engine.operation(name, why), plan, publish=False).entries
    gone = [entry for entry in entries if entry.before is None and entry.after is None]
    removed = list(dict.fromkeys(entry.memory_id for entry in gone))
    if engine.sink is not None and (removed or everything):
        for each in known_as:
            engine.sink.scrub(each, None if everything else removed)
        for other in dict.fromkeys(entry.space for entry in gone if entry.space != space):
            for each in (other, *former_names(engine.store, other)):
                engine.sink.scrub(each, removed)
    engine.publish(entries)
    return len(removed)


def former_names(store: Backend, space: str) -> list[str]:
    """Names by which a mirror of the journal may know the space."""
    names = store.terms(SPACE).get(space, {}).get(FORMER_NAMES)
    return [str(name) for name in names] if isinstance(names, list) else []


def without_content(memory: Memory, now: float) -> Memory:
    return Memory(
        id=memory.id,
        space=memory.space,
        text=REDACTED,
        type=memory.type,
        metadata={"redacted": True},
        created_at=memory.created_at,
        updated_at=now,
        last_accessed=memory.last_accessed,
        access_count=memory.access_count,
        status=TRASHED,
        superseded_by=memory.superseded_by,
        superseded_at=memory.superseded_at,
        links=tuple(replace(link, data={}) for link in memory.links),
    )


def last_to_drop(reader: Reader, space: str, upto: int) -> int:
    """The last journal entry, at most this one, up to which all can be dropped: no operation goes on after it, and no
    import or undo that has not ended needs it or one before it."""
    for batch in batches_under_way(reader, space):
        first = reader.journal(space, JournalFilter(batch=batch), newest_first=False, limit=1)
        upto = min([upto, *(entry.seq - 1 for entry in first)])
    return reader.border(space, upto)


def compact(engine: Engine, space: str, before: float, *, why: str = "") -> int:
    """Drops the journal entries before that time for good; returns how many. An operation is dropped as a whole."""
    last = engine.store.seq_at(space, before)

    def plan(reader: Reader) -> list[AnyChange]:
        upto = last_to_drop(reader, space, last)
        return [JournalDropped(space, upto)] if upto else []

    return engine.write(engine.operation("compact", why), plan).dropped
