"""nacre purge"""

from __future__ import annotations

import click

from nacre.cli.asking import confirm, counted
from nacre.cli.door import Door
from nacre.cli.naming import named
from nacre.cli.options import door_options, yes_option
from nacre.cli.output import say


@click.command("purge")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@yes_option
@door_options
@click.pass_obj
def command(door: Door, ids: tuple[str, ...], yes: bool) -> None:
    """Delete memories for good, in the journal too. `nacre forget` is the gentle way."""
    with door.open() as store:
        memories = named(store, ids)
        if not yes:
            confirm("Purge", memories, "This is for good: nothing brings back what is purged.")
        gone = store.purge(*(memory.id for memory in memories))
    say(f"Purged {counted(gone)} for good.")
