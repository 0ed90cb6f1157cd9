"""nacre unlink"""

from __future__ import annotations

import click

from nacre.cli.asking import counted
from nacre.cli.columns import short
from nacre.cli.door import Door
from nacre.cli.faults import NothingFound
from nacre.cli.naming import named, target_named
from nacre.cli.options import door_options, why_option
from nacre.cli.output import say


@click.command("unlink")
@click.argument("source")
@click.argument("target")
@click.option("-r", "--rel", metavar="NAME", help="Only the tie of this relation; every one unless given.")
@why_option
@door_options
@click.pass_obj
def command(door: Door, source: str, target: str, rel: str | None, why: str) -> None:
    """Take away the ties that lead from SOURCE to TARGET."""
    with door.open() as store:
        (memory,) = named(store, [source])
        end = target_named(store, memory, target)
        gone = store.unlink(memory.id, end, rel, why=why)
    if not gone:
        kind = f" of the relation {rel!r}" if rel else ""
        raise NothingFound(f"no tie{kind} leads from {short(memory.id)} to {short(end)}.")
    what = counted(gone, "tie", "ties")
    say(f"Took away {what} from {short(memory.id)} to {short(end)}; `nacre undo` brings back what went.")
