"""nacre supersede"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.lookup import find_memories
from nacre.cli.options import global_options
from nacre.cli.ui.columns import excerpt, short
from nacre.cli.ui.output import say


@click.command("supersede")
@click.argument("old")
@click.argument("new")
@click.option("--why", default="", metavar="TEXT", help="The reason, for the journal.")
@global_options
@click.pass_obj
def command(cli: CliContext, old: str, new: str, why: str) -> None:
    """Let the memory NEW take the place of OLD, which stays but is no longer recalled."""
    with cli.open() as store:
        (former,), (later,) = find_memories(store, [old]), find_memories(store, [new])
        store.supersede(former.id, later.id, why=why)
    say(f"{short(later.id)} ({excerpt(later)}) now stands for {short(former.id)} ({excerpt(former)}).")
