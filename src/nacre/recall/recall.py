"""The pipeline from a question to its memories."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.model import Hit, Query, Recollection
from nacre.ports import Embedder, Store
from nacre.recall.fuse import Fused, fuse
from nacre.recall.gather import gather
from nacre.recall.understand import understand


def recall(query: Query, *, space: str, store: Store, embedder: Embedder) -> Recollection:
    """Nothing is touched here: whether a hit counts as a use is the caller's to say."""
    asked = understand(query)
    if not asked.text or asked.k <= 0:
        return Recollection()
    gathered = gather(asked, space=space, store=store, embedder=embedder)
    fused = fuse(gathered.channels, asked.strategy)
    return Recollection(tuple(hits(fused, asked.k, space=space, store=store)), gathered.notes)


def hits(fused: Sequence[Fused], k: int, *, space: str, store: Store) -> list[Hit]:
    """Equal scores are broken by importance, then by age, newest first."""
    # A tie may straddle the cut: fetch a few more than asked, so that the tie is broken and not cut.
    found = {memory.id: memory for memory in store.get(space, [each.id for each in fused[: 2 * k + 10]])}
    ranked = [Hit(found[each.id], each.score, each.why) for each in fused if each.id in found]
    ranked.sort(key=lambda hit: (-hit.score, -hit.memory.importance, -hit.memory.created_at))
    return ranked[:k]
