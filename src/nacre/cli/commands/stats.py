"""nacre stats"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from nacre.cli.door import Door
from nacre.cli.options import door_options, form_option
from nacre.cli.output import DATA, Column, print_data, print_items

if TYPE_CHECKING:
    from nacre.store.stats import Stats

Line = tuple[str, str]


@click.command("stats")
@form_option()
@door_options
@click.pass_obj
def command(door: Door, form: str | None) -> None:
    """Count what is there."""
    with door.open() as store:
        counted = store.stats()
    if form in DATA:
        print_data(asdict(counted), form)
        return
    columns: list[Column[Line]] = [
        Column("what", lambda line: line[0], lambda line: line[0], style="cyan"),
        Column("count", lambda line: line[1], lambda line: line[1]),
    ]
    print_items(lines(counted), columns, list, form)


def lines(stats: Stats) -> list[Line]:
    whole = {name.replace("_", " "): value for name, value in asdict(stats).items() if not isinstance(value, dict)}
    return [
        *((name, str(value)) for name, value in whole.items()),
        *((f"type {name}", str(count)) for name, count in stats.by_type.items()),
        *((f"tag {name}", str(count)) for name, count in stats.top_tags.items()),
    ]
