"""nacre tag"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.marking import tell, untrashed
from nacre.cli.options import global_options, why_option


@click.command("tag")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("-a", "--add", metavar="TAG", multiple=True, help="Add a tag; repeat for several.")
@click.option("-r", "--remove", metavar="TAG", multiple=True, help="Take a tag away; repeat for several.")
@why_option
@global_options
@click.pass_obj
def command(cli: CliContext, ids: tuple[str, ...], add: tuple[str, ...], remove: tuple[str, ...], why: str) -> None:
    """Add tags to memories or take some away, in one act. Their texts and vectors stay as they are."""
    if not add and not remove:
        raise click.UsageError("Say which tags: --add TAG, --remove TAG.")
    with cli.open() as store:
        tell(store.tag(*(memory.id for memory in untrashed(store, ids)), add=add, remove=remove, why=why), "Tagged")
