"""nacre unpin"""

from __future__ import annotations

from dataclasses import replace

import click

from nacre.cli.door import Door
from nacre.cli.marking import mark, untrashed
from nacre.cli.options import door_options, why_option


@click.command("unpin")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@why_option
@door_options
@click.pass_obj
def command(door: Door, ids: tuple[str, ...], why: str) -> None:
    """Let memories fade like all others again."""
    with door.open() as store:
        mark(store, untrashed(store, ids), "unpin", lambda memory: replace(memory, pinned=False), "Unpinned", why)
