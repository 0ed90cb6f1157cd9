"""nacre neighbors"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.lookup import resolve_id
from nacre.cli.options import (
    as_of_option,
    form_option,
    global_options,
    hidden_option,
    traversal_options,
    valid_at_option,
)
from nacre.cli.ui.columns import headline, short
from nacre.cli.ui.output import Column, print_items, say
from nacre.cli.ui.records import memory_record
from nacre.model import Neighbor

if TYPE_CHECKING:
    from nacre.model import Direction

ARROWS = {"out": "→", "in": "←"}


@click.command("neighbors")
@click.argument("id")
@traversal_options
@click.option("-d", "--depth", type=click.IntRange(min=1), default=1, show_default=True, help="Ties to walk at most.")
@hidden_option
@as_of_option
@valid_at_option
@form_option()
@global_options
@click.pass_obj
def command(
    cli: CliContext,
    id: str,
    rels: tuple[str, ...],
    direction: Direction,
    depth: int,
    hidden: bool,
    as_of: float | None,
    valid_at: float | None,
    form: str | None,
) -> None:
    """List the memories that ties lead to from the one with this ID, nearest first."""
    with cli.open() as store:
        found = store.neighbors(
            resolve_id(store, id),
            rel=rels or None,
            direction=direction,
            depth=depth,
            include_hidden=hidden,
            as_of=as_of,
            valid_at=valid_at,
        )
    print_items(list(found), columns(), record, form)
    if not found:
        say("No ties lead to another memory; `nacre link` makes one.")
    tell_dangling(found.dangling)


def tell_dangling(ids: tuple[str, ...]) -> None:
    if ids:
        say("Ties also name what is not here: " + ", ".join(map(short, ids)) + ".")


def columns() -> list[Column[Neighbor]]:
    return [
        Column("id", lambda near: near.memory.id, lambda near: short(near.memory.id), style="cyan"),
        Column("depth", lambda near: str(near.depth), lambda near: str(near.depth), right=True),
        Column("direction", lambda near: near.direction),
        Column("tie", lambda near: near.rel, tie, style="magenta"),
        Column("weight", lambda near: f"{near.weight:g}", lambda near: f"{near.weight:g}", right=True),
        Column("type", lambda near: near.memory.type, lambda near: near.memory.type),
        Column("text", lambda near: near.memory.text, lambda near: headline(near.memory), wide=True),
    ]


def tie(near: Neighbor) -> str:
    return f"{ARROWS[near.direction]} {near.rel}"


def record(near: Neighbor) -> dict[str, object]:
    walked = {"rel": near.rel, "direction": near.direction, "depth": near.depth, "weight": near.weight}
    return {**memory_record(near.memory), **walked}
