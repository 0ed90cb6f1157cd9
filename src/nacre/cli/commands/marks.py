"""nacre pin, unpin, archive, unarchive, tag and bump: mark several memories in one operation."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import Refused
from nacre.cli.lookup import find_memories
from nacre.cli.options import command, why_option
from nacre.cli.ui.columns import excerpt, short
from nacre.cli.ui.output import say
from nacre.cli.ui.prompts import count_of

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore
    from nacre.model import Memory


def mark_command(name: str, help: str, done: str) -> click.Command:
    """A command named as the method of the store that it calls."""

    @command(name, help=help)
    @click.argument("ids", nargs=-1, required=True, metavar="ID...")
    @why_option
    def mark(cli: CliContext, ids: tuple[str, ...], why: str) -> None:
        with cli.open() as store:
            method: Callable[..., list[Memory]] = getattr(store, name)
            report_marked(method(*(memory.id for memory in find_untrashed(store, ids)), why=why), done)

    return mark


def find_untrashed(store: MemoryStore, ids: Sequence[str]) -> list[Memory]:
    """Those that are named; what is in the trash must come back first."""
    memories = find_memories(store, ids)
    trashed = next((memory for memory in memories if memory.status == "trashed"), None)
    if trashed is not None:
        raise Refused(f"{short(trashed.id)} is in the trash; `nacre restore {short(trashed.id)}` brings it back.")
    return memories


def report_marked(changed: Sequence[Memory], done: str) -> None:
    if not changed:
        say("Nothing to do: that is so already.")
        return
    what = f"{short(changed[0].id)}: {excerpt(changed[0])}" if len(changed) == 1 else f"{count_of(len(changed))}."
    say(f"{done} {what}", "`nacre undo` takes it back.")


pin_command = mark_command("pin", "Protect memories from decay and limits.", "Pinned")
unpin_command = mark_command("unpin", "Let memories decay again.", "Unpinned")
archive_command = mark_command(
    "archive", "Hide memories. With --include-archived, `list`, `recall` and `pack` look there too.", "Archived"
)
unarchive_command = mark_command(
    "unarchive", "Take memories out of the archive, back to where they were.", "Took out of the archive:"
)


@command("tag")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("-a", "--add", metavar="TAG", multiple=True, help="Add a tag; repeat for several.")
@click.option("-r", "--remove", metavar="TAG", multiple=True, help="Take a tag away; repeat for several.")
@why_option
def tag_command(cli: CliContext, ids: tuple[str, ...], add: tuple[str, ...], remove: tuple[str, ...], why: str) -> None:
    """Add tags to memories or remove some, in one operation. Their texts and vectors stay as they are."""
    if not add and not remove:
        raise click.UsageError("Say which tags: --add TAG, --remove TAG.")
    with cli.open() as store:
        report_marked(
            store.tag(*(memory.id for memory in find_untrashed(store, ids)), add=add, remove=remove, why=why), "Tagged"
        )


CHANGE = re.compile(r"([+\-−=])(\d*\.?\d+)\Z", re.ASCII)
NEGATIVE = re.compile(r"-\d*\.?\d+\Z", re.ASCII)
MINUS = "−"


class NegativeAmountCommand(click.Command):
    """`-0.1` is an amount here and no option; a mistyped option is still told as one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [MINUS + word[1:] if NEGATIVE.match(word) else word for word in args])


def amount_argument(_ctx: click.Context, _argument: click.Parameter, value: str) -> tuple[float | None, float | None]:
    """By how much, or to what."""
    match = CHANGE.match(value.strip())
    if not match:
        raise click.BadParameter(f"{value!r} is no change of an importance; write +0.2, -0.1 or =0.9.")
    number = float(match[2])
    return (None, number) if match[1] == "=" else (number if match[1] == "+" else -number, None)


@command("bump", cls=NegativeAmountCommand)
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.argument("change", callback=amount_argument, metavar="+0.2|-0.1|=0.9")
@why_option
def bump_command(cli: CliContext, ids: tuple[str, ...], change: tuple[float | None, float | None], why: str) -> None:
    """Raise or lower the importance of memories, in one operation. An importance stays between 0 and 1."""
    by, to = change
    with cli.open() as store:
        changed = store.bump(*(memory.id for memory in find_untrashed(store, ids)), by=by, to=to, why=why)
    report_marked(changed, "Changed the importance of")
    if len(changed) == 1:
        say(f"The importance of {short(changed[0].id)} is {changed[0].importance:g} now.")
