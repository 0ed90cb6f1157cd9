"""Memories and the ties between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from nacre.files import data_sections
from nacre.model.memory import Link, Memory

Direction: TypeAlias = Literal["both", "out", "in"]
DIRECTIONS: tuple[Direction, ...] = ("both", "out", "in")

# The relations that every store knows; any other word may be used, and waits in the review queue to be confirmed.
RELATIONS = dict(line.split(": ", 1) for _, lines in data_sections("model/relations.txt") for line in lines)


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
