"""Walks the links between memories: neighbours, subgraphs and shortest paths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from nacre.errors import MemoryNotFound, UnknownName
from nacre.model import Direction, Edge, Filter, Graph, Memory, Neighbor, Neighborhood, Path
from nacre.model.graph import DIRECTIONS
from nacre.protocols import Reader

FARTHEST = 32  # links that a path search follows from either end


class Step(NamedTuple):
    """A link as it was followed: from where, to where, in which direction."""

    edge: Edge
    here: str
    there: str
    direction: Literal["out", "in"]


@dataclass(slots=True)
class Walk:
    """Goes out from some memories hop by hop and visits each memory once."""

    store: Reader
    space: str
    direction: Direction = "both"
    rels: Sequence[str] | None = None
    where: Filter = field(default_factory=Filter)
    visited: dict[str, Memory] = field(default_factory=dict)
    dangling: dict[str, None] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        UnknownName.check("direction", self.direction, DIRECTIONS)

    def reversed(self) -> Walk:
        """The same walk against the direction of the links."""
        other: dict[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}
        return replace(self, direction=other[self.direction])

    def begin(self, ids: Sequence[str]) -> list[str]:
        memories = {memory.id: memory for memory in self.store.get_many(self.space, ids)}
        for id in ids:
            if id not in memories:
                raise MemoryNotFound(id, self.space)
        self.visited |= memories
        return list(memories)

    def hop(self, frontier: Sequence[str]) -> list[tuple[Step, Memory]]:
        """Memories that the links of the frontier lead to for the first time, stronger links first."""
        fresh: dict[str, Step] = {}
        for step in self.steps(frontier):
            if step.there not in self.visited and step.there not in self.hidden:
                fresh.setdefault(step.there, step)
        reached = {memory.id: memory for memory in self.store.get_many(self.space, list(fresh))}
        self.dangling |= dict.fromkeys(id for id in fresh if id not in reached)
        seen = {id: memory for id, memory in reached.items() if self.where.admits(memory)}
        self.hidden |= fresh.keys() - seen.keys()
        self.visited |= seen
        return [(fresh[id], seen[id]) for id in fresh if id in seen]

    def steps(self, frontier: Sequence[str]) -> list[Step]:
        steps: list[Step] = []
        if self.direction != "in":
            outward = self.store.edges(self.space, out_of=frontier, rels=self.rels)
            steps += (Step(edge, edge.source, edge.target, "out") for edge in outward)
        if self.direction != "out":
            inward = self.store.edges(self.space, into=frontier, rels=self.rels)
            steps += (Step(edge, edge.target, edge.source, "in") for edge in inward)
        return sorted(steps, key=lambda step: -step.edge.weight)


def neighbors(walk: Walk, id: str, depth: int) -> tuple[Neighborhood, list[Edge]]:
    """Nearest first; the second value is the list of links that were followed."""
    frontier, reached_memories, followed = walk.begin([id]), [], []
    for hop in range(1, depth + 1):
        reached = walk.hop(frontier)
        if not reached:
            break
        reached_memories += [Neighbor(m, step.edge.rel, step.direction, hop, step.edge.weight) for step, m in reached]
        followed += [step.edge for step, _ in reached]
        frontier = [memory.id for _, memory in reached]
    return Neighborhood(tuple(reached_memories), tuple(walk.dangling)), followed


def subgraph(walk: Walk, ids: Sequence[str], depth: int) -> Graph:
    """The seeds, all memories within `depth` links of them, and every link between two of these."""
    frontier = walk.begin(ids)
    for _ in range(depth):
        frontier = [memory.id for _, memory in walk.hop(frontier)]
        if not frontier:
            break
    between = walk.store.edges(walk.space, out_of=list(walk.visited), rels=walk.rels)
    edges = tuple(edge for edge in between if edge.target in walk.visited)
    return Graph(dict(walk.visited), edges, tuple(walk.dangling))


def path(walk: Walk, start: str, end: str) -> Path | None:
    """A shortest path from one memory to the other; None when no links lead there."""
    walk.begin([start, end])
    if start == end:
        return Path((walk.visited[start],), ())
    ahead, back = PathSearch(walk, start), PathSearch(walk.reversed(), end)
    for _ in range(FARTHEST):
        # The smaller frontier advances: two half searches visit far fewer memories than one full search.
        going, other = (ahead, back) if len(ahead.frontier) <= len(back.frontier) else (back, ahead)
        if not going.frontier:
            return None
        going.advance()
        meeting = next((id for id in going.frontier if id in other.came), None)
        if meeting is not None:
            return join_paths(walk, ahead.trace(meeting), back.trace(meeting))
    return None


@dataclass(slots=True)
class PathSearch:
    """One of the two half searches for a path; `came` holds the step that led to each memory."""

    walk: Walk
    start: str
    frontier: list[str] = field(default_factory=list)
    came: dict[str, Step | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.frontier, self.came = [self.start], {self.start: None}

    def advance(self) -> None:
        fresh: dict[str, Step] = {}
        for step in self.walk.steps(self.frontier):
            if step.there not in self.came:
                fresh.setdefault(step.there, step)
        # Memories are read only to apply the filter; a hidden memory ends the walk.
        seen = {m.id for m in self.walk.store.get_many(self.walk.space, list(fresh)) if self.walk.where.admits(m)}
        self.came |= {id: step for id, step in fresh.items() if id in seen}
        self.frontier = [id for id in fresh if id in seen]

    def trace(self, id: str) -> list[Step]:
        """The steps from `id` back to the start."""
        steps = []
        while (step := self.came[id]) is not None:
            steps.append(step)
            id = step.here
        return steps


def join_paths(walk: Walk, ahead: Sequence[Step], back: Sequence[Step]) -> Path:
    steps = [*reversed(ahead), *back]
    first = ahead[-1].here if ahead else back[0].there
    ids = [first, *(step.there for step in reversed(ahead)), *(step.here for step in back)]
    memories = {memory.id: memory for memory in walk.store.get_many(walk.space, ids)}
    return Path(tuple(memories[id] for id in ids), tuple(step.edge for step in steps))


def relation_list(relations: str | Iterable[str] | None) -> list[str] | None:
    return None if relations is None else [relations] if isinstance(relations, str) else list(relations)
