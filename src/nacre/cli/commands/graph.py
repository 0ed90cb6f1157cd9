"""nacre graph"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.commands.neighbors import tell_dangling
from nacre.cli.lookup import resolve_id
from nacre.cli.options import as_of_option, form_option, global_options, traversal_options, valid_at_option
from nacre.cli.ui.columns import excerpt, short
from nacre.cli.ui.output import DATA, print_data, printable, put, say
from nacre.cli.ui.prompts import count_of
from nacre.cli.ui.records import edge_record, memory_record
from nacre.model import Edge, Graph, Memory

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore
    from nacre.model import Direction

MOST_TIED = 20  # seeds of a drawing that names none: more than a screen holds


@click.command("graph")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@traversal_options
@click.option("-d", "--depth", type=click.IntRange(min=0), default=1, show_default=True, help="Ties to walk at most.")
@as_of_option
@valid_at_option
@form_option("ascii", "dot", "mermaid", "graphml", "html", "json")
@global_options
@click.pass_obj
def command(
    cli: CliContext,
    ids: tuple[str, ...],
    rels: tuple[str, ...],
    direction: Direction,
    depth: int,
    as_of: float | None,
    valid_at: float | None,
    form: str | None,
) -> None:
    """Draw memories and the ties between them; without an ID, the most tied ones of the space.

    \b
      nacre graph 3f2a --depth 2
      nacre graph -f dot | dot -Tsvg > memories.svg
      nacre graph -f html > memories.html

    An html page needs no network; graphml is for Gephi, yEd and others, mermaid for Markdown.
    """
    with cli.open() as store:
        seeds = [resolve_id(store, id) for id in ids] or most_tied(store, as_of, valid_at)
        found = store.subgraph(
            seeds, depth=depth, rel=rels or None, direction=direction, as_of=as_of, valid_at=valid_at
        )
    if form in DATA:
        print_data(record(found), form)
    else:
        draw(found, seeds, form)
    tell_dangling(found.dangling)
    if not found.edges:
        say("There are no ties here; `nacre link` makes one.")
    elif sys.stdout.isatty():
        say(f"{count_of(len(found.nodes))}, {count_of(len(found.edges), 'tie', 'ties')}.")


def draw(graph: Graph, seeds: list[str], form: str | None) -> None:
    from nacre.transfer.graph_formats import dot, graphml, html, mermaid

    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    if form == "graphml":  # what it says of its own encoding must be true
        put(graphml(graph).encode("ascii", "xmlcharrefreplace").decode() if plain else graphml(graph))
    elif form in ("dot", "mermaid", "html"):
        put({"dot": dot, "mermaid": mermaid, "html": html}[form](graph))
    else:
        put(printable("\n".join(tree(graph, seeds, plain=plain))))


def most_tied(store: MemoryStore, as_of: float | None, valid_at: float | None) -> list[str]:
    ties: Counter[str] = Counter()
    there = set()
    for memory in store.iterate(as_of=as_of, valid_at=valid_at):
        there.add(memory.id)
        ties[memory.id] += len(memory.links)
        ties.update(link.to for link in memory.links)
    return [id for id, count in ties.most_common() if count and id in there][:MOST_TIED]


def record(graph: Graph) -> dict[str, object]:
    return {
        "nodes": [memory_record(memory) for memory in graph.nodes.values()],
        "edges": [edge_record(edge) for edge in graph.edges],
        "dangling": list(graph.dangling),
    }


class Strokes(NamedTuple):
    branch: str
    last: str
    through: str
    out: str
    back: str


UNICODE_STROKES = Strokes("├─ ", "└─ ", "│  ", "→", "←")
PLAIN_STROKES = Strokes("|- ", "`- ", "|  ", "->", "<-")  # without Unicode
NO_STROKE = "   "


@dataclass(slots=True)
class LinkTree:
    """Every link is drawn once, every memory in full once; after that only its id."""

    graph: Graph
    strokes: Strokes
    drawn: set[Edge] = field(default_factory=set)
    printed: set[str] = field(default_factory=set)
    links: dict[str, list[Edge]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for edge in sorted(self.graph.edges, key=lambda edge: -edge.weight):
            self.links.setdefault(edge.source, []).append(edge)
            self.links.setdefault(edge.target, []).append(edge)

    def lines(self, roots: Sequence[str]) -> Iterator[str]:
        for root in roots:
            if root not in self.printed:
                yield self.label(root)
                yield from self.subtree(root)

    def subtree(self, root: str) -> Iterator[str]:
        """Without recursion: a chain of links may be longer than the call stack is deep."""
        waiting = self.branches(root, "")
        while waiting:
            edge, here, margin, last = waiting.pop()
            there = edge.target if edge.source == here else edge.source
            arrow = self.strokes.out if edge.source == here else self.strokes.back
            again = there in self.printed
            stroke = self.strokes.last if last else self.strokes.branch
            yield f"{margin}{stroke}{edge.rel} {arrow} {short(there) + ' (above)' if again else self.label(there)}"
            if not again:
                waiting += self.branches(there, margin + (NO_STROKE if last else self.strokes.through))

    def branches(self, here: str, margin: str) -> list[tuple[Edge, str, str, bool]]:
        """The last one first, for a stack. A link belongs to the memory that reaches it first."""
        fresh = [edge for edge in self.links.get(here, []) if edge not in self.drawn]
        self.drawn.update(fresh)
        return [(edge, here, margin, at == len(fresh) - 1) for at, edge in enumerate(fresh)][::-1]

    def label(self, id: str) -> str:
        self.printed.add(id)
        return f"{short(id)} {node_text(self.graph.nodes[id])}"


def tree(graph: Graph, seeds: Sequence[str], *, plain: bool = False) -> Iterator[str]:
    """The seeds are the roots; a memory without a link to them is a root too."""
    drawing = LinkTree(graph, PLAIN_STROKES if plain else UNICODE_STROKES)
    yield from drawing.lines([*seeds, *graph.nodes])


def node_text(memory: Memory) -> str:
    from nacre.transfer.graph_formats import state

    return f"{excerpt(memory)} ({status})" if (status := state(memory)) else excerpt(memory)
