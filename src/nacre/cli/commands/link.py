"""nacre link"""

from __future__ import annotations

import sys

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.lookup import find_memories, resolve_target
from nacre.cli.options import form_option, global_options, why_option
from nacre.cli.ui.columns import excerpt, short
from nacre.cli.ui.output import DATA, print_data, print_rows, printable, put, say
from nacre.model import Linked, Memory


@click.command("link")
@click.argument("source")
@click.argument("target")
@click.option("-r", "--rel", default="related", show_default=True, metavar="NAME", help="How the two hang together.")
@click.option("-w", "--weight", type=float, default=1.0, metavar="NUMBER", help="How strong the tie is; 1 is plain.")
@why_option
@form_option("text", "tsv", "json")
@global_options
@click.pass_obj
def command(cli: CliContext, source: str, target: str, rel: str, weight: float, why: str, form: str | None) -> None:
    """Tie the memory SOURCE to TARGET, and print the tie.

    TARGET need not be there yet, unless the setting `strict_links` asks for it. `nacre relations` lists the
    relations; a new word is learned, and waits in `nacre review` to be confirmed.
    """
    with cli.open() as store:
        (memory,) = find_memories(store, [source])
        end = resolve_target(store, memory, target)
        linked = store.link(memory.id, end, rel, weight=weight, why=why)
        other = store.get(end)
    show(memory, linked, other, form or ("text" if sys.stdout.isatty() else "tsv"))
    notes(linked, other)


def show(memory: Memory, linked: Linked, other: Memory | None, form: str) -> None:
    tie = linked.link
    if form in DATA:
        told = {"source": memory.id, "target": tie.to, "rel": tie.rel, "weight": tie.weight, "new": linked.new}
        print_data(told, form)
    elif form == "tsv":
        print_rows([[memory.id, tie.rel, tie.to, f"{tie.weight:g}"]])
    else:
        there = f"{short(tie.to)} ({excerpt(other)})" if other else short(tie.to)
        put(printable(f"{short(memory.id)} ({excerpt(memory)}) {tie.rel} → {there}"))


def notes(linked: Linked, other: Memory | None) -> None:
    if other is None:
        say(f"No memory {linked.link.to!r} is here yet; the tie waits for it.")
    if not linked.new:
        say("The two were tied so already.")
    for note in linked.notes:
        say(note)
