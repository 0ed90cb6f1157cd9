"""nacre spaces"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.options import form_option, global_options
from nacre.cli.ui.output import Column, print_items, say

Space = tuple[str, int]


@click.command("spaces")
@form_option()
@global_options
@click.pass_obj
def command(cli: CliContext, form: str | None) -> None:
    """List the spaces of the store with the number of their memories."""
    with cli.open() as store:
        spaces = list(store.spaces().items())
    columns: list[Column[Space]] = [
        Column("space", lambda space: space[0], lambda space: space[0], style="cyan"),
        Column("memories", lambda space: str(space[1]), lambda space: f"{space[1]:,}", right=True),
    ]
    print_items(spaces, columns, lambda space: {"space": space[0], "memories": space[1]}, form)
    if not spaces:
        say("The store is empty; `nacre remember TEXT` keeps a first memory.")
