"""nacre review"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.options import form_option, global_options, why_option
from nacre.cli.ui.conflicts import item_text, short_item
from nacre.cli.ui.output import Column, print_items, say
from nacre.cli.ui.records import item_record
from nacre.errors import InvalidInput
from nacre.model.review import KINDS, ReviewItem

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore

stale_option = click.option(
    "--stale-days", type=click.FloatRange(min=0), default=365.0, show_default=True, metavar="N",
    help="What nobody confirmed for so long is stale.",
)  # fmt: skip


@click.group("review", invoke_without_command=True)
@click.option("--kind", "kinds", type=click.Choice(KINDS), multiple=True, help="Only these; repeat for several.")
@stale_option
@click.option("-n", "limit", type=click.IntRange(min=0), default=50, show_default=True, help="At most; 0 for all.")
@click.option("--list", "listed", is_flag=True, help="List what waits, and ask nothing.")
@form_option()
@global_options
@click.pass_context
def command(
    ctx: click.Context, kinds: tuple[str, ...], stale_days: float, limit: int, listed: bool, form: str | None
) -> None:
    """Decide, one by one, what waits: conflicts, memories that nobody confirmed or that grew stale, new words,
    and names that may be one.

    On a terminal it asks, one key a decision; in a pipe, with --list or with -f it lists. `review decide` is for
    scripts.
    """
    if ctx.invoked_subcommand is not None:
        return
    cli: CliContext = ctx.obj
    asks = not listed and form is None and sys.stdin.isatty() and sys.stdout.isatty()
    with cli.open_with_model() if asks else cli.open() as store:
        items = store.review(kinds=kinds or KINDS, stale_days=stale_days, limit=limit or None)
        if asks and items:
            from nacre.cli.deciding import walk_through

            walk_through(store, items, cli.now())
            return
    print_items(items, columns(), item_record, form)
    if not items:
        say("Nothing waits for a decision.")


@command.command("decide")
@click.argument("item")
@click.argument("decision")
@click.option(
    "--into", default="", metavar="NAME", help="With `merge`: the relation that a word means, or what two names go by."
)
@click.option("--text", default="", metavar="TEXT", help="With `merge` of a conflict: what the two say together.")
@stale_option
@why_option
@global_options
@click.pass_obj
def decide(cli: CliContext, item: str, decision: str, into: str, text: str, stale_days: float, why: str) -> None:
    """Settle the ITEM that `nacre review` lists; the first characters of its id, or of both its ids, suffice.

    \b
      of a conflict     keep_both, newer, older, merge, trash_newer, trash_older
      of a memory       validate, trash
      of a word         keep, merge (with --into)
      of two names      merge (--into says which name stays), distinct
    """
    with cli.open_with_model() as store:
        found = item_named(store, item, stale_days)
        done = store.decide(found, decision.replace("-", "_"), into=into, text=text, why=why, stale_days=stale_days)
    say("Settled; `nacre undo` takes it back." if done else "Nothing was decided; it still waits.")


def item_named(store: MemoryStore, given: str, stale_days: float) -> ReviewItem:
    items = {item.id: item for item in store.review(stale_days=stale_days, limit=None)}
    if given in items:
        return items[given]
    near = [item for item in items.values() if begins(item, given)]
    if len(near) == 1:
        return near[0]
    state = f"{len(near)} things that wait" if near else "nothing that waits"
    raise InvalidInput(f"{given!r} names {state} for review; `nacre review --list` lists them.")


def begins(item: ReviewItem, given: str) -> bool:
    """`3f2a:77b0` is a pair of two ids that begin so."""
    parts, typed = item.id.split(":"), given.split(":")
    return (
        given != ""
        and all(part.startswith(start) for part, start in zip(parts, typed, strict=False))
        and len(typed) <= len(parts)
    )


def columns() -> list[Column[ReviewItem]]:
    return [
        Column("item", lambda item: item.id, lambda item: short_item(item.id), style="cyan"),
        Column("kind", lambda item: item.kind, lambda item: item.kind, style="magenta"),
        Column("decisions", lambda item: ",".join(item.decisions)),
        Column("why", lambda item: item.why),
        Column("what", item_text, described, wide=True, wraps=True),
    ]


def described(item: ReviewItem) -> str:
    if item.conflict is None:
        return f"{item_text(item)}\n({item.why})" if item.memory is not None else item.why
    return f"{item.conflict.kind}, {item.conflict.reason}\n{item_text(item)}"
