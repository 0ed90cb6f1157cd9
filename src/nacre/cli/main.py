"""The `nacre` command: its options and its group of commands."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from nacre import __version__
from nacre.cli.catalogue import (
    COMMANDS,
    OLD_NAMES,
    SECTIONS,
    CatalogueGroup,
    HelpGroup,
    command_at,
    command_lines,
    suggested,
    write_sections,
)
from nacre.cli.cli_context import CliContext

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


EVERY_COMMAND = "`nacre help --all` lists them all."
RECALL = "`nacre recall QUESTION` finds memories."
FORGET = "`nacre forget ID` moves a memory to the trash."
LOOKED_FOR = {  # what other programs have as a command
    "find": RECALL,
    "search": RECALL,
    "ask": RECALL,
    "explain": "`nacre recall QUESTION --explain` says why each memory was found.",
    "why": "`nacre recall QUESTION --explain` says why each memory was found.",
    "add": "`nacre remember TEXT` stores a text.",
    "get": "`nacre show ID` shows a memory.",
    "ls": "`nacre list` lists memories.",
    "rm": FORGET,
    "delete": FORGET,
    "move": "`nacre memory move ID --to SPACE` moves a memory to another space.",
    "remove": FORGET,
    "redo": "`nacre undo OPERATION` undoes an undo too; `nacre journal` shows its id.",
    "version": "`nacre --version` prints the version.",
    "init": "Nothing has to be set up: the first `nacre remember TEXT` makes the store.",
    "status": "`nacre stats` counts what is in the store, `nacre doctor` checks it.",
}


class CommandGroup(CatalogueGroup):
    """All commands; the one place where errors become exit codes."""

    sections = SECTIONS

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        if command is None and cmd_name in OLD_NAMES:
            command = command_at(self, ctx, OLD_NAMES[cmd_name])
        if command is not None and ctx.resilient_parsing:  # a shell asks what could come next
            from nacre.cli.completion import add_completion

            return add_completion(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in OLD_NAMES:
            return click.Group.resolve_command(self, ctx, args)
        return super().resolve_command(ctx, args)

    def remedy(self, name: str, ctx: click.Context, path: str = "") -> str:  # noqa: ARG002 (no group is above this one)
        """Where an older name is the nearest, its path now."""
        if name in LOOKED_FOR:
            return LOOKED_FOR[name]
        known = {**{each: each for each in COMMANDS}, **OLD_NAMES}
        near = suggested(name, known)
        return f"Did you mean {known[near]!r}?" if near else EVERY_COMMAND

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        write_sections(formatter, [section for section in SECTIONS if section.first_screen])
        formatter.write_paragraph()
        formatter.write_text(MORE)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:
            from nacre.cli.completion import add_completion

            add_completion(self)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            from nacre.cli.errors import no_such_option

            raise no_such_option(error) from None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Without importing every command for its line of help, as click would."""
        from nacre.cli.completion import commands

        options = click.Command.shell_complete(self, ctx, incomplete) if incomplete.startswith("-") else []
        return [*commands(incomplete), *options]

    def invoke(self, ctx: click.Context) -> object:
        from nacre.cli.errors import errors_as_exit_codes  # not at the top: `--help` ends before an error can happen

        with errors_as_exit_codes(ctx):
            return super().invoke(ctx)


EXAMPLE = """Long-term memory for AI agents, in one file.

  nacre remember "The staging server is at 10.0.0.7"
  nacre recall "where is staging?"
  nacre undo
"""
WIDEST_PATH = 30  # characters of a command's path in a list
MORE = "`nacre help COMMAND` explains one of them, `nacre help --all` lists all others."


@click.command(cls=CommandGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--store", metavar="FILE", help="The store's file or its folder, or the address of a database or a server."
)
@click.option("--space", metavar="NAME", help="The space to work in; see `nacre space list` for the usual one.")
@click.option(
    "--embedder",
    metavar="NAME",
    help="auto, multilingual, english, hashing, openai:MODEL or sentence-transformers:MODEL.",
)
# For hooks, which have no environment of their own. Not taken after a command: some have a --key that means another.
@click.option("--key", hidden=True)
@click.option("--debug", is_flag=True, help="Show the log, and the traceback of an error.")
@click.version_option(__version__, "-V", "--version", message="nacre %(version)s")
@click.pass_context
def nacre(ctx: click.Context, /, debug: bool, **flags: str | None) -> None:
    """Long-term memory for AI agents, in one file.

    Settings come from these options, from NACRE_STORE, NACRE_SPACE and NACRE_EMBEDDER, from the nearest .nacre.toml
    upwards (as far as you trust it: see `nacre config trust`), or from your own config.toml; the first match wins.
    """
    ctx.obj = CliContext({name: value for name, value in flags.items() if value is not None}, debug)
    if os.environ.get("NO_COLOR"):
        ctx.color = False
    if ctx.invoked_subcommand is None:
        formatter = ctx.make_formatter()
        formatter.write(EXAMPLE)
        nacre.format_commands(ctx, formatter)
        click.echo(formatter.getvalue(), nl=False)
        if waiting := ctx.obj.review_line():
            click.echo(waiting)


@click.command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.option("--all", "everything", is_flag=True, help="List every command.")
@click.pass_context
def help_command(ctx: click.Context, words: tuple[str, ...], everything: bool) -> None:
    """Explain a command; with --all, list every command.

    \b
      nacre help graph link
    """
    root = ctx.find_root()
    command = command_at(nacre, root, " ".join(words))
    if command is None:
        raise click.UsageError(f"No such command {' '.join(words)!r}. {help_remedy(words, root)}", root)
    click.echo(every_command(root) if everything else command.get_help(context_of(words, root)), nl=not everything)


def help_remedy(words: tuple[str, ...], root: click.Context) -> str:
    """What the group says about the first of these words that it does not know, with the path to it."""
    for at, word in enumerate(words):
        group = command_at(nacre, root, " ".join(words[:at]))
        if isinstance(group, HelpGroup) and command_at(nacre, root, " ".join(words[: at + 1])) is None:
            path = "".join(f"{each} " for each in words[:at])
            return group.remedy(word, context_of(words[:at], root), path)
    return EVERY_COMMAND


def context_of(words: tuple[str, ...], root: click.Context) -> click.Context:
    """As if the command with this path were called."""
    ctx = root
    for at, word in enumerate(words, 1):
        here = command_at(nacre, root, " ".join(words[:at]))
        if here is not None:
            ctx = click.Context(here, parent=ctx, info_name=word, **here.context_settings)
    return ctx


def every_command(ctx: click.Context) -> str:
    """All commands by section, those of groups below their group."""
    formatter = ctx.make_formatter()
    for title, entries, _ in SECTIONS:
        lines: list[tuple[str, str]] = []
        for name, _, help in entries:
            lines.append((name, help))
            command = nacre.get_command(ctx, name)
            if isinstance(command, click.Group):
                lines += [(f"  {name} {inner}", help) for inner, help in command_lines(command, ctx).items()]
        with formatter.section(title):
            formatter.write_dl(lines, col_max=WIDEST_PATH)
    return formatter.getvalue()
