"""nacre purge"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.lookup import find_memories
from nacre.cli.options import global_options, yes_option
from nacre.cli.ui.output import say
from nacre.cli.ui.prompts import confirm_memories, count_of


@click.command("purge")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@yes_option
@global_options
@click.pass_obj
def command(cli: CliContext, ids: tuple[str, ...], yes: bool) -> None:
    """Delete memories for good, in the journal too. `nacre forget` is the gentle way."""
    with cli.open() as store:
        memories = find_memories(store, ids)
        if not yes:
            confirm_memories("Purge", memories, "This is for good: nothing brings back what is purged.")
        gone = store.purge(*(memory.id for memory in memories))
    say(f"Purged {count_of(gone)} for good.")
