"""nacre reindex"""

from __future__ import annotations

import click

from nacre.cli.asking import counted
from nacre.cli.door import Door
from nacre.cli.options import door_options
from nacre.cli.output import say
from nacre.cli.progress import progress_line


@click.command("reindex")
@door_options
@click.pass_obj
def command(door: Door) -> None:
    """Compute words and vectors of every space again, with the present model. No memory is changed."""
    with door.open_with_model() as store, progress_line() as progress:
        done = store.reindex(progress=progress)
        identity = store.embedder.identity
    say(f"Reindexed {counted(done)} with {identity}.")
