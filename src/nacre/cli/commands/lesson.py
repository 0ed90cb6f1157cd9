"""nacre lesson"""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import cast

import click

from nacre.cli.lesson.catalogue import COMMANDS, SECTIONS


class LessonGroup(click.Group):
    """Imports a command when it is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"nacre.cli.lesson.{COMMANDS[cmd_name][0]}")
        return cast(click.Command, getattr(module, f"{cmd_name}_command"))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            near = get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
            remedy = f"Did you mean {near[0]!r}?" if near else "`nacre lesson --help` lists them all."
            raise click.UsageError(f"No such command {name!r}. {remedy}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        widest = max(map(len, COMMANDS))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), line) for name, (_, line) in commands.items()])


@click.command("lesson", cls=LessonGroup)
def command() -> None:
    """Lessons: knowledge with a title, contexts, confidence and a source, under a vocabulary that stays clean.

    \b
      nacre lesson add --title "Rebase onto main first" --content - --tags git,ci
      nacre lesson search "pipeline fails after a merge" --tags ci
    """
