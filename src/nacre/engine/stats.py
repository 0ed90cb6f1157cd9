"""Counts a space for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nacre.model import Filter
from nacre.model.instants import DAY, iso
from nacre.protocols import Backend

TOP_TAGS = 15
GROWTH_WEEKS = 26  # half a year: as many columns as a line of text has room for
WEEK = 7 * DAY
MONDAY = 4 * DAY  # the first one of the epoch, which began on a Thursday


@dataclass(frozen=True, slots=True)
class Stats:
    """`active` is what a recall can find; `by_type`, `top_tags` and `growth` count those. `growth` goes by the Monday
    (UTC) of the week in which they were created, for the last half year."""

    space: str
    total: int
    active: int
    superseded: int
    archived: int
    trashed: int
    by_type: Mapping[str, int]
    top_tags: Mapping[str, int]
    waiting_for_model: int
    embedder: str
    bytes_on_disk: int
    growth: Mapping[str, int] = field(default_factory=dict)


def gather_stats(store: Backend, space: str, now: float) -> Stats:
    live, health = Filter.live(now), store.health()
    tags = store.tally(space, "tags", live)
    return Stats(
        space=space,
        total=store.count(space, Filter()),
        active=store.count(space, live),
        superseded=store.count(space, Filter.where(superseded_by__ne="", status__ne="trashed")),
        archived=store.count(space, Filter.where(status="archived")),
        trashed=store.count(space, Filter.where(status="trashed")),
        by_type=store.tally(space, "type", live),
        top_tags=dict(list(tags.items())[:TOP_TAGS]),
        waiting_for_model=health.pending,
        embedder=health.embedder,
        bytes_on_disk=health.bytes_on_disk,
        growth=growth(store, space, live, now),
    )


def growth(store: Backend, space: str, live: Filter, now: float) -> dict[str, int]:
    """Every week from the first that has some, the empty ones too: a gap is part of the picture."""
    last = now - (now - MONDAY) % WEEK
    weeks = [last - back * WEEK for back in reversed(range(GROWTH_WEEKS))]
    counts = {
        iso(begin)[:10]: store.count(space, live & Filter.where(created_at__ge=begin, created_at__lt=begin + WEEK))
        for begin in weeks
    }
    first = next((at for at, count in enumerate(counts.values()) if count), len(counts))
    return dict(list(counts.items())[first:])
