"""The command `ai-lessons`: what it is asked for, `nacre lesson` does on the configured database."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

import click

from . import __version__, core
from .config import DEFAULT_CONFIG_PATH, get_config, settings_of
from .db import init_db

SAME = ("add search show delete related link unlink tags sources contexts export import reembed stats list restore"
        " audit review validate archive unarchive").split()  # fmt: skip
# As `nacre` calls each.
PASSED_ON = {**{name: ("lesson", name) for name in SAME}, "update": ("lesson", "edit"), "graph": ("graph",)}
PRUNING = ("prune-links", "--below", "2", "--apply", "--yes")  # however heavy: it knew no weights
DESCRIBING = {"-t": "--title", "-c": "--content", "--context": "--contexts", "--anti-context": "--anti-contexts",
              "--source-notes": "--notes"}  # fmt: skip
# Options that it writes otherwise; what is deleted can be restored, so that nobody is asked.
WRITTEN = {"add": DESCRIBING, "update": DESCRIBING, "related": {"-d": "--depth", "-r": "--relation"},
           "search": {"-v": "--why", "--verbose": "--why"}, "delete": {"--yes": "", "-y": ""},
           "graph": {"--prune": "", "--min-traversals": "--walks"}}  # fmt: skip
NOTHING_FOUND = 1  # which was no failure of a search
CARRIED = ("store", "space", "embedder", "embedder_url", "embedder_key", "lesson_limit", "lesson_semantic",
           "lesson_keyword", "on_conflict")  # fmt: skip


class LessonCommands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*PASSED_ON, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return passed_on(cmd_name) if cmd_name in PASSED_ON else super().get_command(ctx, cmd_name)


def passed_on(name: str) -> click.Command:
    words = click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)
    return click.Command(
        name, params=[words], callback=lambda words: sys.exit(native(name, words)), add_help_option=False,
        context_settings={"ignore_unknown_options": True}, short_help=f"As `nacre {' '.join(PASSED_ON[name])}`.",
    )  # fmt: skip


def native(name: str, words: tuple[str, ...]) -> int:
    """In a process of its own, since the commands stand above this package."""
    init_db()
    known = settings_of(get_config())
    given = {f"NACRE_{key.upper()}": str(getattr(known, key)) for key in CARRIED}
    written = WRITTEN.get(name, {})
    told = [renamed(word, written) for word in words]
    if name == "add" and "--help" not in told:
        told += ["--id", core._generate_id()]
        told += [] if {"--content", "-i", "--interactive"} & {*told} else ["--content", "-"]
    told += ["--yes"] if "--merge" in told else []  # it never asked; a merge can be undone
    own = PRUNING if name == "graph" and "--prune" in words else PASSED_ON[name]
    command = [sys.executable, "-m", "nacre", *own, *filter(None, told)]
    code = subprocess.run(command, env=os.environ | given, check=False).returncode
    return 0 if (name, code) == ("search", NOTHING_FOUND) else code


def renamed(word: str, written: Mapping[str, str]) -> str:
    option, sign, value = word.partition("=")
    return written.get(option, option) + sign + value if option.startswith("-") else word


@click.group(cls=LessonCommands)
@click.version_option(__version__, prog_name="ai-lessons")
def main() -> None:
    """Lessons: knowledge with tags, contexts, confidence and a source."""


@main.command()
@click.option("--force", is_flag=True, help="Compute all vectors again.")
def init(force: bool) -> None:
    """Make the database and the configuration."""
    config = get_config()
    init_db(config, force=force)
    if not DEFAULT_CONFIG_PATH.exists():
        config.save()
    click.echo(f"Initialized ai-lessons\n  Database: {config.db_path}\n  Config: {DEFAULT_CONFIG_PATH}")


@main.command()
def confidence() -> None:
    """List the levels of confidence."""
    for level in core.list_confidence_levels():
        click.echo(f"{level.ordinal}. {level.name}")


@main.group()
def manage() -> None:
    """Keep tags and sources in order."""


@manage.command("merge-tags")
@click.argument("from_tag")
@click.argument("to_tag")
def merge_tags(from_tag: str, to_tag: str) -> None:
    """Make one tag of two."""
    click.echo(f"Merged '{from_tag}' into '{to_tag}' ({core.merge_tags(from_tag, to_tag)} lessons affected)")


@manage.command("add-source")
@click.argument("name")
@click.option("-d", "--description", help="What it means.")
@click.option("--typical-confidence", help="How sure its lessons usually are.")
def add_source(name: str, description: str | None, typical_confidence: str | None) -> None:
    """Add a source."""
    if not core.add_source(name, description, typical_confidence):
        raise click.ClickException(f"Source type already exists: {name}")
    click.echo(f"Added source type: {name}")


if __name__ == "__main__":
    main()
