"""nacre lesson archive and unarchive"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.lesson.answering import give_one
from nacre.cli.lesson.merging import UNDO
from nacre.cli.lesson.opening import ids_named, opened
from nacre.cli.options import form_option, global_options, why_option
from nacre.cli.ui.output import say
from nacre.cli.ui.prompts import count_of
from nacre.lessons import Answer


@click.command("archive")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@why_option
@form_option("text", "json")
@global_options
@click.pass_obj
def archive_command(cli: CliContext, ids: tuple[str, ...], why: str, form: str | None) -> None:
    """Put lessons out of sight; `search --include-archived` still finds them."""
    with opened(cli) as book:
        tell(book.archive(*ids_named(book, ids), why=why), form, "Archived")


@click.command("unarchive")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@why_option
@form_option("text", "json")
@global_options
@click.pass_obj
def unarchive_command(cli: CliContext, ids: tuple[str, ...], why: str, form: str | None) -> None:
    """Take lessons out of the archive."""
    with opened(cli) as book:
        tell(book.unarchive(*ids_named(book, ids), why=why), form, "Took out of the archive")


def tell(answer: Answer[int], form: str | None, done: str) -> None:
    outcome = f"{done} {count_of(answer.data, 'lesson', 'lessons')}; {UNDO}"
    give_one(answer, form, lambda changed: say(outcome if changed else "Nothing to do: that is so already."))
