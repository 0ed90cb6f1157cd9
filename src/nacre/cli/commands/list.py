"""nacre list"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Unpack

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.options import FilterOptions, filter_options, form_option, global_options, scope_of
from nacre.cli.ui.columns import memory_columns
from nacre.cli.ui.output import print_items, say
from nacre.cli.ui.records import memory_record
from nacre.model import Filter, Memory

if TYPE_CHECKING:
    from nacre.protocols import Order
    from nacre.recall_options import Scope

ORDERS: dict[str, Order] = {
    "created": "newest",
    "importance": "importance",
    "updated": "updated",
    "accessed": "accessed",
}
ALL = 2**53


@click.command("list")
@click.option("-n", "limit", type=click.IntRange(min=0), default=20, show_default=True, help="At most; 0 for all.")
@filter_options
@click.option("--sort", type=click.Choice(list(ORDERS)), default="created", show_default=True, help="What comes first.")
@click.option("--trashed", is_flag=True, help="What is in the trash.")
@click.option("--archived", is_flag=True, help="What is in the archive.")
@click.option("--superseded", is_flag=True, help="What newer memories replaced.")
@form_option()
@global_options
@click.pass_obj
def command(
    cli: CliContext,
    limit: int,
    sort: str,
    trashed: bool,
    archived: bool,
    superseded: bool,
    form: str | None,
    **narrowed: Unpack[FilterOptions],
) -> None:
    """List the newest memories, or those you narrow it to."""
    now = cli.now()
    scope = put_away(scope_of(narrowed, now), trashed=trashed, archived=archived, superseded=superseded)
    with cli.open() as store:
        found = store.list_recent(limit or ALL, order=ORDERS[sort], **scope)
        total = store.count(**scope)
    print_items(found, memory_columns(same, now), memory_record, form)
    if not found:
        say("No memories here; `nacre remember TEXT` keeps one.")
    elif len(found) < total and sys.stdout.isatty():
        say(f"{len(found)} of {total}; -n 0 lists them all.")


def put_away(scope: Scope, *, trashed: bool, archived: bool, superseded: bool) -> Scope:
    if archived:
        scope = {**scope, "status": "archived"}
    if trashed:
        scope = {**scope, "status": "trashed", "include_superseded": True, "include_expired": True}
    if superseded:
        scope = {**scope, "where": Filter.where(superseded_by__ne=""), "include_superseded": True}
    return scope


def same(memory: Memory) -> Memory:
    return memory
