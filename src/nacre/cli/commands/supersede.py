"""nacre supersede"""

from __future__ import annotations

import click

from nacre.cli.columns import excerpt, short
from nacre.cli.door import Door
from nacre.cli.naming import named
from nacre.cli.options import door_options
from nacre.cli.output import say


@click.command("supersede")
@click.argument("old")
@click.argument("new")
@click.option("--why", default="", metavar="TEXT", help="The reason, for the journal.")
@door_options
@click.pass_obj
def command(door: Door, old: str, new: str, why: str) -> None:
    """Let the memory NEW take the place of OLD, which stays but is no longer recalled."""
    with door.open() as store:
        (former,), (later,) = named(store, [old]), named(store, [new])
        store.supersede(former.id, later.id, why=why)
    say(f"{short(later.id)} ({excerpt(later)}) now stands for {short(former.id)} ({excerpt(former)}).")
