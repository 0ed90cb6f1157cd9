"""nacre redact"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.lookup import find_memories
from nacre.cli.options import global_options, why_option, yes_option
from nacre.cli.ui.output import say
from nacre.cli.ui.prompts import confirm_memories, count_of


@click.command("redact")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@yes_option
@why_option
@global_options
@click.pass_obj
def command(cli: CliContext, ids: tuple[str, ...], yes: bool, why: str) -> None:
    """Take the content of memories away for good, in the journal too, and leave a mark that something was there.

    Backups and other copies that were made before keep what they have.
    """
    with cli.open() as store:
        memories = find_memories(store, ids)
        if not yes:
            confirm_memories(
                "Redact", memories, "This is for good: nothing brings back the content of what is redacted."
            )
        gone = store.redact(*(memory.id for memory in memories), why=why)
    say(f"Redacted {count_of(gone)} for good; copies made before, such as backups, still have the content.")
