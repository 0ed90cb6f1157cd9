"""Chains of versions: one memory replaces another, and only the newest of a chain is recalled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import inf

from nacre.engine.engine import Engine, Lookup, PendingChanges
from nacre.errors import InvalidInput, SupersedeCycle
from nacre.model import Link, Memory
from nacre.model.memory import ARCHIVED, SUPERSEDES, TRASHED, Json
from nacre.model.recollection import effective_from
from nacre.protocols import Change, Reader

START_SET = "valid_from"  # in the link's data: `superseded` set the successor's `valid_from`, which was empty before
END_SET = "valid_until"  # in the link's data: the end that `superseded` gave the predecessor; None where it had one
# In the metadata of what a decision says has never held: the time that it `set`, and the times from before.
TIMES_GIVEN = "times_given"
REDACTED = "[redacted]"  # the text of a memory whose content was removed for good
PURGED = "[purged]"  # the successor of a memory whose own successor was removed for good


def is_redacted(memory: Memory) -> bool:
    return memory.text == REDACTED and memory.metadata.get("redacted") is True


def refuse_redacted(memory: Memory) -> None:
    """The mark that is left must stay one: with another text, nothing would say that something was removed."""
    if is_redacted(memory):
        raise InvalidInput(f"{redaction_note(memory.id)} Store a new memory instead.")


def redaction_note(id: str) -> str:
    return f"{id} was redacted; its content is gone for good."


def refuse_hidden(successor: Memory, now: float) -> None:
    """Raises `InvalidInput` for what nobody sees: in the place of another memory, it would hide that one too."""
    id = successor.id
    if successor.status == TRASHED:
        state, remedy = "is in the trash", f"`nacre trash restore {id}` brings it back"
    elif successor.status == ARCHIVED:
        state, remedy = "is archived", f"`nacre memory unarchive {id}` takes it out"
    elif has_expired(successor, now):
        state, remedy = "has expired", f"`nacre edit {id} --expires-at ''` lets it last"
    else:
        return
    raise InvalidInput(f"{id} {state} and cannot replace another memory; {remedy}.")


def restore(engine: Engine, space: str, ids: Sequence[str], *, why: str = "") -> bool:
    """Takes memories out of the trash, or undoes their supersession; False when there is neither. An expiry that has
    passed is removed: it would hide them."""

    def plan(reader: Reader) -> list[Change]:
        pending = PendingChanges(reader)
        for id in dict.fromkeys(ids):
            memory = pending.latest(engine.get_required(reader, space, id))
            refuse_redacted(memory)
            now = engine.clock()
            back = restored(pending, memory, now)  # the next memory may have the same successor
            pending.add(back)
            if back:
                pending.add([Change(memory, without_passed_expiry(pending.latest(memory), now))])
        return list(pending)

    return bool(engine.write_named("restore", plan, why))


def superseded(
    lookup: Lookup,
    predecessor: Memory,
    successor: Memory,
    now: float,
    since: float | None = None,
    *,
    same_fact: bool = False,
) -> list[Change]:
    """The changes that let one replace the other, `since` then or as `change_time` says; none when it is so already.
    Of the same fact in other words nothing begins: the successor keeps its start.
    Raises `SupersedeCycle`, and `InvalidInput` where the successor is hidden itself."""
    if predecessor.superseded_by == successor.id:
        return []
    refuse_hidden(successor, now)
    refuse_cycle(lookup, predecessor, successor)
    earlier = lookup.get(predecessor.space, predecessor.superseded_by) if predecessor.superseded_by else None
    free, left = released(predecessor, earlier, now) if predecessor.superseded_by else (predecessor, None)
    replaced, linked = chained(free, successor, now, since, same_fact=same_fact)
    changes = [Change(predecessor, replaced), Change(successor, linked)]
    return changes if earlier is None or left is None else [*changes, Change(earlier, left)]


def all_superseded(
    lookup: Lookup, predecessors: Iterable[Memory], successor: Memory, now: float, *, same_fact: bool = False
) -> tuple[Memory, list[Change]]:
    """The successor that replaces all of them, and their changes; the successor's own change is the caller's."""
    pending = PendingChanges(lookup)
    for predecessor in predecessors:
        pair = pending.latest(predecessor), pending.latest(successor)
        pending.add(superseded(pending, *pair, now, same_fact=same_fact))
    return pending.latest(successor), [change for change in pending if change.subject.id != successor.id]


def refuse_cycle(lookup: Lookup, predecessor: Memory, successor: Memory) -> None:
    step: Memory | None = successor
    seen: set[str] = set()
    while step is not None and step.id not in seen:
        if step.id == predecessor.id:
            raise SupersedeCycle(predecessor.id, successor.id)
        seen.add(step.id)
        step = lookup.get(successor.space, step.superseded_by) if step.superseded_by else None


def first_cycle(ids: Iterable[str], successor_of: Callable[[str], str]) -> str | None:
    """An id that would supersede itself, through others that `successor_of` names; None when there is none."""
    clear: set[str] = set()
    for id in ids:
        way: dict[str, None] = {}
        while id and id not in clear:
            if id in way:
                return id
            way[id] = None
            id = successor_of(id)
        clear |= way.keys()
    return None


def chained(
    predecessor: Memory, successor: Memory, now: float, since: float | None, *, same_fact: bool
) -> tuple[Memory, Memory]:
    """Both after `successor` has replaced `predecessor`. Times that the caller gave are kept."""
    changed_at = change_time(predecessor, successor, now) if since is None else since
    # What had ended before it replaced another began earlier, nobody said when.
    begins_now = not same_fact and successor.valid_from is None and changed_at < (successor.valid_until or inf)
    end = end_of_replaced(predecessor, changed_at) if predecessor.valid_until is None else None
    replaced = replace(
        predecessor,
        superseded_by=successor.id,
        superseded_at=now,
        valid_until=predecessor.valid_until if end is None else end,
        updated_at=now,
    )
    data: dict[str, Json] = {END_SET: end, **({START_SET: True} if begins_now else {})}
    links = (*without_succession(successor.links, predecessor.id), Link(predecessor.id, SUPERSEDES, data=data))
    valid_from = changed_at if begins_now else successor.valid_from
    return replaced, replace(successor, links=links, valid_from=valid_from, updated_at=now)


def change_time(predecessor: Memory, successor: Memory, now: float) -> float:
    """When the new version began to hold: as given, else when it was learned, if that is later than the old one."""
    if successor.valid_from is not None:
        return successor.valid_from
    # What holds since a day that was given began then, though it was written down later.
    began = min(predecessor.happened_at, effective_from(predecessor))
    return successor.happened_at if began < successor.happened_at <= now else now


def released(predecessor: Memory, successor: Memory | None, now: float) -> tuple[Memory, Memory | None]:
    """Both as if the one had never replaced the other."""
    valid_until = None if is_our_end(predecessor, successor) else predecessor.valid_until
    back = replace(predecessor, superseded_by="", superseded_at=None, valid_until=valid_until, updated_at=now)
    if successor is None:
        return back, None
    link = succession(successor, predecessor.id)
    left = replace(successor, links=without_succession(successor.links, predecessor.id), updated_at=now)
    return back, without_our_start(left) if link is not None and link.data.get(START_SET) else left


def is_our_end(predecessor: Memory, successor: Memory | None) -> bool:
    """Whether the predecessor's end was set by superseding it, and nobody has changed that end since."""
    end = predecessor.valid_until
    link = None if successor is None else succession(successor, predecessor.id)
    if end is None or (link is not None and END_SET in link.data):
        return end is not None and link is not None and link.data[END_SET] == end
    # The link is gone, was emptied by a redaction, or is of a version that did not write down the end.
    return end == predecessor.superseded_at or (successor is not None and end == successor.valid_from)


