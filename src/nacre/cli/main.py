"""The `nacre` command: its options and its group of commands."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from nacre import __version__
from nacre.cli.catalogue import COMMANDS, CatalogueGroup
from nacre.cli.cli_context import CliContext

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class CommandGroup(CatalogueGroup):
    """All commands; the one place where errors become exit codes."""

    entries = COMMANDS

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        if command is not None and ctx.resilient_parsing:  # a shell asks what could come next
            from nacre.cli.completion import add_completion

            return add_completion(command)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:
            from nacre.cli.completion import add_completion

            add_completion(self)
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Without importing every command for its line of help, as click would."""
        from nacre.cli.completion import commands

        options = click.Command.shell_complete(self, ctx, incomplete) if incomplete.startswith("-") else []
        return [*commands(incomplete), *options]

    def invoke(self, ctx: click.Context) -> object:
        from nacre.cli.errors import errors_as_exit_codes  # not at the top: `--help` ends before an error can happen

        with errors_as_exit_codes(ctx):
            return super().invoke(ctx)


@click.command(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--store", metavar="FILE", help="The store's file or its folder, or the address of a database or a server."
)
@click.option("--space", metavar="NAME", help="The space to work in; see `nacre spaces` for the usual one.")
@click.option(
    "--embedder",
    metavar="NAME",
    help="auto, multilingual, english, hashing, openai:MODEL or sentence-transformers:MODEL.",
)
@click.option("--debug", is_flag=True, help="Show the log, and the traceback of an error.")
@click.version_option(__version__, "-V", "--version", message="nacre %(version)s")
@click.pass_context
def nacre(ctx: click.Context, /, debug: bool, **flags: str | None) -> None:
    """Long-term memory for AI agents, in one file.

    Settings come from these options, from NACRE_STORE, NACRE_SPACE and NACRE_EMBEDDER, from the nearest .nacre.toml
    upwards (as far as you trust it: see `nacre trust`), or from your own config.toml; the first match wins.
    """
    ctx.obj = CliContext({name: value for name, value in flags.items() if value is not None}, debug)
    if os.environ.get("NO_COLOR"):
        ctx.color = False
