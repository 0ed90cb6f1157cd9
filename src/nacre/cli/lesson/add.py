"""nacre lesson add"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

import click

from nacre.cli.asking import text_of
from nacre.cli.columns import short
from nacre.cli.door import Door
from nacre.cli.faults import Misused
from nacre.cli.lesson.answering import give_one
from nacre.cli.lesson.opening import opened
from nacre.cli.lesson.options import describing
from nacre.cli.options import door_options, form_option, given_only
from nacre.cli.output import DATA, put, say

if TYPE_CHECKING:
    from nacre.lessons import Answer, Lesson
    from nacre.lessons.learning import Fields


@click.command("add")
@click.option("--title", metavar="TEXT", help="What it teaches, in a few words.")
@click.option("--content", metavar="TEXT|-", help="The lesson itself; - reads it from stdin.")
@describing
@click.option("-i", "--interactive", is_flag=True, help="Be asked for it all, with completion; options are proposals.")
@click.option("--id", metavar="ID", help="Your own id for it.")
@form_option("text", "json")
@door_options
@click.pass_obj
def add_command(
    door: Door,
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
    fields = given_only(described)
    if interactive and content == "-":
        raise click.UsageError("--interactive asks on the terminal, where - would read; give one of the two.")
    if interactive:
        learned = asked(door, {**fields, "title": title or "", "content": content or ""}, id)
    elif not title or content is None:
        raise click.UsageError("Give --title and --content, or --interactive to be asked for them.")
    else:
        text = text_of([content], stdin=False)
        with opened(door, model=True, make=True) as book:
            learned = book.learn(title, text, id=id, **cast("Fields", fields))
    give_one(learned, form, lambda lesson: put(lesson.id))
    if form not in DATA:
        tell_contexts(learned)


def asked(door: Door, proposed: dict[str, object], id: str | None) -> Answer[Lesson]:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Misused("--interactive asks on a terminal, and this is none; give --title and --content instead.")
    from nacre.cli.lesson.interview import interview

    with opened(door, make=True) as book:
        return interview(book, proposed, lambda given: kept(door, given, id))


def kept(door: Door, given: dict[str, object], id: str | None) -> Answer[Lesson]:
    """The model is only wanted now: nobody should wait for it before the first question."""
    title, content = str(given.pop("title")), str(given.pop("content"))
    with opened(door, model=True, make=True) as book:
        return book.learn(title, content, id=id, **cast("Fields", given))


def tell_contexts(learned: Answer[Lesson]) -> None:
    beside = learned.suggestions.get("contexts")
    if beside and not learned.data.contexts:
        say(
            f"Lessons like it apply in {', '.join(beside)}; "
            f"`nacre lesson edit {short(learned.data.id)} --contexts {','.join(beside)}` says so of this one."
        )
