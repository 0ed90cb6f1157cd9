"""The links of a whole space with the memories at their ends, short enough to be drawn at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

from nacre.model import Filter, Memory

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore
    from nacre.protocols import Listed

LONGEST_TEXT = 500  # characters of a memory: enough for its label and for most searches in the drawing
MOST_NODES = 10_000
MOST_NAMED = 0.3  # share of a space: reading more of it by their ids takes longer than reading all of it
FIELDS: tuple[Listed, ...] = ("id", "title", "text", "type")
SOURCE, TARGET, REL = map(itemgetter, range(3))  # of an edge; a graph has very many


@dataclass(frozen=True, slots=True)
class Drawing:
    """By columns: `sources`, `targets` and `rels` are places in `ids` and in `relations`. Of a text only the first
    500 characters are there. `cut` says that the space has more linked memories than these."""

    ids: Sequence[str]
    titles: Sequence[str]
    texts: Sequence[str]
    types: Sequence[str]
    relations: Sequence[str]
    sources: Sequence[int]
    targets: Sequence[int]
    rels: Sequence[int]
    cut: bool


def drawing_of(store: MemoryStore, limit: int) -> Drawing:
    """Of live memories only; where there are more than `limit`, those with the most links."""
    reader, live = store.backend, Filter.live(store.now())
    edges = reader.edges(store.space)
    degrees = Counter(chain(map(SOURCE, edges), map(TARGET, edges)))
    if len(degrees) < reader.count(store.space, live) * MOST_NAMED:
        live &= Filter.where(id__in=tuple(degrees))
    rows = [row for row in reader.values(store.space, live, FIELDS) if row[0] in degrees] if degrees else []
    rows.sort(key=lambda row: -degrees[row[0]])
    places = {row[0]: place for place, row in enumerate(rows[:limit])}
    drawn = [edge for edge in edges if edge[0] in places and edge[1] in places]
    relations = {rel: place for place, rel in enumerate(dict.fromkeys(map(REL, drawn)))}
    clean = [store.clean(Memory(id, text, title=title, type=type)) for id, title, text, type in rows[:limit]]
    return Drawing(
        [each.id for each in clean], [each.title for each in clean], [each.text[:LONGEST_TEXT] for each in clean],
        [each.type for each in clean], list(relations),
        list(map(places.__getitem__, map(SOURCE, drawn))), list(map(places.__getitem__, map(TARGET, drawn))),
        list(map(relations.__getitem__, map(REL, drawn))), len(rows) > limit,
    )  # fmt: skip
