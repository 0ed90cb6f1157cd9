"""Follows links outward from the hits."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.model import ExpandSpec, Filter, Hit, Memory, Reason
from nacre.ports import Store


def expand(hits: Sequence[Hit], spec: ExpandSpec | None, where: Filter, *, space: str, store: Store) -> list[Hit]:
    """Appends what the links lead to, hop by hop, up to the cap; what the filter hides neither shows nor leads on."""
    if spec is None:
        return list(hits)
    found = list(hits)
    seen = {hit.memory.id for hit in hits}
    frontier: list[Memory] = [hit.memory for hit in hits]
    for hop in range(1, spec.depth + 1):
        ties = [link for memory in frontier for link in memory.links if link.rel in spec.rels]
        if not ties:
            break
        rels = {link.to: link.rel for link in reversed(ties)}
        reached = store.get(space, [link.to for link in ties])
        frontier = [memory for memory in reached if memory.id not in seen and where.admits(memory)]
        seen |= {memory.id for memory in frontier}
        found += [
            Hit(memory, spec.score, (Reason("link", spec.score, f"{rels[memory.id]}, {hop} away"),))
            for memory in frontier
        ]
    return found[: len(hits) + max(0, spec.cap)]
