"""nacre lesson export and import"""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.lesson.answering import give_one, warn
from nacre.cli.lesson.opening import opened
from nacre.cli.lesson.options import words_option
from nacre.cli.options import form_option, global_options
from nacre.cli.ui.output import escape_unsafe, say
from nacre.cli.ui.prompts import count_of
from nacre.lessons.document import FORMATS
from nacre.lessons.import_plan import POLICIES

if TYPE_CHECKING:
    from nacre.lessons import Answer
    from nacre.lessons.import_plan import ImportReport

FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("export")
@click.option("-o", "--output", "file", type=FILE, metavar="FILE", help="Where to; stdout unless given.")
@click.option(
    "-f", "--format", "format", type=click.Choice(FORMATS), help="How; as FILE ends, else json, unless given."
)
@words_option("-g", "--tags", "tags", help="Only lessons with any of these tags, or what is under them.")
@words_option("--exclude-tags", "exclude_tags", help="None with these tags, or what is under them: sensitive,pii.")
@click.option("--no-archived", is_flag=True, help="Without those in the archive.")
@click.option("--no-redact", is_flag=True, help="With what looks like secrets and personal data, as it is.")
@global_options
@click.pass_obj
def export_command(
    cli: CliContext,
    file: Path | None,
    format: str | None,
    tags: tuple[str, ...] | None,
    exclude_tags: tuple[str, ...] | None,
    no_archived: bool,
    no_redact: bool,
) -> None:
    """Write lessons, their ties and their words to FILE or stdout, for `nacre lesson import` to read.

    Secrets, e-mail addresses and other personal data are left out, unless --no-redact.
    """
    held = io.StringIO()
    with opened(cli) as book:
        written = book.export(
            held if file is None else file,
            format=format,
            tags=tags,
            exclude_tags=exclude_tags,
            include_archived=not no_archived,
            redact=not no_redact,
        )
    if file is None:
        # Bytes, since a file of lessons is UTF-8 whatever the terminal speaks.
        sys.stdout.buffer.write((escape_unsafe(held.getvalue()) if format != "yaml" else held.getvalue()).encode())
        sys.stdout.buffer.flush()
    warn(in_options(written))
    if file is not None:
        say(f"Wrote {count_of(written.data, 'lesson', 'lessons')} to {file}.")


@click.command("import")
@click.argument("file", default="-", metavar="[FILE|-]", type=FILE)
@click.option("--dry-run", is_flag=True, help="Say what would come of it, and do nothing.")
@click.option(
    "--on-existing",
    type=click.Choice(POLICIES),
    default="skip",
    show_default=True,
    help="A lesson that is here already is left, replaced, a fault, or replaced if the file's is later.",
)
@form_option("text", "json")
@global_options
@click.pass_obj
def import_command(cli: CliContext, file: Path, dry_run: bool, on_existing: str, form: str | None) -> None:
    """Read what `nacre lesson export` wrote, from FILE or stdin, in one act: all of it, or nothing."""
    from_stdin = str(file) == "-"
    if from_stdin and sys.stdin.isatty():
        raise click.UsageError("Name a FILE, or feed one: nacre lesson import < lessons.json")
    with opened(cli, model=True, make=True, dry_run=dry_run) as book:
        report = book.import_(sys.stdin.buffer if from_stdin else file, on_existing=on_existing, dry_run=dry_run)
    give_one(report, form, lambda done: tell(done, dry=dry_run))


def in_options(answer: Answer[int]) -> Answer[int]:
    """The remedy in this cli's words."""
    return replace(answer, warnings=tuple(each.replace("redact=False", "--no-redact") for each in answer.warnings))


def tell(report: ImportReport, *, dry: bool) -> None:
    counts = f"{report.new:,} new, {report.changed:,} changed, {report.skipped:,} left as they were"
    if dry:
        say(f"Would be: {counts}; without --dry-run it is done.")
    else:
        undo = "; `nacre undo` takes it back" if report.new or report.changed else ""
        say(f"Lessons: {counts}{undo}.")
