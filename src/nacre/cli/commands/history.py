"""nacre history and diff: what changed over time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import NamedTuple, Unpack

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.lookup import resolve_id
from nacre.cli.options import TimeOptions, command, form_option, time_options
from nacre.cli.ui.columns import headline, short
from nacre.cli.ui.output import (
    DATA,
    Column,
    chosen_form,
    print_data,
    print_items,
    print_rows,
    print_table,
    say,
    shortened,
)
from nacre.cli.ui.prompts import count_of
from nacre.cli.ui.records import field_text, memory_record, with_iso_times
from nacre.cli.ui.times import age, known_by, since
from nacre.model import Difference, History, Memory, Transition
from nacre.model.instants import iso

LONGEST_VALUE = 200  # of what a value was and became; `-f json` has all of it


@command("history")
@click.argument("id")
@time_options
@form_option()
def history_command(cli: CliContext, id: str, form: str | None, **times: Unpack[TimeOptions]) -> None:
    """Show every version of this memory, oldest first, and what changed when and why."""
    with cli.open() as store:
        history = store.history(resolve_id(store, id), **times)
    chosen = chosen_form(form)
    if chosen in DATA:
        versions = [memory_record(version) for version in history.versions]
        changes = [transition_record(change) for change in history.transitions]
        print_data({"head": history.head.id, "versions": versions, "changes": changes}, chosen)
    elif chosen == "tsv":
        print_rows(history_rows(history))
    else:
        print_items(history.versions, version_columns(), memory_record, "table")
        if history.transitions:
            sys.stdout.write("\n")
        print_items(history.transitions, change_columns(cli.now()), transition_record, "table")


def transition_record(change: Transition) -> dict[str, object]:
    fields = {**asdict(change), "at": iso(change.at)}
    return {("act" if name == "operation" else name): value for name, value in fields.items()}


def history_rows(history: History) -> list[list[str]]:
    """Versions and changes in the same columns: what, id, from, until, value before, value after, operation, why."""
    versions = [
        ["version", each.id, iso(valid_from(each)), iso(each.valid_until), "", each.text, "", ""]
        for each in history.versions
    ]
    changes = [
        ["change", each.new, iso(each.at), "", each.before, each.after, each.operation, each.why]
        for each in history.transitions
    ]
    return versions + changes


def valid_from(version: Memory) -> float:
    return version.happened_at if version.valid_from is None else version.valid_from


def version_columns() -> list[Column[Memory]]:
    return [
        Column("id", lambda each: short(each.id), style="cyan", only="table"),
        Column("held from", lambda each: minute_text(valid_from(each)), only="table"),
        Column("until", valid_until, only="table"),
        Column("version", headline, wide=True, wraps=True, only="table"),
    ]


def valid_until(version: Memory) -> str:
    if version.status == "trashed":
        return "(in the trash)"
    if version.valid_until is not None:
        return minute_text(version.valid_until)
    return "(superseded)" if version.superseded_by else "now"


def minute_text(at: float) -> str:
    return iso(at)[:16].replace("T", " ")


def change_columns(now: float) -> list[Column[Transition]]:
    return [
        Column("changed", lambda each: f"{minute_text(each.at)} ({age(each.at, now)})", only="table"),
        Column("by", lambda each: f"{each.operation} {short(each.new)}", style="magenta", only="table"),
        Column("what", value_change, wide=True, wraps=True, only="table"),
    ]


def value_change(change: Transition) -> str:
    why = f"\nbecause: {shortened(change.why, LONGEST_VALUE)}" if change.why else ""
    return f"{shortened(change.before, LONGEST_VALUE)} → {shortened(change.after, LONGEST_VALUE)}{why}"


class DiffLine(NamedTuple):
    sign: str
    id: str
    field: str
    before: str
    after: str


@command("diff")
@click.argument("earlier", metavar="WHEN")
@click.argument("later", required=False, metavar="[WHEN]")
@form_option()
def diff_command(cli: CliContext, earlier: str, later: str | None, form: str | None) -> None:
    """Show what came (+), went (-) and changed (~) between two times, or since one.

    WHEN is 2h, 7d, a time, or a date (UTC). Of two dates both days count: from the first one's beginning to the second
    one's end. What was purged since is not told.
    """
    now = cli.now()
    if later is not None and since(earlier, now) > since(later, now):
        earlier, later = later, earlier
    begin, end = since(earlier, now), now if later is None else known_by(later, now)
    with cli.open() as store:
        difference = store.diff(begin, end)
    print_table(list(diff_lines(difference)), diff_columns(), diff_record(difference), form)
    came, went, changed = len(difference.added), len(difference.removed), len(difference.changed)
    counts = f"{count_of(came)} came, {went:,} went, {changed:,} changed"
    say(*difference.notes, f"{counts} between {iso(begin)} and {iso(end)}.")


def diff_lines(difference: Difference) -> Iterator[DiffLine]:
    for memory in difference.added:
        yield DiffLine("+", memory.id, "", "", memory.text)
    for memory in difference.removed:
        yield DiffLine("-", memory.id, "", memory.text, "")
    for change in difference.changed:
        for name, (before, after) in change.fields.items():
            yield DiffLine("~", change.after.id, name, field_text(name, before), field_text(name, after))


def diff_columns() -> list[Column[DiffLine]]:
    return [
        Column("", lambda line: line.sign, style="magenta"),
        Column("id", lambda line: line.id, lambda line: short(line.id), style="cyan"),
        Column("field", lambda line: line.field, lambda line: line.field.replace("_", " ")),
        Column("before", lambda line: line.before, only="tsv"),
        Column("what", lambda line: line.after, diff_text, wide=True, wraps=True),
    ]


def diff_text(line: DiffLine) -> str:
    before, after = shortened(line.before, LONGEST_VALUE), shortened(line.after, LONGEST_VALUE)
    return f"{before} → {after}" if line.sign == "~" else before or after


def diff_record(difference: Difference) -> dict[str, object]:
    return {
        "added": [memory_record(memory) for memory in difference.added],
        "removed": [memory_record(memory) for memory in difference.removed],
        "changed": [
            {
                "id": change.after.id,
                "before": with_iso_times({name: before for name, (before, _) in change.fields.items()}),
                "after": with_iso_times({name: after for name, (_, after) in change.fields.items()}),
            }
            for change in difference.changed
        ],
        "notes": list(difference.notes),
    }
