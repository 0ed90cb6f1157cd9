"""Counts a space for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nacre.model import Filter
from nacre.ports import Store

TOP_TAGS = 15


@dataclass(frozen=True, slots=True)
class Stats:
    """`active` is what a recall can find; `by_type` and `top_tags` count those."""

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


def gather_stats(store: Store, space: str, now: float) -> Stats:
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
    )
