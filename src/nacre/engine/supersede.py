"""One truth takes the place of another: chains of versions that show only their head."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from nacre.engine.changes import Change
from nacre.errors import SupersedeCycle
from nacre.model import Link, Memory
from nacre.protocols import Transaction

SUPERSEDES = "supersedes"
SET_BY_US = "valid_from"  # in the data of the link: the heir's own field was empty before


def tied(former: Memory, heir: Memory, now: float) -> tuple[Memory, Memory]:
    """Both after `heir` took the place of `former`. A time that the caller gave is kept as given."""
    changed_at = change_moment(former, heir, now)
    data = {SET_BY_US: True} if heir.valid_from is None else {}
    gone = replace(
        former,
        superseded_by=heir.id,
        superseded_at=now,
        valid_until=changed_at if former.valid_until is None else former.valid_until,
        updated_at=now,
    )
    links = (*without(heir.links, former.id), Link(former.id, SUPERSEDES, data=data))
    return gone, replace(heir, links=links, valid_from=changed_at, updated_at=now)


def change_moment(former: Memory, heir: Memory, now: float) -> float:
    """When the new truth began to hold: the caller's word, else when it was learned, if that was later than the old."""
    if heir.valid_from is not None:
        return heir.valid_from
    return heir.happened_at if former.happened_at < heir.happened_at <= now else now


def released(former: Memory, heir: Memory | None, now: float) -> tuple[Memory, Memory | None]:
    """Both as if the one had never taken the other's place."""
    ended_by_us = former.valid_until is not None and (
        former.valid_until == former.superseded_at or (heir is not None and former.valid_until == heir.valid_from)
    )
    valid_until = None if ended_by_us else former.valid_until
    back = replace(former, superseded_by="", superseded_at=None, valid_until=valid_until, updated_at=now)
    if heir is None:
        return back, None
    tie = next((link for link in heir.links if link.to == former.id and link.rel == SUPERSEDES), None)
    left = replace(heir, links=without(heir.links, former.id), updated_at=now)
    return back, unbegun(left) if tie is not None and tie.data.get(SET_BY_US) else left


def unbegun(heir: Memory) -> Memory:
    """Without the beginning that we set; while it stands for others, the next of those ties holds the mark."""
    other = next((link for link in heir.links if link.rel == SUPERSEDES), None)
    if other is None:
        return replace(heir, valid_from=None)
    marked = replace(other, data={**other.data, SET_BY_US: True})
    return replace(heir, links=tuple(marked if link is other else link for link in heir.links))


def without(links: tuple[Link, ...], old: str) -> tuple[Link, ...]:
    return tuple(link for link in links if not (link.to == old and link.rel == SUPERSEDES))


def untied(heir: Memory, old: str, now: float) -> Memory:
    links = without(heir.links, old)
    return heir if links == heir.links else replace(heir, links=links, updated_at=now)


def superseded(transaction: Transaction, former: Memory, heir: Memory, now: float) -> list[Change]:
    """Nothing to do when it is so already. Raises `SupersedeCycle`."""
    if former.superseded_by == heir.id:
        return []
    refuse_cycle(transaction, former, heir)
    stood = transaction.get(former.space, former.superseded_by) if former.superseded_by else None
    free, left = released(former, stood, now) if former.superseded_by else (former, None)
    gone, later = tied(free, heir, now)
    changes = [Change(former, gone), Change(heir, later)]
    return changes if stood is None or left is None else [*changes, Change(stood, left)]


def all_superseded(
    transaction: Transaction, formers: Iterable[Memory], heir: Memory, now: float
) -> tuple[Memory, list[Change]]:
    """The heir that stands for all of them, and what becomes of them; the heir's own change is the caller's."""
    changes = []
    for former in formers:
        for change in superseded(transaction, former, heir, now):
            if change.subject.id == heir.id:
                heir = change.subject
            else:
                changes.append(change)
    return heir, changes


def refuse_cycle(transaction: Transaction, former: Memory, heir: Memory) -> None:
    step: Memory | None = heir
    seen: set[str] = set()
    while step is not None and step.id not in seen:
        if step.id == former.id:
            raise SupersedeCycle(former.id, heir.id)
        seen.add(step.id)
        step = transaction.get(heir.space, step.superseded_by) if step.superseded_by else None


def restored(transaction: Transaction, memory: Memory, now: float) -> list[Change]:
    """Out of the trash, or out of the shadow of its heir."""
    if memory.status == "trashed":
        back = replace(memory, status=memory.trashed_from or "short_term", trashed_from="", updated_at=now)
        return [Change(memory, back)]
    if not memory.superseded_by:
        return []
    heir = transaction.get(memory.space, memory.superseded_by)
    back, left = released(memory, heir, now)
    return [Change(memory, back)] if heir is None or left is None else [Change(memory, back), Change(heir, left)]


def closed_up(transaction: Transaction, gone: Memory, now: float) -> list[Change]:
    """What becomes of the chain around a memory that leaves it for good: its forerunners go to its own heir."""
    heir = transaction.get(gone.space, gone.superseded_by) if gone.superseded_by else None
    tail = heir and untied(heir, gone.id, now)
    marked = heir is not None and any(gone.id == tie.to and tie.data.get(SET_BY_US) for tie in heir.links)
    changes = []
    for former in transaction.replaced_by(gone.space, gone.id):
        back, _ = released(former, gone, now)
        if tail is not None:
            back, tail = tied(back, tail, now)
        changes.append(Change(former, back))
    if tail is not None and marked and changes:
        tail = unbegun(tail)
    return changes if heir is None or tail is None or tail == heir else [*changes, Change(heir, tail)]
