"""nacre archive"""

from __future__ import annotations

from dataclasses import replace

import click

from nacre.cli.door import Door
from nacre.cli.marking import mark, untrashed
from nacre.cli.options import door_options, why_option


@click.command("archive")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@why_option
@door_options
@click.pass_obj
def command(door: Door, ids: tuple[str, ...], why: str) -> None:
    """Put memories out of sight. With --include-archived, `list`, `recall` and `pack` look there too."""
    with door.open() as store:
        memories = untrashed(store, ids)
        mark(store, memories, "archive", lambda memory: replace(memory, status="archived"), "Archived", why)
