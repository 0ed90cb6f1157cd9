"""nacre forget"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.lookup import find_memories
from nacre.cli.options import global_options, yes_option
from nacre.cli.ui.output import say
from nacre.cli.ui.prompts import confirm_memories, count_of


@click.command("forget")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@yes_option
@click.option("--why", default="", metavar="TEXT", help="The reason, for the journal.")
@global_options
@click.pass_obj
def command(cli: CliContext, ids: tuple[str, ...], yes: bool, why: str) -> None:
    """Move memories to the trash, from which `nacre restore` brings them back."""
    with cli.open() as store:
        memories = [memory for memory in find_memories(store, ids) if memory.status != "trashed"]
        if not memories:
            say("In the trash already.")
            return
        if not yes:
            confirm_memories("Forget", memories, "`nacre restore` can bring back what is forgotten.")
        store.forget(*(memory.id for memory in memories), why=why)
    say(f"Forgot {count_of(len(memories))}; `nacre undo` takes it back, `nacre restore ID` brings one back.")
