"""nacre redact"""

from __future__ import annotations

import click

from nacre.cli.asking import confirm, counted
from nacre.cli.door import Door
from nacre.cli.naming import named
from nacre.cli.options import door_options, why_option, yes_option
from nacre.cli.output import say


@click.command("redact")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@yes_option
@why_option
@door_options
@click.pass_obj
def command(door: Door, ids: tuple[str, ...], yes: bool, why: str) -> None:
    """Take the content of memories away for good, in the journal too, and leave a mark that something was there.

    Backups and other copies that were made before keep what they have.
    """
    with door.open() as store:
        memories = named(store, ids)
        if not yes:
            confirm("Redact", memories, "This is for good: nothing brings back the content of what is redacted.")
        gone = store.redact(*(memory.id for memory in memories), why=why)
    say(f"Redacted {counted(gone)} for good; copies made before, such as backups, still have the content.")
