"""nacre reindex"""

from __future__ import annotations

import click

from nacre.cli.asking import counted
from nacre.cli.door import Door
from nacre.cli.options import late, placing
from nacre.cli.output import say
from nacre.cli.progress import progress_line


@click.command("reindex")
@click.option(
    "--embedder",
    expose_value=False,
    callback=late,
    metavar="NAME",
    help="With this one, not with that of the settings.",
)
@click.option("--restart", is_flag=True, help="Begin anew, where an interrupted one would be gone on with.")
@placing
@click.pass_obj
def command(door: Door, restart: bool) -> None:
    """Compute words and vectors of every space again, with the present model or another. No memory is changed.

    Stopped half-way, it goes on where it ended when it is called again; until then what waits is found by its words.
    """
    with door.open_with_model() as store, progress_line() as progress:
        done = store.reindex(restart=restart, progress=progress)
        identity = store.embedder.identity
    say(f"Reindexed {counted(done)} with {identity}.")
    wanted = door.flags.pop("embedder", None)
    if wanted is not None and wanted != door.settings().embedder:
        say(f"The settings name another embedder; `nacre config set embedder {wanted}` changes that.")