def with_start_moved(lookup: Lookup, before: Memory, after: Memory, now: float) -> tuple[Memory, list[Change]]:
    """The edited memory, whose start is its own from now on where it was changed, and the changes of those that it
    replaced and whose end was its former start: they end when it begins."""
    if after.valid_from == before.valid_from or all(link.rel != SUPERSEDES for link in after.links):
        return after, []
    changes, ends = [], dict[str, float]()
    for predecessor in lookup.replaced_by(before.space, before.id) if after.valid_from is not None else ():
        if predecessor.valid_until == before.valid_from and is_our_end(predecessor, before):
            ends[predecessor.id] = end_of_replaced(predecessor, after.valid_from or 0.0)
            moved = replace(predecessor, valid_until=ends[predecessor.id], updated_at=now)
            changes.append(Change(predecessor, moved, optional=True))  # what an agent may not change stays
    links = (
        replace(link, data=without_our_marks(link, ends.get(link.to))) if link.rel == SUPERSEDES else link
        for link in after.links
    )
    return replace(after, links=tuple(links)), changes


def without_our_marks(link: Link, end: float | None) -> dict[str, Json]:
    data = {key: value for key, value in link.data.items() if key != START_SET}
    return data if end is None else {**data, END_SET: end}


def end_of_replaced(predecessor: Memory, changed_at: float) -> float:
    """When a predecessor that is replaced at `changed_at` stops holding: never before its own start."""
    return changed_at if predecessor.valid_from is None else max(changed_at, predecessor.valid_from)


