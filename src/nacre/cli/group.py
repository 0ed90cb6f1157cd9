"""The group of all commands: imports one when it is run, and is the one place where errors become exit codes."""

from __future__ import annotations

from importlib import import_module
from keyword import iskeyword
from typing import TYPE_CHECKING, cast

import click

from nacre.cli.catalogue import SECTIONS
from nacre.cli.lazy_group import LazyGroup

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class CommandGroup(LazyGroup):
    sections = SECTIONS

    def load(self, name: str) -> click.Command:
        return cast(click.Command, import_module(f"nacre.cli.commands.{module_of(name)}").command)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        if command is not None and ctx.resilient_parsing:  # a shell asks what could come next
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

    def invoke(self, ctx: click.Context) -> object:
        from nacre.cli.errors import errors_as_exit_codes  # not at the top: `--help` ends before a fault can happen

        with errors_as_exit_codes(ctx):
            return super().invoke(ctx)


def module_of(command: str) -> str:
    """`import` is a word of Python, and no name for a file that others import."""
    name = command.replace("-", "_")
    return f"{name}_" if iskeyword(name) else name
