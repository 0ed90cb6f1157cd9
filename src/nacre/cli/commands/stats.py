"""nacre stats"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.options import form_option, global_options
from nacre.cli.ui.output import DATA, Column, chosen_form, print_data, print_items, put

if TYPE_CHECKING:
    from nacre.engine.stats import Stats

Line = tuple[str, str]


@click.command("stats")
@form_option()
@global_options
@click.pass_obj
def command(cli: CliContext, form: str | None) -> None:
    """Count what is there, and on a terminal draw it: types, tags, and how many memories came each week."""
    with cli.open() as store:
        counted = store.stats()
    if form in DATA:
        print_data(asdict(counted), form)
        return
    columns: list[Column[Line]] = [
        Column("what", lambda line: line[0], lambda line: line[0], style="cyan"),
        Column("count", lambda line: line[1], lambda line: line[1]),
    ]
    drawn = chosen_form(form) == "table"
    print_items(whole(counted) if drawn else lines(counted), columns, list, form)
    if drawn:
        draw(counted)


def draw(stats: Stats) -> None:
    from nacre.cli.ui.charts import bars, sparkline

    for title, counts in (("types", stats.by_type), ("tags", stats.top_tags)):
        if counts:
            put("\n".join(["", title, *bars(counts)]))
    if stats.growth:
        first = next(iter(stats.growth))
        put(f"\nmemories a week since {first}\n  {sparkline(list(stats.growth.values()))}")


def whole(stats: Stats) -> list[Line]:
    plain = {name.replace("_", " "): value for name, value in asdict(stats).items() if not isinstance(value, dict)}
    return [(name, str(value)) for name, value in plain.items()]


def lines(stats: Stats) -> list[Line]:
    return [
        *whole(stats),
        *((f"type {name}", str(count)) for name, count in stats.by_type.items()),
        *((f"tag {name}", str(count)) for name, count in stats.top_tags.items()),
        *((f"week {monday}", str(count)) for monday, count in stats.growth.items()),
    ]
