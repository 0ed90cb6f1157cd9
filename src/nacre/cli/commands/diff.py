"""nacre diff"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.options import form_option, global_options
from nacre.cli.ui.columns import short
from nacre.cli.ui.output import DATA, Column, print_data, print_items, say, shortened
from nacre.cli.ui.prompts import count_of
from nacre.cli.ui.records import field_text, memory_record, with_iso_times
from nacre.cli.ui.times import known_by, since
from nacre.model import Difference
from nacre.model.instants import iso

LONGEST_VALUE = 200


class Line(NamedTuple):
    sign: str
    id: str
    field: str
    before: str
    after: str


@click.command("diff")
@click.argument("earlier", metavar="WHEN")
@click.argument("later", required=False, metavar="[WHEN]")
@form_option()
@global_options
@click.pass_obj
def command(cli: CliContext, earlier: str, later: str | None, form: str | None) -> None:
    """Tell what came (+), went (-) and changed (~) between two times, or since one.

    WHEN is 2h, 7d, a time, or a date (UTC). Of two dates both days count: from the first one's beginning to the second
    one's end. What was purged since is not told.
    """
    begin, end = moments(earlier, later, cli.now())
    with cli.open() as store:
        found = store.diff(begin, end)
    if form in DATA:
        print_data(record(found), form)
    else:
        print_items(list(lines(found)), columns(), list, form)
    for note in found.notes:
        say(note)
    say(summary(found, begin, end))


def moments(earlier: str, later: str | None, now: float) -> tuple[float, float]:
    if later is not None and since(earlier, now) > since(later, now):
        earlier, later = later, earlier
    return since(earlier, now), now if later is None else known_by(later, now)


def lines(found: Difference) -> Iterator[Line]:
    for memory in found.added:
        yield Line("+", memory.id, "", "", memory.text)
    for memory in found.removed:
        yield Line("-", memory.id, "", memory.text, "")
    for change in found.changed:
        for name, (before, after) in change.fields.items():
            yield Line("~", change.after.id, name, field_text(name, before), field_text(name, after))


def columns() -> list[Column[Line]]:
    return [
        Column("", lambda line: line.sign, lambda line: line.sign, style="magenta"),
        Column("id", lambda line: line.id, lambda line: short(line.id), style="cyan"),
        Column("field", lambda line: line.field, lambda line: line.field.replace("_", " ")),
        Column("before", lambda line: line.before),
        Column("what", lambda line: line.after, became, wide=True, wraps=True),
    ]


def became(line: Line) -> str:
    before, after = shortened(line.before, LONGEST_VALUE), shortened(line.after, LONGEST_VALUE)
    return f"{before} → {after}" if line.sign == "~" else before or after


def record(found: Difference) -> dict[str, object]:
    return {
        "added": [memory_record(memory) for memory in found.added],
        "removed": [memory_record(memory) for memory in found.removed],
        "changed": [
            {
                "id": change.after.id,
                "before": with_iso_times({name: before for name, (before, _) in change.fields.items()}),
                "after": with_iso_times({name: after for name, (_, after) in change.fields.items()}),
            }
            for change in found.changed
        ],
        "notes": list(found.notes),
    }


def summary(found: Difference, begin: float, end: float) -> str:
    told = f"{count_of(len(found.added))} came, {len(found.removed):,} went, {len(found.changed):,} changed"
    return f"{told} between {iso(begin)} and {iso(end)}."
