"""`nacre lesson`: the table of its commands, and the group itself."""

from __future__ import annotations

from collections.abc import Mapping

import click

from nacre.cli.catalogue import CatalogueGroup, Entry, old_names, read_catalogue

COMMANDS: Mapping[str, Entry] = read_catalogue("cli/lesson/commands.txt")
FOR_ALL_MEMORIES = ("archive", "unarchive", "restore")  # which one may look for here


class LessonGroup(CatalogueGroup):
    entries = COMMANDS

    def remedy(self, name: str, ctx: click.Context, path: str = "") -> str:
        if name in FOR_ALL_MEMORIES:
            return f"`nacre {old_names()[name]}` is for lessons too."
        return super().remedy(name, ctx, path)


@click.command("lesson", cls=LessonGroup)
def lesson_command() -> None:
    """Lessons: knowledge with a title, contexts, confidence and a source, under a controlled vocabulary.

    \b
      nacre lesson add --title "Rebase onto main first" --content - --tag git --tag ci
      nacre lesson search "pipeline fails after a merge" --tag ci
    """
