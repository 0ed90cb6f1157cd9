"""nacre merge"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import UsageProblem
from nacre.cli.marking import untrashed
from nacre.cli.options import dry_run_option, global_options, why_option, yes_option
from nacre.cli.ui.columns import excerpt, short
from nacre.cli.ui.output import say
from nacre.cli.ui.prompts import confirm_memories, text_argument


@click.command("merge")
@click.argument("keep")
@click.argument("others", nargs=-1, required=True, metavar="OTHER...")
@click.option("--text", metavar="TEXT|-", help="What it says from now on; - reads it from stdin.")
@dry_run_option
@yes_option
@why_option
@global_options
@click.pass_obj
def command(
    cli: CliContext, keep: str, others: tuple[str, ...], text: str | None, dry_run: bool, yes: bool, why: str
) -> None:
    """Let the memory KEEP stand for the OTHERs too, with their tags and ties. They stay, and are no longer recalled."""
    said = "" if text is None else text_argument([text], stdin=False)
    with cli.open_with_model() if said else cli.open() as store:
        (stays,) = untrashed(store, [keep])
        gone = [memory for memory in untrashed(store, others) if memory.id != stays.id]
        if not gone:
            raise UsageProblem("a memory cannot be merged with itself alone; name at least one other.")
        if dry_run:
            say(f"{short(stays.id)} would stand for {', '.join(short(each.id) for each in gone)}; nothing was changed.")
            return
        if not yes and len(gone) > 1:
            confirm_memories(f"Merge into {short(stays.id)}", gone, "`nacre undo` takes it back.")
        merged = store.merge(stays.id, *(memory.id for memory in gone), text=said, why=why)
    say(f"{short(merged.id)} ({excerpt(merged)}) now stands for {', '.join(short(each.id) for each in gone)}.")
    say("`nacre undo` takes it back.")
