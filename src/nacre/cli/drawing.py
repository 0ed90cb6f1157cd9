"""Draws memories and their ties as trees of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from nacre.cli.columns import excerpt, short
from nacre.model import Edge, Graph, Memory
from nacre.transfer.graph_formats import state


class Strokes(NamedTuple):
    branch: str
    last: str
    through: str
    out: str
    back: str


FINE = Strokes("├─ ", "└─ ", "│  ", "→", "←")
PLAIN = Strokes("|- ", "`- ", "|  ", "->", "<-")  # for a terminal that has no others
NOTHING_THERE = "   "


@dataclass(slots=True)
class Forest:
    """Every tie is drawn once, every memory in full once; where it comes up again its id suffices."""

    graph: Graph
    strokes: Strokes
    drawn: set[Edge] = field(default_factory=set)
    shown: set[str] = field(default_factory=set)
    ties: dict[str, list[Edge]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for edge in sorted(self.graph.edges, key=lambda edge: -edge.weight):
            self.ties.setdefault(edge.source, []).append(edge)
            self.ties.setdefault(edge.target, []).append(edge)

    def lines(self, roots: Sequence[str]) -> Iterator[str]:
        for root in roots:
            if root not in self.shown:
                yield self.label(root)
                yield from self.grown(root)

    def grown(self, root: str) -> Iterator[str]:
        """Branch by branch and without recursion: a chain of ties may be longer than a call stack is deep."""
        waiting = self.branches(root, "")
        while waiting:
            edge, here, margin, last = waiting.pop()
            there = edge.target if edge.source == here else edge.source
            arrow = self.strokes.out if edge.source == here else self.strokes.back
            again = there in self.shown
            stroke = self.strokes.last if last else self.strokes.branch
            yield f"{margin}{stroke}{edge.rel} {arrow} {short(there) + ' (above)' if again else self.label(there)}"
            if not again:
                waiting += self.branches(there, margin + (NOTHING_THERE if last else self.strokes.through))

    def branches(self, here: str, margin: str) -> list[tuple[Edge, str, str, bool]]:
        """The last one first, as a stack gives them back. A tie belongs to the memory that comes to it first."""
        fresh = [edge for edge in self.ties.get(here, []) if edge not in self.drawn]
        self.drawn.update(fresh)
        return [(edge, here, margin, at == len(fresh) - 1) for at, edge in enumerate(fresh)][::-1]

    def label(self, id: str) -> str:
        self.shown.add(id)
        return f"{short(id)} {told(self.graph.nodes[id])}"


def tree(graph: Graph, seeds: Sequence[str], *, plain: bool = False) -> Iterator[str]:
    """The seeds are the roots; what no tie joins to them stands by itself."""
    forest = Forest(graph, PLAIN if plain else FINE)
    yield from forest.lines([*seeds, *graph.nodes])


def told(memory: Memory) -> str:
    return f"{excerpt(memory)} ({stands})" if (stands := state(memory)) else excerpt(memory)
