"""Walks a person through what waits, one key a decision."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import click

from nacre.cli.commands.review import QUIT, SKIP, Choice, ask_choice
from nacre.cli.ui.output import one_line, printable, put, say
from nacre.errors import InvalidInput, MemoryNotFound


@dataclass(frozen=True, slots=True)
class Step:
    """What waits, what can be done, and how; that returns what to say."""

    told: str
    choices: tuple[Choice, ...]
    carry_out: Callable[[Choice], str]
    below: str = ""


def asks(form: str | None) -> bool:
    """Whether somebody is there to be asked."""
    return form is None and sys.stdin.isatty() and sys.stdout.isatty()


def walk(steps: Sequence[Step]) -> None:
    """Each decision is carried out at once; one that cannot be is told, and still waits."""
    settled = 0
    for at, step in enumerate(steps, 1):
        place = click.style(f"{at} of {len(steps)}", dim=True)
        put(f"\n{place}  {click.style(one_line(step.told), bold=True)}")
        if step.below:
            put(printable(step.below))
        choice = ask_choice((*step.choices, SKIP, QUIT))
        if choice is QUIT:
            break
        if choice is not SKIP:
            settled += carried_out(step, choice)
    say(f"Settled {settled} of {len(steps)}." + (" `nacre undo` takes back the last." if settled else ""))


def carried_out(step: Step, choice: Choice) -> bool:
    try:
        say(step.carry_out(choice))
    except (InvalidInput, MemoryNotFound) as error:
        say(f"Nothing was decided: {error}")
        return False
    return True
