"""The table of all commands, and the group that imports a command only when it runs."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
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
        entry = self.entries[cmd_name]
        return cast(click.Command, getattr(import_module(entry.module), entry.attribute))

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
        widest = max(map(len, self.entries))
        for title, entries in sections(self.entries).items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), entry.help) for name, entry in entries.items()])


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
