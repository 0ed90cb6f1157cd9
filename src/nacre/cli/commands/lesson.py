"""nacre lesson"""

from __future__ import annotations

from importlib import import_module
from typing import cast

import click

from nacre.cli.lazy_group import LazyGroup
from nacre.cli.lesson.catalogue import COMMANDS, SECTIONS


class LessonGroup(LazyGroup):
    called = "nacre lesson"
    sections = {  # noqa: RUF012 (never changed)
        title: {name: line for name, (_, line) in commands.items()} for title, commands in SECTIONS.items()
    }

    def load(self, name: str) -> click.Command:
        module = import_module(f"nacre.cli.lesson.{COMMANDS[name][0]}")
        return cast(click.Command, getattr(module, f"{name}_command"))


@click.command("lesson", cls=LessonGroup)
def command() -> None:
    """Lessons: knowledge with a title, contexts, confidence and a source, under a vocabulary that stays clean.

    \b
      nacre lesson add --title "Rebase onto main first" --content - --tags git,ci
      nacre lesson search "pipeline fails after a merge" --tags ci
    """
