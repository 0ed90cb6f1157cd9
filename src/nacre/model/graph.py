"""Memories and the ties between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from nacre.model.memory import Link, Memory

Direction: TypeAlias = Literal["both", "out", "in"]
DIRECTIONS: tuple[Direction, ...] = ("both", "out", "in")

# The relations that every store knows; any other word may be used, and waits in the review queue to be confirmed.
RELATIONS: Mapping[str, str] = {
    "related": "has to do with it, in no particular way",
    "supersedes": "takes its place; set by `supersede`",
    "refines": "says the same more exactly",
    "derived_from": "was made from it: a summary, a conclusion",
    "example_of": "is a case of it",
    "contradicts": "says the opposite, and both were kept on purpose",
    "conflicts": "may not be true beside it; waits in the review queue",
    "distinct_from": "was compared with it, and both stand",
    "similar_to": "resembles it",
    "transitioned_to": "is the value that it had before this one",
    "consolidates": "is the summary that stands for it",
    "attended_to": "is the observation that it began as",
    "procedure_derives_from": "is the way of doing that it taught",
    "causes": "brings it about",
    "depends_on": "needs it",
    "part_of": "belongs to it",
    "mentions": "names it",
}


class Edge(NamedTuple):
    """A tie as the store's link index has it; `walks` counts how often it led somewhere."""

    source: str
    target: str
    rel: str
    weight: float = 1.0
    walks: int = 0
    kind: str = ""  # of the link's own data


@dataclass(frozen=True, slots=True)
class Linked:
    """What came of linking; `new` is False when the tie was there already."""

    link: Link
    new: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbor:
    """`rel` and `direction` are those of the link that led here, `depth` is the number of links walked."""

    memory: Memory
    rel: str
    direction: Literal["out", "in"]
    depth: int
    weight: float


@dataclass(frozen=True, slots=True)
class Neighborhood(Sequence[Neighbor]):
    """Each memory once, nearest first. `dangling` are linked ids that no memory has."""

    neighbors: tuple[Neighbor, ...] = ()
    dangling: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.neighbors)

    def __getitem__(self, at):  # type: ignore[no-untyped-def]
        return self.neighbors[at]


@dataclass(frozen=True, slots=True)
class Graph:
    """`edges` run between `nodes` alone; `dangling` are linked ids that no memory has."""

    nodes: Mapping[str, Memory]
    edges: tuple[Edge, ...] = ()
    dangling: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Path:
    """The memories from one end to the other, and the link between each two; `edges` keep their own direction."""

    memories: tuple[Memory, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Entity:
    """`name` is its usual name, `aliases` its other names and spellings, `count` how many live memories name it."""

    name: str
    aliases: tuple[str, ...] = ()
    count: int = 0


@dataclass(frozen=True, slots=True)
class EntityPair:
    """Two entities that may be one; `a` is the fuller name, `reason` why somebody should look."""

    a: str
    b: str
    reason: str
