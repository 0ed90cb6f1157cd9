"""nacre lesson related, link and unlink"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound
from nacre.cli.lesson.answering import give, give_one
from nacre.cli.lesson.columns import lesson_columns, named
from nacre.cli.lesson.opening import lesson_named, opened
from nacre.cli.lesson.options import words_option
from nacre.cli.lesson.show import ARROWS
from nacre.cli.options import form_option, global_options, why_option
from nacre.cli.ui.columns import short
from nacre.cli.ui.output import Column, say
from nacre.cli.ui.prompts import count_of
from nacre.lessons import Lesson, Related


@click.command("related")
@click.argument("id")
@click.option("--depth", type=click.IntRange(min=1), default=1, show_default=True, help="So many ties away at most.")
@words_option("-r", "--relation", "relations", help="Along ties of these relations only.")
@form_option()
@global_options
@click.pass_obj
def related_command(cli: CliContext, id: str, depth: int, relations: tuple[str, ...] | None, form: str | None) -> None:
    """List the lessons that ties lead to, along and against them, nearest first."""
    with opened(cli) as book:
        lesson = Lesson.of(lesson_named(book, id))
        found = book.related(lesson.id, depth=depth, relations=relations)
    give(found, columns(cli.now()), form)
    if not found.data:
        say(f"No tie leads from {named(lesson)} to another lesson.")


@click.command("link")
@click.argument("source", metavar="A")
@click.argument("target", metavar="B")
@click.option("-r", "--relation", default="related_to", show_default=True, metavar="NAME", help="How A stands to B.")
@why_option
@form_option("text", "json")
@global_options
@click.pass_obj
def link_command(cli: CliContext, source: str, target: str, relation: str, why: str, form: str | None) -> None:
    """Tie the lesson A to B: related_to, example_of, contradicts, supersedes, or a word of your own.

    What contradicts another lowers its confidence by a level; what supersedes it takes its place.
    """
    with opened(cli) as book:
        a, b = (Lesson.of(lesson_named(book, id)) for id in (source, target))
        linked = book.link(a.id, b.id, relation, why=why)
    tie = f"{named(a)} {relation} → {named(b)}; `nacre undo` takes it back."
    give_one(linked, form, lambda new: say(tie if new else "The two were tied so already."))


@click.command("unlink")
@click.argument("source", metavar="A")
@click.argument("target", metavar="B")
@click.option("-r", "--relation", metavar="NAME", help="Only the tie of this relation; every one unless given.")
@why_option
@form_option("text", "json")
@global_options
@click.pass_obj
def unlink_command(cli: CliContext, source: str, target: str, relation: str | None, why: str, form: str | None) -> None:
    """Take away the ties that lead from A to B."""
    with opened(cli) as book:
        a, b = (Lesson.of(lesson_named(book, id)) for id in (source, target))
        gone = book.unlink(a.id, b.id, relation, why=why)
    if not gone.data:
        kind = f" of the relation {relation!r}" if relation else ""
        raise NotFound(f"no tie{kind} leads from {short(a.id)} to {short(b.id)}.")
    outcome = f"Took away {count_of(gone.data, 'tie', 'ties')}; `nacre undo` brings back what went."
    give_one(gone, form, lambda _: say(outcome))


def columns(now: float) -> list[Column[Related]]:
    id, confidence, *others = lesson_columns(lesson_of, now)
    tie: Column[Related] = Column("relation", lambda each: each.relation, arrow, style="magenta")
    direction: Column[Related] = Column("direction", lambda each: each.direction)
    depth: Column[Related] = Column("depth", lambda each: str(each.depth), lambda each: str(each.depth), right=True)
    return [id, tie, direction, depth, confidence, *others]


def arrow(each: Related) -> str:
    return f"{each.relation} {ARROWS[each.direction]}"


def lesson_of(each: Related) -> Lesson:
    return each.lesson
