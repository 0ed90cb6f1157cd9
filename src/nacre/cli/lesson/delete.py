"""nacre lesson delete and restore"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound
from nacre.cli.lesson.answering import give_one
from nacre.cli.lesson.columns import named
from nacre.cli.lesson.opening import lesson_named, named_anywhere, opened
from nacre.cli.options import form_option, global_options, why_option
from nacre.cli.ui.columns import short
from nacre.cli.ui.output import say
from nacre.lessons import Lesson


@click.command("delete")
@click.argument("id")
@why_option
@form_option("text", "json")
@global_options
@click.pass_obj
def delete_command(cli: CliContext, id: str, why: str, form: str | None) -> None:
    """Move a lesson to the trash, from which it can be brought back."""
    with opened(cli) as book:
        lesson = Lesson.of(lesson_named(book, id))
        done = book.delete(lesson.id, why=why)
    outcome = f"{named(lesson)} is in the trash; `nacre lesson restore {short(lesson.id)}` brings it back."
    give_one(done, form, lambda _: say(outcome))


@click.command("restore")
@click.argument("id")
@form_option("text", "json")
@global_options
@click.pass_obj
def restore_command(cli: CliContext, id: str, form: str | None) -> None:
    """Bring a lesson back from the trash, or after another one replaced it."""
    with opened(cli) as book:
        lesson = Lesson.of(named_anywhere(book, id))
        done = book.restore(lesson.id)
    if not done.data:
        raise NotFound(f"{named(lesson)} is neither in the trash nor superseded.")
    give_one(done, form, lambda _: say(f"{named(lesson)} is back."))
