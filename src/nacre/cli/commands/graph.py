"""nacre graph, neighbors and path: follow the links between memories."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypedDict, Unpack

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound
from nacre.cli.lookup import resolve_id
from nacre.cli.options import F, combine, command, form_option, several_option, time_options
from nacre.cli.ui.columns import excerpt, headline, short
from nacre.cli.ui.output import DATA, Column, print_data, print_items, printable, put, say, writes_unicode
from nacre.cli.ui.prompts import count_of
from nacre.cli.ui.records import memory_record
from nacre.model import Edge, Graph, Memory, Neighbor

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore
    from nacre.model import Direction

MOST_LINKED = 20  # seeds of a drawing that names none: more than a screen holds
ARROWS = {"out": "→", "in": "←"}
depth_option = click.option(
    "-d", "--depth", type=click.IntRange(min=1), default=1, show_default=True, help="Links to walk at most."
)
hidden_option = click.option(
    "--hidden", "include_hidden", is_flag=True, help="Also through what is trashed, superseded or expired."
)


class WalkOptions(TypedDict):
    """How links are followed, with the names that the store has for it."""

    rel: tuple[str, ...] | None
    direction: Direction
    as_of: float | None
    valid_at: float | None


def walk_options(command: F) -> F:
    return combine(
        several_option("--rel", metavar="NAME", help="Along links of this relation; repeat for others."),
        click.option(
            "--direction", type=click.Choice(["both", "out", "in"]), default="both", show_default=True,
            help="Along links from a memory, to it, or both.",
        ),
        time_options,
    )(command)  # fmt: skip


@command("graph")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("-d", "--depth", type=click.IntRange(min=0), default=1, show_default=True, help="Links to walk at most.")
@walk_options
@form_option("ascii", "dot", "mermaid", "graphml", "html", "json")
def graph_command(
    cli: CliContext, ids: tuple[str, ...], depth: int, form: str | None, **walk: Unpack[WalkOptions]
) -> None:
    """Draw memories and the links between them; without an ID, the most linked ones of the space.

    \b
      nacre graph 3f2a --depth 2
      nacre graph -f dot | dot -Tsvg > memories.svg
      nacre graph -f html > memories.html

    An html page needs no network; graphml is for Gephi, yEd and others, mermaid for Markdown.
    """
    with cli.open() as store:
        seeds = [resolve_id(store, id) for id in ids] or most_linked(store, walk["as_of"], walk["valid_at"])
        result = store.subgraph(seeds, depth=depth, **walk)
    if form in DATA:
        print_data(graph_record(result), form)
    else:
        draw_graph(result, seeds, form)
    report_dangling(result.dangling)
    if not result.edges:
        say("There are no links here; `nacre link` makes one.")
    elif sys.stdout.isatty():
        say(f"{count_of(len(result.nodes))}, {count_of(len(result.edges), 'link', 'links')}.")


def draw_graph(graph: Graph, seeds: list[str], form: str | None) -> None:
    from nacre.transfer.graph_formats import dot, graphml, html, mermaid

    plain = not writes_unicode()
    if form == "graphml":  # what it says of its own encoding must be true
        put(graphml(graph).encode("ascii", "xmlcharrefreplace").decode() if plain else graphml(graph))
    elif form in ("dot", "mermaid", "html"):
        put({"dot": dot, "mermaid": mermaid, "html": html}[form](graph))
    else:
        put(printable("\n".join(tree(graph, seeds, plain=plain))))


def most_linked(store: MemoryStore, as_of: float | None, valid_at: float | None) -> list[str]:
    counts: Counter[str] = Counter()
    there = set()
    for memory in store.iterate(as_of=as_of, valid_at=valid_at):
        there.add(memory.id)
        counts[memory.id] += len(memory.links)
        counts.update(link.to for link in memory.links)
    return [id for id, count in counts.most_common() if count and id in there][:MOST_LINKED]


def graph_record(graph: Graph) -> dict[str, object]:
    return {
        "nodes": [memory_record(memory) for memory in graph.nodes.values()],
        "edges": [edge._asdict() for edge in graph.edges],
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
        from nacre.transfer.graph_formats import state

        self.printed.add(id)
        memory = self.graph.nodes[id]
        status = f" ({state(memory)})" if state(memory) else ""
        return f"{short(id)} {excerpt(memory)}{status}"


def tree(graph: Graph, seeds: Sequence[str], *, plain: bool = False) -> Iterator[str]:
    """The seeds are the roots; a memory without a link to them is a root too."""
    return LinkTree(graph, PLAIN_STROKES if plain else UNICODE_STROKES).lines([*seeds, *graph.nodes])


@command("neighbors")
@click.argument("id")
@depth_option
@hidden_option
@walk_options
@form_option()
def neighbors_command(
    cli: CliContext, id: str, depth: int, include_hidden: bool, form: str | None, **walk: Unpack[WalkOptions]
) -> None:
    """List the memories that links lead to from the one with this ID, nearest first."""
    with cli.open() as store:
        result = store.neighbors(resolve_id(store, id), depth=depth, include_hidden=include_hidden, **walk)
    columns: list[Column[Neighbor]] = [
        Column("id", lambda near: near.memory.id, lambda near: short(near.memory.id), style="cyan"),
        Column("depth", lambda near: str(near.depth), right=True),
        Column("direction", lambda near: near.direction, only="tsv"),
        Column("link", lambda near: near.rel, lambda near: f"{ARROWS[near.direction]} {near.rel}", style="magenta"),
        Column("weight", lambda near: f"{near.weight:g}", right=True),
        Column("type", lambda near: near.memory.type),
        Column("text", lambda near: near.memory.text, lambda near: headline(near.memory), wide=True),
    ]
    empty = "No links lead to another memory; `nacre link` makes one."
    print_items(list(result), columns, neighbor_record, form, empty)
    report_dangling(result.dangling)


def report_dangling(ids: tuple[str, ...]) -> None:
    if ids:
        say("Links also name what is not here: " + ", ".join(map(short, ids)) + ".")


def neighbor_record(near: Neighbor) -> dict[str, object]:
    walked = {"rel": near.rel, "direction": near.direction, "depth": near.depth, "weight": near.weight}
    return {**memory_record(near.memory), **walked}


@dataclass(frozen=True, slots=True)
class PathStep:
    """A memory on the way, and the link that led to it; the first has none."""

    memory: Memory
    edge: Edge | None

    @property
    def direction(self) -> str:
        return "" if self.edge is None else "out" if self.edge.target == self.memory.id else "in"

    @property
    def rel(self) -> str:
        return "" if self.edge is None else self.edge.rel


@command("path")
@click.argument("start")
@click.argument("end")
@hidden_option
@walk_options
@form_option()
def path_command(
    cli: CliContext, start: str, end: str, include_hidden: bool, form: str | None, **walk: Unpack[WalkOptions]
) -> None:
    """Find a shortest path along links from the memory START to END. Ends with code 1 where there is none."""
    with cli.open() as store:
        ends = resolve_id(store, start), resolve_id(store, end)
        result = store.path(*ends, include_hidden=include_hidden, **walk)
    edges = (None, *result.edges) if result else ()
    steps = [PathStep(memory, edge) for memory, edge in zip(result.memories if result else (), edges, strict=True)]
    columns: list[Column[PathStep]] = [
        Column("direction", lambda step: step.direction, only="tsv"),
        Column("link", lambda step: step.rel, step_link, style="magenta"),
        Column("id", lambda step: step.memory.id, lambda step: short(step.memory.id), style="cyan"),
        Column("text", lambda step: step.memory.text, lambda step: headline(step.memory), wide=True),
    ]
    print_items(steps, columns, step_record, form)
    if result is None:
        raise NotFound(f"no links lead from {short(ends[0])} to {short(ends[1])}.")


def step_link(step: PathStep) -> str:
    return {"": "", "out": f"{step.rel} →", "in": f"← {step.rel}"}[step.direction]


def step_record(step: PathStep) -> dict[str, object]:
    return {"memory": memory_record(step.memory), "tie": step.edge and step.edge._asdict()}
