"""What cannot be undone: purging memories, redacting their content, compacting the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from nacre.engine.engine import FORMER_NAMES, SPACE, Change, Engine, PendingChanges, Plan
from nacre.engine.supersede import REDACTED, chain_without
from nacre.engine.undo import batches_under_way
from nacre.errors import AccessDenied, MemoryNotFound
from nacre.model import JournalEntry, JournalFilter, Memory
from nacre.model.journal import MEMORY
from nacre.protocols import Backend, Derived, Transaction
from nacre.remember.derive import indexed_words


def purge(
    engine: Engine, space: str, ids: Sequence[str], *, only: Callable[[Memory], bool] | None = None, why: str = ""
) -> int:
    """Removes memories, the links to them and what the journal says of them, for good; closes the chains around them.
    Of those that are gone already, what the journal says.

    `only` is asked inside the transaction, where nobody can change the answer.
    """
    removed: list[str] = []

    def plan(transaction: Transaction) -> list[Change]:
        present = filter(None, (transaction.get(space, id) for id in dict.fromkeys(ids)))
        chosen = [memory.id for memory in present if only is None or only(memory)]
        rest = () if only is not None else (id for id in dict.fromkeys(ids) if id not in chosen)
        removed[:] = [*chosen, *(id for id in rest if has_past(engine.store, space, id))]
        pending = PendingChanges(transaction)
        for id in chosen:
            for change in chain_without(transaction, engine.required(transaction, space, id), engine.clock()):
                change.apply(transaction)  # the next one of the chain may be purged as well
                pending.add([change])
            transaction.remove(space, id)
        pending.add(without_links_to(engine.store, transaction, space, removed))
        return [change for change in pending if change.subject.id not in removed]

    remove(engine, "purge", space, plan, removed, why)
    return len(removed)


def has_past(store: Backend, space: str, id: str) -> bool:
    """Whether something is left of what a memory was."""
    entries = store.journal(space, JournalFilter(memory_id=id))
    return any(e.kind == MEMORY and (e.damaged or (e.before, e.after) != (None, None)) for e in entries)


def without_links_to(store: Backend, transaction: Transaction, space: str, removed: Sequence[str]) -> Iterator[Change]:
    """Applied one by one: a memory that an agent can see and not change keeps its link."""
    gone = set(removed)
    edges = store.edges(space, into=removed) if removed else []
    for source in dict.fromkeys(edge.source for edge in edges if edge.source not in gone):
        memory = transaction.get(space, source)
        if memory is not None:
            after = replace(memory, links=tuple(link for link in memory.links if link.to not in gone))
            change = Change(memory, after)
            with suppress(AccessDenied):
                change.apply(transaction)
                yield change


def redact(engine: Engine, space: str, ids: Sequence[str], *, why: str = "") -> int:
    """Removes the content from the record, the indexes and the journal for good; that it existed stays."""
    redacted: list[str] = []

    def plan(transaction: Transaction) -> list[Change]:
        for id in dict.fromkeys(ids):
            memory = transaction.get(space, id)
            if memory is not None:
                empty = without_content(memory, engine.clock())
                transaction.put(empty, Derived(indexed_words(empty)))  # its vector can wait; the old one is removed now
            elif not has_past(engine.store, space, id):
                raise MemoryNotFound(id, space)
            redacted.append(id)
        return []

    remove(engine, "redact", space, plan, redacted, why)
    return len(redacted)


def remove(
    engine: Engine, name: str, space: str, plan: Plan, removed: Sequence[str], why: str, *, everything: bool = False
) -> None:
    """One operation; the journal and its mirror name the removed memories and keep nothing of their content, or with
    `everything` nothing of the space.

    The plan applies its own removals and adds their ids to `removed`; it returns the changes that are journaled.
    """
    known_as = (space, *former_names(engine.store, space))
    operation = engine.operation(name, why)
    with engine.store.transaction() as transaction:
        entries = [change.entry(operation) for change in plan(transaction)]
        for id in removed:
            transaction.scrub_journal(space, id)
        entries += [JournalEntry(0, operation, space, id, None, None) for id in removed]
        entries = engine.append(entries, transaction)
    if engine.sink is not None and (removed or everything):
        for each in known_as:
            engine.sink.scrub(each, None if everything else removed)
    engine.publish(entries)


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
        status="trashed",
        superseded_by=memory.superseded_by,
        superseded_at=memory.superseded_at,
        links=tuple(replace(link, data={}) for link in memory.links),
    )


def last_to_drop(store: Backend, space: str, before: float) -> int:
    """The last journal entry before that time up to which all can be dropped: no operation goes on after it, and no
    import or undo that has not ended needs it or one before it."""
    upto = store.seq_at(space, before)
    for batch in batches_under_way(store, space):
        first = store.journal(space, JournalFilter(batch=batch), newest_first=False, limit=1)
        upto = min([upto, *(entry.seq - 1 for entry in first)])
    return store.border(space, upto)


def compact(engine: Engine, space: str, before: float, *, why: str = "") -> int:
    """Drops the journal entries before that time for good; returns how many. An operation is dropped as a whole."""
    operation = engine.operation("compact", why)
    with engine.store.transaction() as transaction:
        upto = last_to_drop(engine.store, space, before)  # while nobody else writes
        dropped = transaction.forget_journal(space, upto) if upto else 0
        entries = [JournalEntry(0, operation, space, "", None, {"dropped": dropped}, "journal")] if dropped else []
        entries = engine.append(entries, transaction)
    engine.publish(entries)
    return dropped
