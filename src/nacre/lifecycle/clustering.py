"""Groups similar vectors, and replaces the members of a group by one memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from nacre.engine.engine import Lookup
from nacre.engine.supersede import all_superseded
from nacre.memory_store import MemoryStore
from nacre.model import Memory
from nacre.protocols import Change, Vectors

DERIVED_FROM = "derived_from"
PLANNED_FIELDS = ("text", "type", "status", "superseded_by")  # a change of one makes a plan outdated


def all_unchanged(planned: Sequence[Memory], lookup: Lookup) -> list[Memory] | None:
    """The memories as they are now; None when one of them was removed or changed."""
    current = []
    for then in planned:
        memory = lookup.get(then.space, then.id)
        if memory is None or any(getattr(memory, name) != getattr(then, name) for name in PLANNED_FIELDS):
            return None
        current.append(memory)
    return current


def replace_members(
    lookup: Lookup, members: Sequence[Memory], successor: Memory, now: float, *, hard: bool
) -> tuple[Memory, list[Change]]:
    """The updated successor and the changes of the members; the caller adds the change of the successor itself.

    Pinned members stay. `hard` removes the others; the successor then supersedes their predecessors too.
    """
    leaving = [memory for memory in members if not memory.pinned]
    if not hard:
        return all_superseded(lookup, leaving, successor, now)
    gone = {memory.id for memory in leaving}
    predecessors = [each for memory in leaving for each in lookup.replaced_by(memory.space, memory.id)]
    successor, changes = all_superseded(lookup, [each for each in predecessors if each.id not in gone], successor, now)
    remaining = [change for change in changes if change.subject.id not in gone]
    return successor, [*remaining, *(Change(memory, None) for memory in leaving)]


BLOCK = 512  # rows that are compared with all others at once: 40 MB of cosines for 20,000 memories


def by_seed(vectors: Vectors, threshold: float) -> list[list[int]]:
    """The rows of each group, rising.

    Greedy: each free row, in order, is a seed and takes every free row that is at least so similar.
    """
    free = np.ones(len(vectors), np.bool_)
    groups = []
    for start in range(0, len(vectors), BLOCK):
        block = start + np.flatnonzero(free[start : start + BLOCK])
        cosines = vectors[block] @ vectors.T
        for place, seed in enumerate(block.tolist()):
            if free[seed]:
                near = free & (cosines[place] >= threshold)
                near[seed] = True  # it is near itself, whatever rounding says
                members = np.flatnonzero(near)
                free[members] = False
                groups.append(members.tolist())
    return groups


def by_centroid(vectors: Vectors, threshold: float) -> list[list[int]]:
    """The rows of each group, rising.

    Greedy: the first free row is a seed; later free rows join if they are so similar to the running mean.
    """
    free = np.ones(len(vectors), np.bool_)
    groups = []
    for seed in range(len(vectors)):
        if not free[seed]:
            continue
        free[seed] = False
        members, total = [seed], vectors[seed].astype(np.float64)
        # Each new member moves the mean that later rows are compared with.
        while (joining := next_member(vectors, free, members[-1], total, threshold)) is not None:
            free[joining] = False
            members.append(joining)
            total += vectors[joining]
        groups.append(members)
    return groups


def next_member(
    vectors: Vectors, free: NDArray[np.bool_], last: int, total: NDArray[np.float64], threshold: float
) -> int | None:
    rest = np.flatnonzero(free[last + 1 :]) + last + 1
    if not len(rest):
        return None
    centre = (total / max(float(np.linalg.norm(total)), 1e-12)).astype(np.float32)
    near = rest[vectors[rest] @ centre >= threshold]
    return int(near[0]) if len(near) else None


def grouped(
    store: MemoryStore, memories: Sequence[Memory], group: Callable[[Vectors, float], list[list[int]]], threshold: float
) -> list[tuple[list[Memory], Vectors]]:
    """The members and the centroid of each group; memories without a vector are in none."""
    vectors = store.vectors([memory.id for memory in memories])
    placed = [memory for memory in memories if memory.id in vectors]
    if not placed:
        return []
    matrix = np.stack([mean_direction(vectors[memory.id]) for memory in placed])
    return [([placed[row] for row in rows], mean_direction(matrix[rows])) for rows in group(matrix, threshold)]


def mean_direction(vectors: Vectors) -> Vectors:
    mean = vectors.mean(axis=0)
    length = float(np.linalg.norm(mean))
    direction: Vectors = mean / length if length else mean
    return direction


def cosine_similarity(one: Vectors, other: Vectors) -> float:
    """0 when either has no length."""
    lengths = float(np.linalg.norm(one)) * float(np.linalg.norm(other))
    return float(one @ other) / lengths if lengths else 0.0
