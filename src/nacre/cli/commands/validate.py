"""nacre validate"""

from __future__ import annotations

import click

from nacre.cli.columns import excerpt, short
from nacre.cli.door import Door
from nacre.cli.naming import named
from nacre.cli.options import door_options, why_option
from nacre.cli.output import say


@click.command("validate")
@click.argument("id")
@click.option("--confidence", type=float, metavar="0-1", help="How sure that is now.")
@why_option
@door_options
@click.pass_obj
def command(door: Door, id: str, confidence: float | None, why: str) -> None:
    """Say that a memory still holds, so that it is no longer stale or in doubt."""
    with door.open() as store:
        (memory,) = named(store, [id])
        after = store.validate(memory.id, confidence=confidence, why=why)
    say(f"{short(after.id)} still holds, with confidence {after.confidence:g}: {excerpt(after)}")
