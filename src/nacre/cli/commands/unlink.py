"""nacre unlink"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound
from nacre.cli.lookup import find_memories, resolve_target
from nacre.cli.options import global_options, why_option
from nacre.cli.ui.columns import short
from nacre.cli.ui.output import say
from nacre.cli.ui.prompts import count_of


@click.command("unlink")
@click.argument("source")
@click.argument("target")
@click.option("-r", "--rel", metavar="NAME", help="Only the tie of this relation; every one unless given.")
@why_option
@global_options
@click.pass_obj
def command(cli: CliContext, source: str, target: str, rel: str | None, why: str) -> None:
    """Take away the ties that lead from SOURCE to TARGET."""
    with cli.open() as store:
        (memory,) = find_memories(store, [source])
        end = resolve_target(store, memory, target)
        gone = store.unlink(memory.id, end, rel, why=why)
    if not gone:
        kind = f" of the relation {rel!r}" if rel else ""
        raise NotFound(f"no tie{kind} leads from {short(memory.id)} to {short(end)}.")
    what = count_of(gone, "tie", "ties")
    say(f"Took away {what} from {short(memory.id)} to {short(end)}; `nacre undo` brings back what went.")
