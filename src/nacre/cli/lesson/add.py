"""nacre lesson add"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import UsageProblem
from nacre.cli.lesson.answering import give_one
from nacre.cli.lesson.opening import opened
from nacre.cli.lesson.options import describing
from nacre.cli.options import form_option, global_options, without_none
from nacre.cli.ui.columns import short
from nacre.cli.ui.output import DATA, put, say
from nacre.cli.ui.prompts import text_argument

if TYPE_CHECKING:
    from nacre.lessons import Answer, Lesson
    from nacre.lessons.book import LessonFields


@click.command("add")
@click.option("--title", metavar="TEXT", help="What it teaches, in a few words.")
@click.option("--content", metavar="TEXT|-", help="The lesson itself; - reads it from stdin.")
@describing
@click.option("-i", "--interactive", is_flag=True, help="Be asked for it all, with completion; options are proposals.")
@click.option("--id", metavar="ID", help="Your own id for it.")
@form_option("text", "json")
@global_options
@click.pass_obj
def add_command(
    cli: CliContext,
    /,
    title: str | None,
    content: str | None,
    interactive: bool,
    id: str | None,
    form: str | None,
    **described: object,
) -> None:
    """Keep a lesson, and print its id.

    Tags are written small and aliases resolved; a tag that nobody knows is kept with a warning. A lesson that says no
    confidence gets what its source usually bears.
    """
    fields = without_none(described)
    if interactive and content == "-":
        raise click.UsageError("--interactive asks on the terminal, where - would read; give one of the two.")
    if interactive:
        learned = asked(cli, {**fields, "title": title or "", "content": content or ""}, id)
    elif not title or content is None:
        raise click.UsageError("Give --title and --content, or --interactive to be asked for them.")
    else:
        text = text_argument([content], stdin=False)
        with opened(cli, model=True, make=True) as book:
            learned = book.learn(title, text, id=id, **cast("LessonFields", fields))
    give_one(learned, form, lambda lesson: put(lesson.id))
    if form not in DATA:
        tell_contexts(learned)


def asked(cli: CliContext, proposed: dict[str, object], id: str | None) -> Answer[Lesson]:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageProblem("--interactive asks on a terminal, and this is none; give --title and --content instead.")
    from nacre.cli.lesson.interview import interview

    with opened(cli, make=True) as book:
        return interview(book, proposed, lambda given: kept(cli, given, id))


def kept(cli: CliContext, given: dict[str, object], id: str | None) -> Answer[Lesson]:
    """The model is only wanted now: nobody should wait for it before the first question."""
    title, content = str(given.pop("title")), str(given.pop("content"))
    with opened(cli, model=True, make=True) as book:
        return book.learn(title, content, id=id, **cast("LessonFields", given))


def tell_contexts(learned: Answer[Lesson]) -> None:
    beside = learned.suggestions.get("contexts")
    if beside and not learned.data.contexts:
        say(
            f"Lessons like it apply in {', '.join(beside)}; "
            f"`nacre lesson edit {short(learned.data.id)} --contexts {','.join(beside)}` says so of this one."
        )
