"""nacre import"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from nacre.cli.carrying import archive_file
from nacre.cli.cli_context import CliContext
from nacre.cli.commands.export import STREAM
from nacre.cli.errors import Refused
from nacre.cli.options import form_option, global_options, why_option, yes_option
from nacre.cli.ui.output import DATA, print_data, say
from nacre.cli.ui.prompts import confirm, count_of, progress_line
from nacre.errors import ImportConflict

if TYPE_CHECKING:
    from pathlib import Path

    from nacre.memory_store import MemoryStore
    from nacre.transfer.archive import Fault, ImportSummary

POLICIES = ("skip", "overwrite", "rename", "error", "newer")
WILL = "Will import"  # said before the question, so that what is asked is known
SHOWN = 10  # faults that a person reads; JSON has more of them


# The words that choose another program's memory; `portability.foreign` has them too, and is slow to load.
SOURCES = ("chroma", "ai-lessons", "amplihack", "server-memory")
LINED = ("", "server-memory")  # an archive and that are read line by line


class How(TypedDict):
    on_conflict: str
    regenerate_vectors: bool
    collections: tuple[str, ...]


@click.command("import")
@click.argument("words", nargs=-1, required=True, metavar="[SOURCE] PATH|-")
@click.option(
    "--on-conflict",
    type=click.Choice(POLICIES),
    default="skip",
    show_default=True,
    help="What becomes of ids that are here already; newer takes what was changed later.",
)
@click.option("--regenerate-vectors", is_flag=True, help="Compute all vectors anew, whatever the file brings.")
@click.option(
    "--collection", "collections", multiple=True, metavar="NAME", help="Of chroma: this collection; may be repeated."
)
@click.option("--dry-run", is_flag=True, help="Say what would come, and change nothing.")
@form_option("text", "json")
@yes_option
@why_option
@global_options
@click.pass_obj
def command(
    cli: CliContext, words: tuple[str, ...], dry_run: bool, form: str | None, yes: bool, why: str, **how: Unpack[How]
) -> None:
    """Bring the memories of a file, or of stdin for `-`, into the space: all that can be kept in one act, or nothing.

    The file is read through before anything is written. Lines that cannot be kept are counted and named; a file that
    is damaged or cut short is not taken at all. `nacre undo` takes an import back. Other writers wait while it lasts.

    A first word that names another program brings what that one remembers, under its own ids and with its dates, ties
    and successors; nothing of it is changed, and a second time nothing comes twice.

    \b
      nacre import all.nacre
      nacre import chroma ./.chroma --dry-run
      nacre import ai-lessons ~/.ai/lessons/knowledge.db
      nacre import amplihack ~/.amplihack/memory/scout --space scout
      nacre import server-memory memory.jsonl
    """
    source, file = told_apart(words)
    if how["collections"] and source != SOURCES[0]:
        raise click.UsageError("Only chroma has collections; leave --collection out.")
    if file == STREAM and not (yes or dry_run):
        raise click.UsageError("Stdin brings the file, and nobody can be asked; add --yes or --dry-run.")
    with archive_file(file) as path, cli.open_if_made() if dry_run else cli.open_or_make(model=True) as store:
        if dry_run or not yes:
            would = run(store, source, path, how, dry_run=True)
            tell(would, form, "Would import" if dry_run else WILL, source)
            if dry_run:
                return
            confirm(f"Import {file} into the space {store.space!r}? `nacre undo` takes it back.")
        tell(run(store, source, path, how, dry_run=False, why=why), form, "Imported", source)


def told_apart(words: tuple[str, ...]) -> tuple[str, str]:
    """The source, empty for an archive, and the path. A file that is named as a source is reached as ./chroma."""
    if len(words) == 1 and words[0] not in SOURCES:
        return "", words[0]
    if words[0] not in SOURCES:
        raise click.UsageError(f"{words[0]!r} is none of {', '.join(SOURCES)}; name one of them, or a single file.")
    if len(words) != len(("source", "path")):
        raise click.UsageError(f"Say where it lies: nacre import {words[0]} PATH.")
    return words[0], words[1]


def run(store: MemoryStore, source: str, path: Path, how: How, *, dry_run: bool, why: str = "") -> ImportSummary:
    from nacre.transfer.import_archive import import_archive, import_foreign

    policy, anew = how["on_conflict"], how["regenerate_vectors"]
    with progress_line() as progress:
        try:
            if not source:
                return import_archive(
                    store, path, on_conflict=policy, regenerate_vectors=anew, dry_run=dry_run, why=why,
                    progress=progress,
                )  # fmt: skip
            return import_foreign(
                store, source, path, collections=how["collections"], on_conflict=policy, regenerate_vectors=anew,
                dry_run=dry_run, why=why, progress=progress,
            )  # fmt: skip
        except ImportConflict as error:
            raise Refused(str(error)) from error


def tell(done: ImportSummary, form: str | None, deed: str, source: str = "") -> None:
    if form in DATA and deed != WILL:
        print_data(asdict(done), form)
        return
    unit = "line" if source in LINED else "row"
    rest = more(done, unit)
    say(f"{deed} {count_of(done.imported + done.renamed)}{'; ' if rest else ''}{rest}.")
    tell_faults(done.faults, done.errors, unit)
    for note in done.notes:
        say(note)


def more(done: ImportSummary, unit: str = "line") -> str:
    parts = {
        "of them under another id": done.renamed,
        "overwritten": done.overwritten,
        "skipped": done.skipped,
        "words of the vocabulary": done.words,
        "to be embedded" if not done.batch else "embedded": done.vectors_regenerated,
        f"{unit}s passed over": done.errors,
    }
    return ", ".join(f"{count:,} {what}" for what, count in parts.items() if count)


def tell_faults(faults: Sequence[Fault], errors: int, unit: str) -> None:
    for fault in faults[:SHOWN]:
        say(f"  {unit} {fault.line}: {fault.why}")
    if errors > min(len(faults), SHOWN):
        say(f"  and {errors - min(len(faults), SHOWN):,} more")
