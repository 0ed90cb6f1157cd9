"""nacre lesson audit, review and validate"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.commands.review import Choice
from nacre.cli.lesson.answering import give, give_one
from nacre.cli.lesson.columns import headed, lesson_columns, named
from nacre.cli.lesson.merging import UNDO
from nacre.cli.lesson.opening import lesson_named, opened
from nacre.cli.lesson.options import confidence_option
from nacre.cli.lesson.search import itself
from nacre.cli.lesson.walking import Step, asks, walk
from nacre.cli.options import form_option, global_options, why_option
from nacre.cli.ui.columns import short
from nacre.cli.ui.output import Column, say
from nacre.lessons.lesson import ReviewDue
from nacre.lessons.staleness import STALE_DAYS
from nacre.model.levels import LEVELS, NAMES

if TYPE_CHECKING:
    from nacre.lessons import Lesson, LessonBook

HOLDS = Choice("v", "it holds", "validate", "Validated.")
LESS = Choice("l", "less surely", "less", "It holds, a level less surely.")
ARCHIVE = Choice("a", "archive", "archive", "Out of sight.")
TRASH = Choice("t", "trash", "trash", "In the trash.")


@click.command("audit")
@click.option(
    "--confidence", metavar="RANGE", help="How firmly held: high, high- (and more), -low (and less), 0.2-0.6."
)
@click.option("-s", "--source", metavar="NAME", help="On this evidence, or what is under it: inferred, hearsay, …")
@click.option("--unvalidated", is_flag=True, help="What nobody ever confirmed.")
@form_option()
@global_options
@click.pass_obj
def audit_command(
    cli: CliContext, confidence: str | None, source: str | None, unvalidated: bool, form: str | None
) -> None:
    """List what is held how firmly, on what evidence, the surest first.

    \b
      nacre lesson audit --confidence high --source inferred
    """
    with opened(cli) as book:
        found = book.audit(confidence, source, False if unvalidated else None)
    give(found, lesson_columns(itself, cli.now()), form)
    if not found.data:
        say("No lesson is held so.")


@click.command("review")
@click.option(
    "--stale-days", type=click.FloatRange(min=0), default=STALE_DAYS, show_default=True, metavar="N",
    help="What nobody said or validated for so long is stale.",
)  # fmt: skip
@click.option("--list", "listed", is_flag=True, help="List them, and ask nothing.")
@form_option()
@global_options
@click.pass_obj
def review_command(cli: CliContext, stale_days: float, listed: bool, form: str | None) -> None:
    """List the lessons that somebody should look at again: contradicted ones first, then stale ones.

    On a terminal it asks of each whether it still holds, one key an answer; in a pipe, with --list or with -f it lists.
    """
    with opened(cli) as book:
        found = book.review(stale_days)
        if found.data and not listed and asks(form):
            walk([step(book, each) for each in found.data])
            return
    give(found, due_columns(cli.now()), form)
    say("`nacre lesson validate ID` says that one still holds." if found.data else "No lesson waits to be looked at.")


@click.command("validate")
@click.argument("id")
@confidence_option
@why_option
@form_option("text", "json")
@global_options
@click.pass_obj
def validate_command(cli: CliContext, id: str, confidence: str | float | None, why: str, form: str | None) -> None:
    """Say that a lesson still holds, and how surely."""
    with opened(cli) as book:
        after = book.validate(lesson_named(book, id).id, confidence, why=why)
    give_one(after, form, lambda lesson: say(f"{named(lesson)} holds, with {lesson.confidence} confidence; {UNDO}"))


def step(book: LessonBook, due: ReviewDue) -> Step:
    def carry_out(choice: Choice) -> str:
        id = due.lesson.id
        if choice is TRASH:
            book.delete(id)
            return f"In the trash; `nacre lesson restore {short(id)}` brings it back."
        if choice is ARCHIVE:
            book.archive(id)
            return f"Out of sight; `nacre lesson unarchive {short(id)}` brings it back."
        level = lower(due.lesson) if choice is LESS else None
        return f"It holds, with {book.validate(id, level).data.confidence} confidence."

    return Step(due.why, (HOLDS, LESS, ARCHIVE, TRASH), carry_out, f"{short(due.lesson.id)}  {headed(due.lesson)}")


def lower(lesson: Lesson) -> str:
    """The level below; the lowest stays."""
    return NAMES[max(0, LEVELS[lesson.confidence].ordinal - 2)]


def due_columns(now: float) -> list[Column[ReviewDue]]:
    id, *others = lesson_columns(lesson_of, now)
    why: Column[ReviewDue] = Column("why", lambda due: due.why)
    *kept, title, content = others
    asked: Column[ReviewDue] = Column(
        "title", title.exact, lambda due: f"{headed(due.lesson)}\n({due.why})", wide=True, wraps=True
    )
    return [id, *kept, asked, content, why]


def lesson_of(due: ReviewDue) -> Lesson:
    return due.lesson
