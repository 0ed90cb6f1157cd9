"""nacre import"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from nacre.cli.asking import counted, sure
from nacre.cli.carrying import archive_file
from nacre.cli.commands.export import STREAM
from nacre.cli.door import Door
from nacre.cli.faults import Refused
from nacre.cli.options import door_options, form_option, why_option, yes_option
from nacre.cli.output import DATA, print_data, say
from nacre.cli.progress import progress_line
from nacre.errors import ImportConflict

if TYPE_CHECKING:
    from pathlib import Path

    from nacre.portability.archive import Fault, ImportSummary
    from nacre.store import MemoryStore

POLICIES = ("skip", "overwrite", "rename", "error", "newer")
WILL = "Will import"  # said before the question, so that what is asked is known
SHOWN = 10  # faults that a person reads; JSON has more of them


class How(TypedDict):
    on_conflict: str
    regenerate_vectors: bool


@click.command("import")
@click.argument("file", metavar="FILE|-")
@click.option(
    "--on-conflict",
    type=click.Choice(POLICIES),
    default="skip",
    show_default=True,
    help="What becomes of ids that are here already; newer takes what was changed later.",
)
@click.option("--regenerate-vectors", is_flag=True, help="Compute all vectors anew, whatever the file brings.")
@click.option("--dry-run", is_flag=True, help="Say what would come, and change nothing.")
@form_option("text", "json")
@yes_option
@why_option
@door_options
@click.pass_obj
def command(door: Door, file: str, dry_run: bool, form: str | None, yes: bool, why: str, **how: Unpack[How]) -> None:
    """Bring the memories of FILE, or of stdin for `-`, into the space: all that can be kept in one act, or nothing.

    The file is read through before anything is written. Lines that cannot be kept are counted and named; a file that
    is damaged or cut short is not taken at all. `nacre undo` takes an import back. Other writers wait while it lasts.
    """
    if file == STREAM and not (yes or dry_run):
        raise click.UsageError("Stdin brings the file, and nobody can be asked; add --yes or --dry-run.")
    with archive_file(file) as path, door.open() if dry_run else door.open_with_model() as store:
        if dry_run or not yes:
            would = run(store, path, how, dry_run=True)
            tell(would, form, "Would import" if dry_run else WILL)
            if dry_run:
                return
            sure(f"Import {file} into the space {store.space!r}? `nacre undo` takes it back.")
        tell(run(store, path, how, dry_run=False, why=why), form, "Imported")


def run(store: MemoryStore, path: Path, how: How, *, dry_run: bool, why: str = "") -> ImportSummary:
    from nacre.portability.importing import import_archive

    with progress_line() as progress:
        try:
            return import_archive(store, path, dry_run=dry_run, why=why, progress=progress, **how)
        except ImportConflict as error:
            raise Refused(str(error)) from error


def tell(done: ImportSummary, form: str | None, deed: str) -> None:
    if form in DATA and deed != WILL:
        print_data(asdict(done), form)
        return
    say(f"{deed} {counted(done.imported + done.renamed)}{'; ' if more(done) else ''}{more(done)}.")
    tell_faults(done.faults, done.errors)
    for note in done.notes:
        say(note)


def more(done: ImportSummary) -> str:
    parts = {
        "of them under another id": done.renamed,
        "overwritten": done.overwritten,
        "skipped": done.skipped,
        "words of the vocabulary": done.words,
        "to be embedded" if not done.batch else "embedded": done.vectors_regenerated,
        "lines passed over": done.errors,
    }
    return ", ".join(f"{count:,} {what}" for what, count in parts.items() if count)


def tell_faults(faults: Sequence[Fault], errors: int) -> None:
    for fault in faults[:SHOWN]:
        say(f"  line {fault.line}: {fault.why}")
    if errors > min(len(faults), SHOWN):
        say(f"  and {errors - min(len(faults), SHOWN):,} more")
