"""nacre bump"""

from __future__ import annotations

import re

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.marking import tell, untrashed
from nacre.cli.options import global_options, why_option
from nacre.cli.ui.columns import short
from nacre.cli.ui.output import say

CHANGE = re.compile(r"([+\-−=])(\d*\.?\d+)\Z", re.ASCII)
LESS = re.compile(r"-\d*\.?\d+\Z", re.ASCII)
MINUS = "−"


class TakesLess(click.Command):
    """`-0.1` is an amount here and no option; a mistyped option is still told as one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [MINUS + word[1:] if LESS.match(word) else word for word in args])


def amount(_ctx: click.Context, _argument: click.Parameter, value: str) -> tuple[float | None, float | None]:
    """By how much, or to what."""
    found = CHANGE.match(value.strip())
    if not found:
        raise click.BadParameter(f"{value!r} is no change of an importance; write +0.2, -0.1 or =0.9.")
    number = float(found[2])
    return (None, number) if found[1] == "=" else (number if found[1] == "+" else -number, None)


@click.command("bump", cls=TakesLess)
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.argument("change", callback=amount, metavar="+0.2|-0.1|=0.9")
@why_option
@global_options
@click.pass_obj
def command(cli: CliContext, ids: tuple[str, ...], change: tuple[float | None, float | None], why: str) -> None:
    """Let memories matter more or less, in one act. An importance stays between 0 and 1."""
    by, to = change
    with cli.open() as store:
        changed = store.bump(*(memory.id for memory in untrashed(store, ids)), by=by, to=to, why=why)
    tell(changed, "Changed the importance of")
    if len(changed) == 1:
        say(f"The importance of {short(changed[0].id)} is {changed[0].importance:g} now.")
