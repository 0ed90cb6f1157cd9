"""nacre undo"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.options import global_options, why_option
from nacre.cli.ui.output import say
from nacre.cli.ui.prompts import LONGEST_LIST
from nacre.cli.ui.records import entry_subject, undo_outcome
from nacre.model import JournalEntry


@click.command("undo")
@click.argument("batch", required=False)
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Take back the last N acts, all or none.")
@why_option
@global_options
@click.pass_obj
def command(cli: CliContext, batch: str | None, last: int | None, why: str) -> None:
    """Take back the last act, or the one whose BATCH `nacre journal` shows; its first characters suffice.

    An undo can be undone. Where later acts stand on it nothing is changed, and they are named.
    """
    with cli.open() as store:
        tell(store.undo(batch, last=last, why=why))


def tell(undone: list[JournalEntry]) -> None:
    for entry in undone[:LONGEST_LIST]:
        say(f"{entry_subject(entry)} {undo_outcome(entry)}")
    if len(undone) > LONGEST_LIST:
        say(f"and {len(undone) - LONGEST_LIST:,} more; `nacre journal` tells them all.")
