"""Plans that a person reads before anything is done: what every command with `--apply` has in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypedDict, TypeVar

import click

from nacre.cli.asking import sure
from nacre.cli.options import door_options, form_option, together, why_option
from nacre.cli.output import Column, chosen_form, print_items, say

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

ROWS = 20


class Planning(TypedDict):
    applied: bool
    yes: bool
    why: str
    limit: int
    form: str | None


def planning(command: F) -> F:
    return together(
        click.option("--apply", "applied", is_flag=True, help="Carry the plan out; without it nothing is changed."),
        click.option("-y", "--yes", is_flag=True, help="Do not ask."),
        why_option,
        rows_option,
        form_option(),
        door_options,
    )(command)


def rows_option(command: F) -> F:
    help = "Rows of a table at most; 0 for all. TSV and JSON have them all."
    limit = click.option(
        "-n", "limit", type=click.IntRange(min=0), metavar="N", default=ROWS, show_default=True, help=help
    )
    return limit(command)


def show(
    items: Sequence[T], columns: Sequence[Column[T]], record: Callable[[T], object], limit: int, form: str | None
) -> None:
    """The whole plan for programs; for people as much of it as they would read."""
    shown = items[:limit] if limit and chosen_form(form) == "table" else items
    print_items(shown, columns, record, form)
    if len(shown) < len(items):
        say(f"and {len(items) - len(shown):,} more; -n 0 lists them all.")


def agreed(asked: Planning, would: str, question: str = "") -> bool:
    """Whether to act. Ends the command when the question is answered with no."""
    if not asked["applied"]:
        say(f"{would}; --apply carries it out.")
        return False
    if question and not asked["yes"]:
        sure(question)
    return True
