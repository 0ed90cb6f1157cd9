"""nacre spaces"""

from __future__ import annotations

import click

from nacre.cli.door import Door
from nacre.cli.options import door_options, form_option
from nacre.cli.output import Column, print_items, say

Space = tuple[str, int]


@click.command("spaces")
@form_option()
@door_options
@click.pass_obj
def command(door: Door, form: str | None) -> None:
    """List the spaces of the store with the number of their memories."""
    with door.open() as store:
        spaces = list(store.spaces().items())
    columns: list[Column[Space]] = [
        Column("space", lambda space: space[0], lambda space: space[0], style="cyan"),
        Column("memories", lambda space: str(space[1]), lambda space: f"{space[1]:,}", right=True),
    ]
    print_items(spaces, columns, lambda space: {"space": space[0], "memories": space[1]}, form)
    if not spaces:
        say("The store is empty; `nacre remember TEXT` keeps a first memory.")
