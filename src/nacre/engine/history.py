"""How one truth came to be: its versions, oldest first, and what changed from each to the next."""

from __future__ import annotations

from collections.abc import Iterator

from nacre.errors import MemoryNotFound
from nacre.model import History, JournalEntry, Memory, Told, Transition
from nacre.ports import Store


def history(store: Store, space: str, id: str, *, upto: int | None = None) -> History:
    """`store` may be one as it was known earlier; `upto` then is the last entry that it knew."""
    head = head_of(store, space, id)
    versions = lineage(store, head)
    acts = [entry for each in versions for entry in store.journal(space, Told(memory_id=each.id, upto=upto))]
    told = [*successions(versions, acts), *edits(acts)]
    return History(tuple(versions), tuple(sorted(told, key=lambda each: each.at)))


def head_of(store: Store, space: str, id: str) -> Memory:
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


def lineage(store: Store, head: Memory) -> list[Memory]:
    """Everything that the head stands for in the end, what was replaced before what replaced it."""
    generations, seen = [[head]], {head.id}
    while generations[-1]:
        formers = [f for each in generations[-1] for f in store.replaced_by(head.space, each.id) if f.id not in seen]
        seen |= {former.id for former in formers}
        generations.append(formers)
    return [memory for generation in reversed(generations) for memory in generation]


def successions(versions: list[Memory], acts: list[JournalEntry]) -> Iterator[Transition]:
    known = {memory.id: memory for memory in versions}
    told = {(entry.memory_id, (entry.after or {}).get("superseded_by")): entry.act for entry in reversed(acts)}
    for former in versions:
        heir = known.get(former.superseded_by)
        if heir is not None:
            act = told.get((former.id, heir.id))
            before, after = values(former, heir)
            ends = (former.valid_until, former.superseded_at, heir.created_at)
            at = next(moment for moment in ends if moment is not None)
            yield Transition(former.id, heir.id, before, after, at, "supersede", act.why if act else "")


def values(former: Memory, heir: Memory) -> tuple[str, str]:
    """The words that changed, where they are few; else the whole texts."""
    from nacre.remember.judge import judge  # its tables of words cost a command 20 ms

    verdict = judge(heir, former, 1.0)
    after, before = verdict.words if verdict is not None else ("", "")
    return (before, after) if before and after else (former.text, heir.text)


def edits(acts: list[JournalEntry]) -> Iterator[Transition]:
    for entry in acts:
        before, after = (entry.before or {}).get("text"), (entry.after or {}).get("text")
        if isinstance(before, str) and isinstance(after, str):
            act = entry.act
            yield Transition(entry.memory_id, entry.memory_id, before, after, act.at, act.name, act.why)
