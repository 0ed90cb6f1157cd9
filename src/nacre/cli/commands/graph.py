"""nacre graph"""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from nacre.cli.asking import counted
from nacre.cli.commands.neighbors import tell_dangling
from nacre.cli.door import Door
from nacre.cli.naming import id_named
from nacre.cli.options import as_of_option, door_options, form_option, valid_at_option, walking
from nacre.cli.output import DATA, print_data, put, say
from nacre.cli.printable import printable
from nacre.cli.records import edge_record, memory_record
from nacre.model import Graph

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore
    from nacre.model import Direction

MOST_TIED = 20  # seeds of a drawing that names none: more than a screen holds


@click.command("graph")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@walking
@click.option("-d", "--depth", type=click.IntRange(min=0), default=1, show_default=True, help="Ties to walk at most.")
@as_of_option
@valid_at_option
@form_option("ascii", "dot", "mermaid", "graphml", "html", "json")
@door_options
@click.pass_obj
def command(
    door: Door,
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
    with door.open() as store:
        seeds = [id_named(store, id) for id in ids] or most_tied(store, as_of, valid_at)
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
        say(f"{counted(len(found.nodes))}, {counted(len(found.edges), 'tie', 'ties')}.")


def draw(graph: Graph, seeds: list[str], form: str | None) -> None:
    from nacre.cli.drawing import tree
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
