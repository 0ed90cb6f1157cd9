"""nacre validate"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.lookup import find_memories
from nacre.cli.options import global_options, why_option
from nacre.cli.ui.columns import excerpt, short
from nacre.cli.ui.output import say


@click.command("validate")
@click.argument("id")
@click.option("--confidence", type=float, metavar="0-1", help="How sure that is now.")
@why_option
@global_options
@click.pass_obj
def command(cli: CliContext, id: str, confidence: float | None, why: str) -> None:
    """Say that a memory still holds, so that it is no longer stale or in doubt."""
    with cli.open() as store:
        (memory,) = find_memories(store, [id])
        after = store.validate(memory.id, confidence=confidence, why=why)
    say(f"{short(after.id)} still holds, with confidence {after.confidence:g}: {excerpt(after)}")
