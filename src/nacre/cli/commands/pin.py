"""nacre pin"""

from __future__ import annotations

from dataclasses import replace

import click

from nacre.cli.door import Door
from nacre.cli.marking import mark, untrashed
from nacre.cli.options import door_options, why_option


@click.command("pin")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@why_option
@door_options
@click.pass_obj
def command(door: Door, ids: tuple[str, ...], why: str) -> None:
    """Keep memories from fading: neither decay nor a bound takes them."""
    with door.open() as store:
        mark(store, untrashed(store, ids), "pin", lambda memory: replace(memory, pinned=True), "Pinned", why)
