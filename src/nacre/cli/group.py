"""The group of all commands: imports one when it is run, and is the one place where errors become exit codes."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from keyword import iskeyword
from typing import TYPE_CHECKING, cast

import click

from nacre.cli.catalogue import HELP, SECTIONS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class CommandGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(HELP)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in HELP:
            return None
        command = cast(click.Command, import_module(f"nacre.cli.commands.{module_of(cmd_name)}").command)
        if ctx.resilient_parsing:  # a shell asks what could come next
            from nacre.cli.completing import completing

            return completing(command)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:
            from nacre.cli.completing import completing

            completing(self)
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Without importing every command for its line of help, as click would."""
        from nacre.cli.completing import commands

        options = click.Command.shell_complete(self, ctx, incomplete) if incomplete.startswith("-") else []
        return [*commands(incomplete), *options]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in HELP and not name.startswith("-") and not ctx.resilient_parsing:
            near = get_close_matches(name, HELP, n=1, cutoff=0.5)
            remedy = f"Did you mean {near[0]!r}?" if near else "`nacre --help` lists them all."
            raise click.UsageError(f"No such command {name!r}. {remedy}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        widest = max(map(len, HELP))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), line) for name, line in commands.items()])

    def invoke(self, ctx: click.Context) -> object:
        from nacre.cli.faults import told  # not at the top: `--help` ends before a fault can happen

        with told(ctx):
            return super().invoke(ctx)


def module_of(command: str) -> str:
    """`import` is a word of Python, and no name for a file that others import."""
    name = command.replace("-", "_")
    return f"{name}_" if iskeyword(name) else name
