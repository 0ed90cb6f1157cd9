"""nacre reindex"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.options import location_options, set_global_option
from nacre.cli.ui.output import say
from nacre.cli.ui.prompts import count_of, progress_line


@click.command("reindex")
@click.option(
    "--embedder",
    expose_value=False,
    callback=set_global_option,
    metavar="NAME",
    help="With this one, not with that of the settings.",
)
@click.option("--restart", is_flag=True, help="Begin anew, where an interrupted one would be gone on with.")
@location_options
@click.pass_obj
def command(cli: CliContext, restart: bool) -> None:
    """Compute words and vectors of every space again, with the present model or another. No memory is changed.

    Stopped half-way, it goes on where it ended when it is called again; until then what waits is found by its words.
    """
    with cli.open_with_model() as store, progress_line() as progress:
        done = store.reindex(restart=restart, progress=progress)
        identity = store.embedder.identity
    say(f"Reindexed {count_of(done)} with {identity}.")
    wanted = cli.flags.pop("embedder", None)
    if wanted is not None and wanted != cli.settings().embedder:
        say(f"The settings name another embedder; `nacre config set embedder {wanted}` changes that.")
