"""nacre prune-links"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.options import form_option, global_options, why_option, yes_option
from nacre.cli.ui.columns import excerpt, short
from nacre.cli.ui.output import Column, print_items, say
from nacre.cli.ui.prompts import confirm, count_of
from nacre.cli.ui.records import edge_record
from nacre.model import Edge

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore


@dataclass(frozen=True, slots=True)
class Planned:
    edge: Edge
    between: str


@click.command("prune-links")
@click.option("--below", type=float, default=0.3, show_default=True, metavar="WEIGHT", help="Ties lighter than this,")
@click.option(
    "--walks", type=click.IntRange(min=0), default=0, show_default=True, help="that led somewhere so often at most."
)
@click.option("--apply", "applied", is_flag=True, help="Take them away; without it they are only listed.")
@yes_option
@why_option
@form_option()
@global_options
@click.pass_obj
def command(cli: CliContext, below: float, walks: int, applied: bool, yes: bool, why: str, form: str | None) -> None:
    """List ties so weak that nobody would miss them, and with --apply take them away.

    Ties that mean something by themselves, such as supersedes, contradicts and derived_from, always stay.
    """
    with cli.open() as store:
        edges = store.weak_links(below=below, walks=walks)
        print_items(planned(store, edges), columns(), lambda each: edge_record(each.edge), form)
        if not edges:
            say("No tie is so weak.")
        elif not applied:
            say(f"{count_of(len(edges), 'tie', 'ties')} would go; --apply carries it out.")
        else:
            if not yes:
                confirm(f"Take away {count_of(len(edges), 'tie', 'ties')}? `nacre undo` can bring them back.")
            gone = store.prune_links(edges, why=why)
            say(f"Took away {count_of(gone, 'tie', 'ties')}; `nacre undo` brings them back.")


def planned(store: MemoryStore, edges: list[Edge]) -> list[Planned]:
    ids = dict.fromkeys(id for edge in edges for id in (edge.source, edge.target))
    texts = {id: excerpt(memory) if (memory := store.get(id)) else "(not here)" for id in ids}
    return [Planned(edge, f"{texts[edge.source]} → {texts[edge.target]}") for edge in edges]


def columns() -> list[Column[Planned]]:
    return [
        Column("source", lambda each: each.edge.source, lambda each: short(each.edge.source), style="cyan"),
        Column("tie", lambda each: each.edge.rel, lambda each: f"{each.edge.rel} →", style="magenta"),
        Column("target", lambda each: each.edge.target, lambda each: short(each.edge.target), style="cyan"),
        Column("weight", lambda each: f"{each.edge.weight:g}", lambda each: f"{each.edge.weight:g}", right=True),
        Column("walks", lambda each: str(each.edge.walks), lambda each: str(each.edge.walks), right=True),
        Column("between", None, lambda each: each.between, wide=True),
    ]
