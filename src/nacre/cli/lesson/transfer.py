"""nacre lesson export, import, reembed and stats"""

from __future__ import annotations

import io
import sys
from dataclasses import asdict
from pathlib import Path

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.lesson.common import find_lesson, open_book, print_answer, terms_option
from nacre.cli.options import FILE, command, form_option, option
from nacre.cli.ui.output import Form, escape_unsafe, print_facts, say
from nacre.cli.ui.prompts import count_of, progress_line
from nacre.lessons.document import FORMATS
from nacre.lessons.import_plan import POLICIES


@command("export")
@option("-o --output FILE", "The file to write; stdout unless given.", to="file")
@option("-f --format", "Unless given, as the name of FILE ends, else json.", choices=FORMATS)
@terms_option("-g --tag", "Only lessons with this tag, or one under it; repeat.", to="tags", old="--tags")
@terms_option(
    "--exclude-tag", "No lessons with this tag, or one under it; repeat.", to="exclude_tags", old="--exclude-tags"
)
@option("--no-archived", "Leave out archived lessons.")
@option("--no-redact", "Include what looks like secrets and personal data.")
def export_command(
    cli: CliContext, file: Path | None, format: str | None, tags: tuple[str, ...] | None,
    exclude_tags: tuple[str, ...] | None, no_archived: bool, no_redact: bool,
) -> None:  # fmt: skip
    """Write lessons to a file, without secrets, or to stdout; with their links and vocabulary.

    `nacre lesson import` reads the result. Secrets, e-mail addresses and other personal data are masked, unless
    --no-redact is given.
    """
    buffer = io.StringIO()
    with open_book(cli) as book:
        target = buffer if file is None else file
        exported = book.export(
            target, format=format, tags=tags, exclude_tags=exclude_tags, include_archived=not no_archived,
            redact=not no_redact,
        )  # fmt: skip
    if file is None:
        text = buffer.getvalue()
        # Bytes, because the file is UTF-8 whatever the encoding of the terminal.
        sys.stdout.buffer.write((escape_unsafe(text) if format != "yaml" else text).encode())
        sys.stdout.buffer.flush()
    say(*(each.replace("redact=False", "--no-redact") for each in exported.warnings))
    if file is not None:
        say(f"Wrote {count_of(exported.data, 'lesson', 'lessons')} to {file}.")


@command("import", form_option("text", "json"))
@click.argument("file", default="-", metavar="[FILE|-]", type=FILE)
@option("--dry-run", "Report what would change, and change nothing.")
@option(
    "--on-existing",
    "Skip a lesson that exists, overwrite it, refuse the file, or overwrite it if the file's is newer.",
    choices=POLICIES,
    default="skip",
)
@option(
    "--restore-deleted",
    "Bring lessons of the file that are in the trash back as the file has them, whatever --on-existing says.",
)
def import_command(
    cli: CliContext, file: Path, dry_run: bool, on_existing: str, restore_deleted: bool, form: Form
) -> None:
    """Read lessons from a file or stdin that `nacre lesson export` wrote, in one operation."""
    from_stdin = str(file) == "-"
    if from_stdin and sys.stdin.isatty():
        raise click.UsageError("Name a FILE, or redirect one: nacre lesson import < lessons.json")
    with open_book(cli, make=True, dry_run=dry_run) as book:
        source = sys.stdin.buffer if from_stdin else file
        report = book.import_(source, on_existing=on_existing, restore_deleted=restore_deleted, dry_run=dry_run)
    done = report.data
    counts = f"{done.new:,} new, {done.changed:,} changed, {done.skipped:,} unchanged"
    undo = "; `nacre undo` takes it back" if done.new or done.changed else ""
    outcome = f"Would import: {counts}; run again without --dry-run." if dry_run else f"Lessons: {counts}{undo}."
    print_answer(report, form, lambda _: say(outcome))


@command("reembed", form_option("text", "json"))
@option("--all", "The whole store, as `nacre store reindex` does; this is the default.", to="everything")
@option("--lesson ID", "This lesson only.", to="id")
def reembed_command(cli: CliContext, everything: bool, id: str | None, form: Form) -> None:
    """Compute the vectors of lessons again, with the current model.

    All vectors of a store come from one model, so another model means the whole store.
    """
    if everything and id is not None:
        raise click.UsageError("--all means every lesson, --lesson one of them; give one of the two.")
    with open_book(cli) as book, progress_line() as progress:
        done = book.reembed(None if id is None else find_lesson(book, id).id, progress=progress)
    print_answer(done, form, lambda count: say(f"Computed the vectors of {count_of(count)} again."))


@command("stats", form_option())
def stats_command(cli: CliContext, form: Form) -> None:
    """Count lessons, tags, contexts and links, and lessons by confidence and by source."""
    with open_book(cli) as book:
        stats = book.stats()
    print_answer(stats, form, lambda counts: print_facts(asdict(counts), form))
