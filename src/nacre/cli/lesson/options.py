"""Options that several commands of lessons share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from nacre.cli.options import combine
from nacre.model.levels import NAMES

F = TypeVar("F", bound=Callable[..., Any])

LEVELS = ", ".join(NAMES[:-1]) + f" or {NAMES[-1]}"


def words_option(*names: str, help: str) -> Callable[[F], F]:
    """Words with commas between them, or the option repeated; None where it is not given."""
    return click.option(*names, multiple=True, metavar="WORD,…", callback=split, help=help)


def split(_ctx: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...] | None:
    """Empty where somebody gave nothing but blanks, which clears."""
    return parted(*values) if values else None


def parted(*values: str) -> tuple[str, ...]:
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


def describing(command: F) -> F:
    """Named as the fields of a lesson."""
    return combine(
        words_option("-g", "--tags", "tags", help="What it is about: git,ci."),
        words_option("--contexts", "contexts", help="Situations that it applies in: team.shared-branch."),
        words_option("--anti-contexts", "anti_contexts", help="Situations that it does not apply in."),
        confidence_option,
        click.option(
            "-s", "--source", metavar="NAME", help="How it is known: tested, documented, observed, inferred, hearsay."
        ),
        click.option("--notes", "source_notes", metavar="TEXT", help="What its source said, and where."),
    )(command)


def confidence_option(command: F) -> F:
    help = f"How sure it is: {LEVELS}."
    return click.option("-c", "--confidence", metavar="LEVEL", callback=level, help=help)(command)


def level(_ctx: click.Context, _option: click.Parameter, value: str | None) -> str | float | None:
    """A level's name as it is, for the book to know; a number as one."""
    try:
        return None if value is None else float(value)
    except ValueError:
        return value


def limit_option(default: int | None) -> Callable[[F], F]:
    return click.option(
        "-n", "-k", "--limit", "limit", type=click.IntRange(min=1), default=default, show_default=default is not None,
        metavar="N", help="At most." if default is not None else "At most; the setting lesson_limit unless given.",
    )  # fmt: skip
