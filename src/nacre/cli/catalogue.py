"""The table of all commands, and the group that imports a command only when it runs."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
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


LONGEST_LINE = 90  # characters of a command's line in a list
FIRST_SCREEN = ("Remember and find", "Change and review", "Agents and page", "Import and export", "Store and settings")
FOR_GOOD = ("redact", "purge")  # never suggested for a mistyped name: what they delete is gone for good
UNDO_AN_UNDO = "`nacre undo BATCH` undoes an undo too; `nacre journal` shows its BATCH."


class CatalogueGroup(click.Group):
    """Lists its commands from a table, by section, and suggests the nearest name for a mistyped one."""

    called: ClassVar[str] = "nacre"  # how the group itself is called
    entries: ClassVar[Mapping[str, Entry]] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.entries:
            return None
        return imported(self.entries[cmd_name])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.entries and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"No such command {name!r}. {self.remedy(name)}", ctx)
        return super().resolve_command(ctx, args)

    def remedy(self, name: str) -> str:
        if name == "redo":
            return UNDO_AN_UNDO
        near = get_close_matches(name, [each for each in self.entries if each not in FOR_GOOD], n=1, cutoff=0.5)
        return f"Did you mean {near[0]!r}?" if near else f"`{self.called} --help` lists them all."

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        write_sections(formatter, self.entries)


class OpenGroup(click.Group):
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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-") and not ctx.resilient_parsing:
            near = get_close_matches(name, [each for each in known if each not in FOR_GOOD], n=1, cutoff=0.5)
            remedy = f"Did you mean {near[0]!r}?" if near else f"`{ctx.command_path} --help` lists them all."
            raise click.UsageError(f"No such command {name!r}. {remedy}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = command_lines(self, ctx)
        widest = max(map(len, lines))
        with formatter.section("Commands"):
            formatter.write_dl([(name.ljust(widest), help) for name, help in lines.items()])


def command_lines(group: click.Group, ctx: click.Context) -> dict[str, str]:
    """Each command of a group with its line of help; what the group takes from another module is not imported."""
    added = members(group.name or "") if isinstance(group, OpenGroup) else {}
    own = {name: command.get_short_help_str(LONGEST_LINE) for name, command in group.commands.items()}
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