def succession(successor: Memory, predecessor: str) -> Link | None:
    return next((each for each in successor.links if each.to == predecessor and each.rel == SUPERSEDES), None)


def without_our_start(successor: Memory) -> Memory:
    """Without the `valid_from` that we set; while it replaces others, the next of those links carries the mark."""
    other = next((link for link in successor.links if link.rel == SUPERSEDES), None)
    if other is None:
        return replace(successor, valid_from=None)
    marked = replace(other, data={**other.data, START_SET: True})
    return replace(successor, links=tuple(marked if link is other else link for link in successor.links))


def without_succession(links: tuple[Link, ...], old: str) -> tuple[Link, ...]:
    return tuple(link for link in links if not (link.to == old and link.rel == SUPERSEDES))


def restored(lookup: Lookup, memory: Memory, now: float) -> list[Change]:
    """Out of the trash, or no longer replaced by its successor."""
    if memory.status == TRASHED:
        back = replace(memory, status=memory.trashed_from or "short_term", trashed_from="", updated_at=now)
        return [Change(memory, back)]
    if not memory.superseded_by:
        return []
    successor = lookup.get(memory.space, memory.superseded_by)
    former = with_times_given(memory)
    back, left = released(former, successor, now)
    if former is not memory:
        back = replace(back, valid_until=former.valid_until)
    changes = [Change(memory, back)]
    return changes if successor is None or left is None else [*changes, Change(successor, left)]


def never_held(memory: Memory, former: Memory, began: float) -> Memory:
    """Valid at no time; the times of `former` are kept for `restore`."""
    kept: dict[str, Json] = {"set": began, "valid_from": former.valid_from, "valid_until": former.valid_until}
    return replace(memory, valid_from=began, valid_until=began, metadata={**memory.metadata, TIMES_GIVEN: kept})


def with_times_given(memory: Memory) -> Memory:
    """Without the mark of `never_held`, and with the times from before; one that was changed since stays."""
    kept = memory.metadata.get(TIMES_GIVEN)
    if not isinstance(kept, dict):
        return memory
    rest = {key: value for key, value in memory.metadata.items() if key != TIMES_GIVEN}
    valid_from, valid_until = (
        (float(time) if isinstance(time, int | float) else None) if current == kept.get("set") else current
        for current, time in (
            (memory.valid_from, kept.get("valid_from")),
            (memory.valid_until, kept.get("valid_until")),
        )
    )
    return replace(memory, metadata=rest, valid_from=valid_from, valid_until=valid_until)


def without_passed_expiry(memory: Memory, now: float) -> Memory:
    """For what somebody brings back: an expiry that has passed would hide it, and let retention remove it again."""
    return replace(memory, expires_at=None) if has_expired(memory, now) else memory


def no_longer_expiring(before: Iterable[Memory], after: Iterable[Memory]) -> list[Memory]:
    """Of those that were brought back, as they were before, the ones whose expiry that removed."""
    lasting = {memory.id for memory in after if memory.expires_at is None}
    return [memory for memory in before if memory.expires_at is not None and memory.id in lasting]


def has_expired(memory: Memory, now: float) -> bool:
    return memory.expires_at is not None and memory.expires_at <= now


def chain_without(lookup: Lookup, removed: Memory, now: float) -> list[Change]:
    """Closes the chain around a memory that is removed for good: its successor replaces its predecessors, which ended
    when it began.

    Without a successor they stay replaced: what was once corrected must not be recalled again by itself.
    """
    successor = lookup.get(removed.space, removed.superseded_by) if removed.superseded_by else None
    links: tuple[Link, ...] = ()
    marked = False
    if successor is not None:
        links = without_succession(successor.links, removed.id)
        marked = any(removed.id == link.to and link.data.get(START_SET) for link in successor.links)
    changes = []
    for predecessor in lookup.replaced_by(removed.space, removed.id):
        ours = is_our_end(predecessor, removed)
        if successor is None:
            # `restore` recognizes by its equal time an end that we set.
            at = predecessor.valid_until if ours else predecessor.superseded_at
            back = replace(predecessor, superseded_by=PURGED, superseded_at=at)
        else:
            back = replace(predecessor, superseded_by=successor.id, updated_at=now)
            data: dict[str, Json] = {END_SET: predecessor.valid_until if ours else None}
            links = (*without_succession(links, predecessor.id), Link(predecessor.id, SUPERSEDES, data=data))
        changes.append(Change(predecessor, back))
    if successor is None or links == successor.links:
        return changes
    tail = replace(successor, links=links, updated_at=now)
    return [*changes, Change(successor, without_our_start(tail) if marked and changes else tail)]
