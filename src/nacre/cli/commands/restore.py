"""nacre restore"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound
from nacre.cli.lookup import find_memories
from nacre.cli.options import global_options
from nacre.cli.ui.columns import excerpt, short
from nacre.cli.ui.output import say


@click.command("restore")
@click.argument("id")
@global_options
@click.pass_obj
def command(cli: CliContext, id: str) -> None:
    """Bring back what was forgotten or superseded."""
    with cli.open() as store:
        (memory,) = find_memories(store, [id])
        if not store.restore(memory.id):
            raise NotFound(f"{short(memory.id)} is neither in the trash nor superseded.")
    say(f"Restored {short(memory.id)}: {excerpt(memory)}")
