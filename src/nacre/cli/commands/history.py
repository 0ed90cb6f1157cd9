"""nacre history"""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.lookup import resolve_id
from nacre.cli.options import as_of_option, form_option, global_options, valid_at_option
from nacre.cli.ui.columns import headline, short
from nacre.cli.ui.output import DATA, Column, print_data, print_items, print_rows, shortened
from nacre.cli.ui.records import memory_record
from nacre.cli.ui.times import age
from nacre.model import History, Memory, Transition
from nacre.model.instants import iso

LONGEST_VALUE = 200  # of what a value was and became; `-f json` has all of it


@click.command("history")
@click.argument("id")
@as_of_option
@valid_at_option
@form_option()
@global_options
@click.pass_obj
def command(cli: CliContext, id: str, as_of: float | None, valid_at: float | None, form: str | None) -> None:
    """Tell every version of the truth that this memory is one of, oldest first, and what changed when and why."""
    with cli.open() as store:
        told = store.history(resolve_id(store, id), as_of=as_of, valid_at=valid_at)
    chosen = form or ("table" if sys.stdout.isatty() else "tsv")
    if chosen in DATA:
        print_data(record(told), chosen)
    elif chosen == "tsv":
        print_rows(rows(told))
    else:
        print_items(told.versions, version_columns(), memory_record, "table")
        if told.transitions:
            sys.stdout.write("\n")
        print_items(told.transitions, change_columns(cli.now()), asdict, "table")


def record(told: History) -> dict[str, object]:
    return {
        "head": told.head.id,
        "versions": [memory_record(version) for version in told.versions],
        "changes": [{**asdict(change), "at": iso(change.at)} for change in told.transitions],
    }


def rows(told: History) -> list[list[str]]:
    """Versions and changes in the same columns: what, id, from, until, value before, value after, act, why."""
    versions = [
        ["version", each.id, iso(begun(each)), iso(each.valid_until), "", each.text, "", ""] for each in told.versions
    ]
    changes = [
        ["change", each.new, iso(each.at), "", each.before, each.after, each.operation, each.why]
        for each in told.transitions
    ]
    return versions + changes


def begun(version: Memory) -> float:
    return version.happened_at if version.valid_from is None else version.valid_from


def version_columns() -> list[Column[Memory]]:
    return [
        Column("id", None, lambda each: short(each.id), style="cyan"),
        Column("held from", None, lambda each: day(begun(each))),
        Column("until", None, until),
        Column("version", None, headline, wide=True, wraps=True),
    ]


def until(version: Memory) -> str:
    if version.status == "trashed":
        return "(in the trash)"
    return (
        day(version.valid_until)
        if version.valid_until is not None
        else "(superseded)"
        if version.superseded_by
        else "now"
    )


def day(at: float) -> str:
    return iso(at)[:16].replace("T", " ")


def change_columns(now: float) -> list[Column[Transition]]:
    return [
        Column("changed", None, lambda each: f"{day(each.at)} ({age(each.at, now)})"),
        Column("by", None, lambda each: f"{each.operation} {short(each.new)}", style="magenta"),
        Column("what", None, value_change, wide=True, wraps=True),
    ]


def value_change(change: Transition) -> str:
    why = f"\nbecause: {shortened(change.why, LONGEST_VALUE)}" if change.why else ""
    return f"{shortened(change.before, LONGEST_VALUE)} → {shortened(change.after, LONGEST_VALUE)}{why}"
