"""nacre path"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound
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
from nacre.cli.ui.output import Column, print_items
from nacre.cli.ui.records import edge_record, memory_record
from nacre.model import Edge, Memory, Path

if TYPE_CHECKING:
    from nacre.model import Direction


@dataclass(frozen=True, slots=True)
class Station:
    """A memory on the way, and the tie that led to it; the first has none."""

    memory: Memory
    edge: Edge | None

    @property
    def direction(self) -> str:
        return "" if self.edge is None else "out" if self.edge.target == self.memory.id else "in"

    @property
    def rel(self) -> str:
        return "" if self.edge is None else self.edge.rel


@click.command("path")
@click.argument("start")
@click.argument("end")
@traversal_options
@hidden_option
@as_of_option
@valid_at_option
@form_option()
@global_options
@click.pass_obj
def command(
    cli: CliContext,
    start: str,
    end: str,
    rels: tuple[str, ...],
    direction: Direction,
    hidden: bool,
    as_of: float | None,
    valid_at: float | None,
    form: str | None,
) -> None:
    """Find a shortest way along ties from the memory START to END. Ends with code 1 where there is none."""
    with cli.open() as store:
        ends = resolve_id(store, start), resolve_id(store, end)
        found = store.path(
            *ends, rel=rels or None, direction=direction, include_hidden=hidden, as_of=as_of, valid_at=valid_at
        )
    print_items(stations(found) if found else [], columns(), record, form)
    if found is None:
        raise NotFound(f"no ties lead from {short(ends[0])} to {short(ends[1])}.")


def stations(path: Path) -> list[Station]:
    return [Station(memory, edge) for memory, edge in zip(path.memories, (None, *path.edges), strict=True)]


def columns() -> list[Column[Station]]:
    return [
        Column("direction", lambda station: station.direction),
        Column("tie", lambda station: station.rel, tie, style="magenta"),
        Column("id", lambda station: station.memory.id, lambda station: short(station.memory.id), style="cyan"),
        Column("text", lambda station: station.memory.text, lambda station: headline(station.memory), wide=True),
    ]


def tie(station: Station) -> str:
    return {"": "", "out": f"{station.rel} →", "in": f"← {station.rel}"}[station.direction]


def record(station: Station) -> dict[str, object]:
    return {"memory": memory_record(station.memory), "tie": edge_record(station.edge) if station.edge else None}
