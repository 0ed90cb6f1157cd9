"""nacre forget"""

from __future__ import annotations

import click

from nacre.cli.asking import confirm, counted
from nacre.cli.door import Door
from nacre.cli.naming import named
from nacre.cli.options import door_options, yes_option
from nacre.cli.output import say


@click.command("forget")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@yes_option
@click.option("--why", default="", metavar="TEXT", help="The reason, for the journal.")
@door_options
@click.pass_obj
def command(door: Door, ids: tuple[str, ...], yes: bool, why: str) -> None:
    """Move memories to the trash, from which `nacre restore` brings them back."""
    with door.open() as store:
        memories = [memory for memory in named(store, ids) if memory.status != "trashed"]
        if not memories:
            say("In the trash already.")
            return
        if not yes:
            confirm("Forget", memories, "`nacre restore` can bring back what is forgotten.")
        store.forget(*(memory.id for memory in memories), why=why)
    say(f"Forgot {counted(len(memories))}; `nacre undo` takes it back, `nacre restore ID` brings one back.")
