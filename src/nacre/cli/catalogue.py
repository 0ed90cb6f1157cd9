"""The table of all commands, and the group that imports a command only when it runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import ClassVar, NamedTuple, cast

import click

from nacre.files import data_sections


class Entry(NamedTuple):
    """Where a command is defined, and its line in `--help`."""

    section: str
    module: str
    attribute: str
    help: str


SENTENCE_END = re.compile(r"[.:](?= |$)|; ")
FIRST_SCREEN = ("Remember and find", "Change and review", "Agents and page", "Import and export", "Store and settings")
FOR_GOOD = ("redact", "purge")  # never suggested for a mistyped name: what they delete is gone for good


class HelpGroup(click.Group):
    """Without a command it prints its help on stdout and exits with 0."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.list_commands(ctx) and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"No such command {name!r}. {self.remedy(name, ctx)}", ctx)
        return super().resolve_command(ctx, args)

    def remedy(self, name: str, ctx: click.Context, path: str = "") -> str:
        """What to write instead of a name that no command has; `path` comes before a name that is suggested."""
        near = suggested(name, self.list_commands(ctx))
        return f"Did you mean {path + near!r}?" if near else f"`{ctx.command_path} --help` lists them all."


def suggested(name: str, known: Iterable[str]) -> str | None:
    from nacre.errors import nearest_name

    return nearest_name(name, [each for each in known if each not in FOR_GOOD])


class CatalogueGroup(HelpGroup):
    """Lists its commands from a table, by section, and suggests the nearest name for a mistyped one."""

    entries: ClassVar[Mapping[str, Entry]] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.entries:
            return None
        return imported(self.entries[cmd_name])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        write_sections(formatter, self.entries)


class GroupWithMembers(HelpGroup):
    """Has its own commands, and those that `group_members.txt` adds to it; these are imported when they run."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return [*self.commands, *members(self.name or "")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        added = members(self.name or "")
        if cmd_name not in added:
            return super().get_command(ctx, cmd_name)
        command = imported(added[cmd_name])
        if ctx.resilient_parsing:  # a shell asks what could come next
            from nacre.cli.completion import add_completion

            return add_completion(command, self.name or "")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = command_lines(self, ctx)
        widest = max(map(len, lines))
        with formatter.section("Commands"):
            formatter.write_dl([(name.ljust(widest), help) for name, help in lines.items()])


def first_sentence(command: click.Command) -> str:
    """Without an end of "...": a line that is too long for the terminal goes on below."""
    said = " ".join((command.help or "").partition("\n\n")[0].split())
    end = SENTENCE_END.search(said)
    return (said[: end.start()] if end else said).rstrip(".")


def command_lines(group: click.Group, ctx: click.Context) -> dict[str, str]:
    """Each command of a group with its line of help; what the group takes from another module is not imported."""
    added = members(group.name or "") if isinstance(group, GroupWithMembers) else {}
    own = {name: first_sentence(command) for name, command in group.commands.items()}
    if isinstance(group, CatalogueGroup):
        own = {name: entry.help for name, entry in group.entries.items()}
    listed = group.list_commands(ctx)
    return {name: added[name].help if name in added else own[name] for name in listed}


def write_sections(formatter: click.HelpFormatter, entries: Mapping[str, Entry]) -> None:
    widest = max(map(len, entries))
    for title, listed in sections(entries).items():
        with formatter.section(title):
            formatter.write_dl([(name.ljust(widest), entry.help) for name, entry in listed.items()])


def imported(entry: Entry) -> click.Command:
    return cast(click.Command, getattr(import_module(entry.module), entry.attribute))


def command_at(group: click.Group, ctx: click.Context, path: str) -> click.Command | None:
    """The command with this path below a group: `graph link`."""
    command: click.Command | None = group
    for name in path.split():
        command = command.get_command(ctx, name) if isinstance(command, click.Group) else None
    return command


def sections(entries: Mapping[str, Entry]) -> dict[str, dict[str, Entry]]:
    """The entries by section, in the order of the table."""
    by_section: dict[str, dict[str, Entry]] = {}
    for name, entry in entries.items():
        by_section.setdefault(entry.section, {})[name] = entry
    return by_section


def read_catalogue(file: str) -> dict[str, Entry]:
    """Each line of a section is `name | module | help`."""
    lines = ((section, *line.split(" | ")) for section, lines in data_sections(file) for line in lines)
    return {
        name: Entry(section, f"nacre.cli.{module}", f"{name.replace('-', '_')}_command", help)
        for section, name, module, help in lines
    }


COMMANDS: Mapping[str, Entry] = read_catalogue("cli/commands.txt")


@cache
def members(group: str) -> Mapping[str, Entry]:
    """The commands that a group takes from other modules."""
    return {name: each for name, each in read_members().items() if each.section == group}


@cache
def read_members() -> Mapping[str, Entry]:
    return read_catalogue("cli/group_members.txt")


@cache
def old_names() -> Mapping[str, str]:
    """The names that commands had before they were put into groups, each with its path now."""
    lines = (line.partition(" | ") for _, lines in data_sections("cli/old_names.txt") for line in lines)
    return {old: path for old, _, path in lines}
