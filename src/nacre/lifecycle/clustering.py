"""Groups similar vectors, and replaces the members of a group by one memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from nacre.conflicts.difference import WORD, number_words, opposite_words, other_amounts, other_sides
from nacre.engine.engine import Lookup
from nacre.engine.remember import is_note
from nacre.engine.supersede import all_superseded
from nacre.memory_store import MemoryStore
from nacre.model import Memory
from nacre.protocols import Change, Vectors
from nacre.text.tokens import STOP_WORDS

# A change of one makes a plan outdated.
PLANNED_FIELDS = ("text", "type", "status", "superseded_by", "agent", "session", "trust", "expires_at", "valid_until")


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


def readers(memory: Memory) -> tuple[Hashable, ...]:
    """What decides who sees a memory: whose it is, and what an agent's capabilities can leave out of its own."""
    kinds = (str(memory.metadata.get(name)) for name in ("experience_type", "kind"))
    return (memory.agent, memory.session, memory.type, *kinds) if memory.agent else ()


def grouped(
    store: MemoryStore,
    memories: Sequence[Memory],
    group: Callable[[Vectors, float], list[list[int]]],
    threshold: float,
    *,
    key: Callable[[Memory], Hashable],
    apart: Callable[[Memory, Memory], bool] | None = None,
) -> list[list[Memory]]:
    """The members of each group; memories without a vector are in none. All members of a group have
    the same `key`, and no two of them are `apart`."""
    vectors = store.vectors([memory.id for memory in memories])
    parts: dict[Hashable, list[Memory]] = {}
    for memory in memories:
        if memory.id in vectors:
            parts.setdefault(key(memory), []).append(memory)
    groups = []
    for placed in parts.values():
        matrix = np.stack([mean_direction(vectors[memory.id]) for memory in placed])
        for near in group(matrix, threshold):
            joined = [near] if apart is None else divided(near, placed, apart)
            groups += [[placed[row] for row in rows] for rows in joined]
    return groups


def divided(near: Sequence[int], placed: Sequence[Memory], apart: Callable[[Memory, Memory], bool]) -> list[list[int]]:
    """The rows of a group, so that no two memories are together that must be apart."""
    groups: list[list[int]] = []
    for row in near:
        open_to_it = (rows for rows in groups if not any(apart(placed[row], placed[other]) for other in rows))
        rows = next(open_to_it, None)
        if rows is None:
            groups.append([row])
        else:
            rows.append(row)
    return groups


def states_another(one: Memory, other: Memory) -> bool:
    """Whether two memories of nearly the same words state different things: one has a name or a number that the other
    lacks, they are about two sides (staging, production), or a comparison noted that they conflict."""
    pairs = ((one, other), (other, one))
    return (
        any(names_and_numbers(here) - words_of(there) for here, there in pairs)
        or any(link.to == there.id and is_note(link) for here, there in pairs for link in here.links)
        or any(differs(one.text, other.text) for differs in (other_sides, opposite_words, other_amounts))
    )


def notes_between(memories: Sequence[Memory]) -> set[tuple[str, str]]:
    """The pairs of these memories of which a comparison noted that they state different things."""
    ids = {memory.id for memory in memories}
    return {(one.id, link.to) for one in memories for link in one.links if link.to in ids and is_note(link)}


def names_and_numbers(memory: Memory) -> set[str]:
    """Folded. Any first word may have a capital: it is a name where it is known as one."""
    known = {word.casefold() for name in memory.entities for word in name.split()}
    words = {
        word.casefold()
        for place, word in enumerate(WORD.findall(memory.text))
        if any(map(str.isdigit, word)) or (any(map(str.isupper, word)) and (place or word.casefold() in known))
    }
    spelled = words_of(memory) & number_words().keys()
    return spelled | {word for word in words if len(word) == 1 or word not in STOP_WORDS}  # «service A» has a name


def words_of(memory: Memory) -> set[str]:
    return {word.casefold() for word in WORD.findall(memory.text)}


def mean_direction(vectors: Vectors) -> Vectors:
    mean = vectors.mean(axis=0)
    length = float(np.linalg.norm(mean))
    direction: Vectors = mean / length if length else mean
    return direction
