"""The command `ai-lessons`: runs the commands of `nacre lesson` on the configured database."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

import click

from nacre.settings import DEFAULT

from . import __version__, core
from .config import DEFAULT_CONFIG_PATH, get_config, settings_of
from .db import init_db

OF_LESSONS = ("add search show delete related link unlink tags sources contexts export import reembed stats list audit"
              " review validate").split()  # fmt: skip
OF_MEMORIES = ("restore", "archive", "unarchive", "graph")
# The command of `nacre` for each of ours.
NATIVE = {name: ("lesson", name) for name in OF_LESSONS} | {name: (name,) for name in OF_MEMORIES}
NATIVE["update"] = ("lesson", "edit")
PRUNE = ("prune-links", "--below", "2", "--apply", "--yes")  # of any weight: ai-lessons has no weights
FIELD_OPTIONS = {"-t": "--title", "-c": "--content", "--context": "--contexts", "--anti-context": "--anti-contexts",
                 "--source-notes": "--notes"}  # fmt: skip
# Options with another name; an empty one is dropped. Deleting asks nothing, because it can be undone.
OPTIONS = {"add": FIELD_OPTIONS, "update": FIELD_OPTIONS, "related": {"-d": "--depth", "-r": "--relation"},
           "search": {"-v": "--why", "--verbose": "--why"}, "delete": {"--yes": "", "-y": ""},
           "graph": {"--prune": "", "--min-traversals": "--walks"}}  # fmt: skip
NOTHING_FOUND = 1  # exit code of `nacre lesson search`; ai-lessons exits with 0
PASSED_SETTINGS = ("store", "space", "embedder", "embedder_url", "embedder_key", "lesson_semantic",
                   "on_conflict")  # fmt: skip


class LessonCommands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*NATIVE, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return native_command(cmd_name) if cmd_name in NATIVE else super().get_command(ctx, cmd_name)


def native_command(name: str) -> click.Command:
    arguments = click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)
    return click.Command(
        name, params=[arguments], callback=lambda arguments: sys.exit(run_native(name, arguments)),
        add_help_option=False, context_settings={"ignore_unknown_options": True},
        short_help=f"As `nacre {' '.join(NATIVE[name])}`.",
    )  # fmt: skip


def run_native(name: str, arguments: tuple[str, ...]) -> int:
    """In a process of its own, because this package may not import the commands."""
    init_db()
    config = get_config()
    settings = settings_of(config)
    environment = {f"NACRE_{key.upper()}": str(getattr(settings, key)) for key in PASSED_SETTINGS}
    environment["NACRE_SPACE"] = settings.space or DEFAULT  # as the functions use it, in whatever folder this runs
    options = OPTIONS.get(name, {})
    passed = [rename_option(argument, options) for argument in arguments]
    if name == "add" and "--help" not in passed:
        passed += ["--id", core._generate_id()]
        passed += [] if {"--content", "-i", "--interactive"} & {*passed} else ["--content", "-"]
    if name == "search" and not any(each.startswith(("-n", "-k", "--limit")) for each in passed):
        passed = ["--limit", str(config.search.default_limit), *passed]
    passed += ["--restore-deleted"] if name == "import" and "--help" not in passed else []  # its deleting has no trash
    passed += ["--yes"] if "--merge" in passed else []  # ai-lessons never asked; a merge can be undone
    native = PRUNE if name == "graph" and "--prune" in arguments else NATIVE[name]
    command = [sys.executable, "-m", "nacre", *native, *filter(None, passed)]
    code = subprocess.run(command, env=os.environ | environment, check=False).returncode
    return 0 if (name, code) == ("search", NOTHING_FOUND) else code


def rename_option(argument: str, options: Mapping[str, str]) -> str:
    option, sign, value = argument.partition("=")
    return options.get(option, option) + sign + value if option.startswith("-") else argument


@click.group(cls=LessonCommands)
@click.version_option(__version__, prog_name="ai-lessons")
def main() -> None:
    """Lessons: knowledge with tags, contexts, confidence and a source."""


@main.command()
@click.option("--force", is_flag=True, help="Compute all vectors again.")
def init(force: bool) -> None:
    """Create the database and the configuration."""
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
    """Merge tags and add sources."""


@manage.command("merge-tags")
@click.argument("from_tag")
@click.argument("to_tag")
def merge_tags(from_tag: str, to_tag: str) -> None:
    """Merge one tag into another."""
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
