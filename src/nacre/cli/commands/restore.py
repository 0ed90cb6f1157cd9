"""nacre restore"""

from __future__ import annotations

import click

from nacre.cli.columns import excerpt, short
from nacre.cli.door import Door
from nacre.cli.faults import NothingFound
from nacre.cli.naming import named
from nacre.cli.options import door_options
from nacre.cli.output import say


@click.command("restore")
@click.argument("id")
@door_options
@click.pass_obj
def command(door: Door, id: str) -> None:
    """Bring back what was forgotten or superseded."""
    with door.open() as store:
        (memory,) = named(store, [id])
        if not store.restore(memory.id):
            raise NothingFound(f"{short(memory.id)} is neither in the trash nor superseded.")
    say(f"Restored {short(memory.id)}: {excerpt(memory)}")
